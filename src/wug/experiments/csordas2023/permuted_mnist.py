"""Do networks use again what they have learnt (figures 3.4 and B.7)?

A row is how gates begin; columns are tasks, one after the other: MNIST with its pixels in another
order each. A network that used its later layers again would only need a new first layer. A record
says how many of the weights in use were frozen by tasks before. The sources are figures: there are
claims and no numbers.

References:
    csordas2023
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from wug.core.schedules import Constant
from wug.experiments.csordas2023._masks import share
from wug.study.claims import Claim
from wug.study.experiment import Scale
from wug.study.judgements import all_of
from wug.study.paper_table import PaperTable, below_paper
from wug.study.predicates import above, below, larger
from wug.study.trainings import Run, Training, registered
from wug.tasks.modularity.image_classes import ImageClasses
from wug.training.kept_networks import load
from wug.training.plan import Plan, Registered

# Row -> logits of gates of free weights and of frozen ones.
STARTS = {"alike": (2.0, 2.0), "prefer_old": (0.0, 2.0), "prefer_old_more": (-1.0, 2.0)}
TASKS = tuple(map(str, range(1, 12)))
HALFWAY, LAST = "5", "11"
TEXT = "csordas2023, section 3.2.3"
MEASURES = (
    share("shared", "Weights in use that tasks before used, without the first layer", "higher"),
    *(share(f"shared_{n}", f"The same in layer {n + 1}") for n in range(1, 4)),
    *(share(f"free_{n}", f"Weights of layer {n + 1} that are still free") for n in range(1, 4)),
)


@dataclass(frozen=True, kw_only=True)
class AfterTasks(Registered):
    """Builds a network that goes on from that of the task before, if there is one."""

    def __call__(
        self, generator: torch.Generator, needed: Mapping[str, Path] | None = None
    ) -> nn.Module:
        """Make the network with initial weights from a generator."""
        network = super().__call__(generator)
        for path in (needed or {}).values():
            before, _ = load(path)
            network.go_on_from(before)  # type: ignore[operator]
        return network


def measure_sharing(network: Any, task: Any) -> dict[str, float]:
    """Return how much a network shares with the tasks before."""
    layers = list(zip(network.masks, network.frozen, strict=True))[1:]
    used = sum(int(mask.sum()) for mask, _ in layers)
    both = sum(int((mask & frozen).sum()) for mask, frozen in layers)
    return {
        "shared": both / max(used, 1),
        **{f"shared_{n}": value for n, value in enumerate(network.sharing()) if n},
        **{f"used_{n}": float(mask.double().mean()) for n, mask in enumerate(network.masks)},
        **{f"free_{n}": 1 - float((mask | frozen).double().mean())
           for n, (mask, frozen) in enumerate(layers, 1)},
    }  # fmt: skip


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "little_is_shared",
        "While there is room, little is shared: below 20 % in the second layer after five tasks.",
        f"{TEXT}, figure 3.4 and appendix B.2",
        lambda t: below(t.at("alike", HALFWAY), 0.2, "shared_1"),
    ),
    Claim(
        "the_last_layer_shares_most",
        "The last layer fills up first: after eleven tasks more than half of it is shared.",
        f"{TEXT} and figure 3.4",
        lambda t: above(t.at("alike", LAST), 0.5, "shared_3"),
    ),
    Claim(
        "a_push_makes_it_share",
        "Gates that prefer old weights make it share more, the more so the stronger they do.",
        f"{TEXT} and figure B.7",
        lambda t: all_of(
            larger(t.at(more, HALFWAY), t.at(less, HALFWAY), "shared")
            for less, more in (("alike", "prefer_old"), ("prefer_old", "prefer_old_more"))
        ),
    ),
)
HIDDEN: dict[Scale, tuple[int, ...]] = {
    "smoke": (8, 8, 4), "laptop": (200, 200, 32), "paper": (800, 800, 64),
}  # fmt: skip
STEPS: dict[Scale, int] = {"smoke": 4, "laptop": 3_000, "paper": 30_000}
SEEDS: dict[Scale, int] = {"smoke": 1, "laptop": 3, "paper": 10}


@PaperTable(
    name="Permuted MNIST",
    title="Tasks one after the other: what is shared (Csordás, 2023, figures 3.4 and B.7)",
    references=("csordas2023", "csordas2021masks"),
    source="figures 3.4 and B.7",
    labels=("gates", "task"),
    rows=tuple(STARTS),
    columns=TASKS,
    choice=lambda gates, task: (gates, ""),
    usual=below_paper(gates=("alike", "prefer_old_more")),
    claims=CLAIMS,
    departures=(
        "Pictures are in [0, 1] and validation is on the last 5,000 training pictures.",
        "Both biases and weights have gates, as in the authors' code; the weights of figure B.7 "
        "prefer those of all earlier tasks, of which the text names the last.",
        "At laptop scale layers have 200, 200 and 32 units, and a task has 3,000 steps. At smoke "
        "scale pictures are random patterns.",
    ),
    measures=MEASURES,
    measure="shared",
    row_units=dict.fromkeys(STARTS, "masked_fnn"),
)
def permuted_mnist(run: Run, gates: str, task: str) -> Training | None:
    """Train networks and their masks on one order of the pixels after the other."""
    smoke = run.scale == "smoke"
    if smoke and int(task) > 2:
        return None
    learnt = ImageClasses(
        data="drawn" if smoke else "mnist", permutation=int(task),
        evaluation_size=200 if smoke else 10_000,
    )  # fmt: skip
    new, old = STARTS[gates]
    options: dict[str, Any] = {"hidden": HIDDEN[run.scale], "new_logit": new, "old_logit": old}
    built = registered("masked_fnn", learnt, **options)
    return Training(
        build=AfterTasks(model=built.model, sizes=built.sizes, options=built.options),
        task=learnt,
        plan=Plan(
            steps=STEPS[run.scale], evaluate_every=STEPS[run.scale] // 2,
            learning_rate=Constant(1e-2), engine="single",
        ),
        penalty=Constant(1e-5),
        observe=measure_sharing,
        seeds=SEEDS[run.scale],
        needs=((gates, str(int(task) - 1)),) if task != "1" else (),
        config={"after": int(task) - 1},
    )  # fmt: skip
