"""A lot in parts that fit into memory: fewer seeds at a time, the same results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from wug.training.engine import choose_engine
from wug.training.loop import Training
from wug.training.plan import Lot

MEMORY_GB = 2.0
# To measure takes about a second, so that lots of fewer replicas are trained as they are.
FEWEST_MEASURED = 200


class Measure(TorchDispatchMode):
    """Adds up the bytes of all results, and notices numbers that come from torch's random state."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.num_bytes, self.is_random = 0, False

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Call an operation and add its results."""
        result = func(*args, **(kwargs or {}))
        self.is_random |= torch.Tag.nondeterministic_seeded in func.tags
        if not func.is_view:
            self.num_bytes += size_of(result)
        return result


@dataclass(frozen=True)
class Need:
    """What a replica needs.

    Args:
        num_bytes: At most: as if every result of a step or an evaluation stayed until its end.
        is_random: Whether its module draws numbers that depend on how many replicas there are.
    """

    num_bytes: int
    is_random: bool


def size_of(tree: Any) -> int:
    """Return the bytes of all tensors of a tree."""
    leaves = pytree.tree_leaves(tree)
    return sum(t.numel() * t.element_size() for t in leaves if isinstance(t, torch.Tensor))


def need_of(lot: Lot) -> Need:
    """Measure what one replica of a lot needs, in a step and an evaluation of it alone."""
    alone = lot.part(lot.variants[:1], lot.seeds[:1])
    training = Training(alone, device=torch.device("cpu"), compiled=False)
    engine = training.engine
    kept = size_of(engine.state())
    with Measure() as step:
        training.advance(1)
    with Measure() as evaluation:
        training.evaluate({})
    # An evaluation stays as a row of numbers, and what it read stays for the next one.
    num_rows = -(-lot.plan.steps // lot.plan.evaluate_every) + 1
    curves = num_rows * len(dict(training.curves.items())) * torch.float64.itemsize
    most = max(step.num_bytes, evaluation.num_bytes)
    return Need(kept + curves + most, step.is_random)


def parts_of(lot: Lot, budget: float) -> Iterator[Lot]:
    """Yield a block of a lot in parts of as many seeds as the budget allows, at least one.

    Parts begin with the block's first seeds, so that a run which was stopped after some of them
    cuts what is left at the same seeds, and finds the checkpoint of the part that it was at.

    Args:
        lot: What to train.
        budget: Bytes.
    """
    if lot.num_replicas <= FEWEST_MEASURED or choose_engine(lot) != "stacked":
        yield lot
        return
    need = need_of(lot)
    size = max(int(budget // (need.num_bytes * len(lot.variants))), 1)
    if need.is_random:
        size = len(lot.seeds)
    for first in range(0, len(lot.seeds), size):
        yield lot.part(lot.variants, lot.seeds[first : first + size])
