"""Train a module of your own with many seeds at once, and see how often it finds the rule.

The module is a plain nn.Module. Its replicas, here 2 operations x 3 ranges x 10 seeds, are stacked
and trained as one program. Solved means: right far outside the training range. How often that
happens depends on the range, not on the operation alone.

    python examples/many_seeds.py
"""

from collections import Counter

import torch
from torch import Tensor, nn

from wug.core.schedules import Constant
from wug.tasks.extrapolation.single_module import SingleModule, parse_range
from wug.training.loop import Training
from wug.training.plan import Lot, Plan, Variant


class PowerLaw(nn.Module):
    """A product of powers of positive inputs: exp(sum_i w_i ln x_i)."""

    def __init__(self, in_features: int, generator: torch.Generator) -> None:
        super().__init__()
        self.powers = nn.Parameter(torch.empty(1, in_features))
        nn.init.uniform_(self.powers, -1, 1, generator=generator)

    def forward(self, x: Tensor) -> Tensor:
        return torch.exp(nn.functional.linear(torch.log(x), self.powers))


def variant(operation: str, name: str) -> Variant:
    """Describe one group of replicas: an operation, and the ranges of its numbers."""
    train, test = parse_range(name)
    return Variant(
        labels={"operation": operation, "range": name},
        stream=("operation", "range"),
        task=SingleModule(operation=operation, train=train, test=test),
        learning_rate=Constant(1e-2),
    )


lot = Lot(
    name="power_law",
    build=lambda generator: PowerLaw(2, generator),
    variants=tuple(
        variant(operation, name)
        for operation in ("mul", "div")
        for name in ("[0.1,0.2)", "[1,2)", "[10,20)")
    ),
    seeds=tuple(range(10)),
    plan=Plan(steps=2_000, evaluate_every=500),
)
torch.set_num_threads(1)  # the tensors are small
print(f"training {lot.num_replicas} replicas")
results = Training(lot, device=torch.device("cpu"), compiled=False).train()

solved = Counter(tuple(r.labels.values()) for r in results if r.outcome["solved"])
for group in lot.variants:
    operation, name = group.labels.values()
    print(f"{operation} {name:>9}: {solved[operation, name]:2} of {len(lot.seeds)} seeds solved")
