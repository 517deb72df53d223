"""A lot in parts that fit into memory: fewer seeds at a time, the same results."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from wug.training.engine import choose_engine
from wug.training.loop import Training
from wug.training.plan import Lot
from wug.training.stacked import Stacked

MEMORY_GB = 2.0
# To measure takes up to two seconds, so that lots of fewer replicas are trained as they are.
FEWEST_MEASURED = 200


class Measure(TorchDispatchMode):
    """Measures the most bytes that results take at once, and notices torch's random state in use.

    Python holds some results a little longer than a compiled program does.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.num_bytes = self.most_bytes = 0
        self.is_random = False
        self.holders: Counter[int] = Counter()

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Call an operation and count its results."""
        result = func(*args, **(kwargs or {}))
        self.is_random |= torch.Tag.nondeterministic_seeded in func.tags
        for tensor in pytree.tree_leaves(result):
            if isinstance(tensor, torch.Tensor):
                self.hold(tensor)
        return result

    def hold(self, tensor: torch.Tensor) -> None:
        """Count the memory of a tensor until it and its views are gone."""
        storage = tensor.untyped_storage()
        place, size = storage.data_ptr(), storage.nbytes()
        if not self.holders[place]:
            self.num_bytes += size
            self.most_bytes = max(self.most_bytes, self.num_bytes)
        self.holders[place] += 1
        weakref.finalize(tensor, self.drop, place, size)

    def drop(self, place: int, size: int) -> None:
        """Note that a tensor is gone."""
        self.holders[place] -= 1
        if not self.holders[place]:
            self.num_bytes -= size


@dataclass(frozen=True)
class Need:
    """What a replica needs.

    Args:
        num_bytes: What it keeps, and what a step or an evaluation of its graph takes at most.
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
    if isinstance(engine, Stacked):
        engine.traced = False  # to trace its programs takes ten times as long as to measure them
    training.advance(1)
    training.evaluate({})
    kept = size_of(engine.state())
    with Measure() as step:
        training.advance(2)
    with Measure() as evaluation:
        engine.evaluate(training.watched)
    num_rows = -(-lot.plan.steps // lot.plan.evaluate_every) + 1
    curves = num_rows * len(dict(training.curves.items())) * torch.float64.itemsize
    most = max(step.most_bytes, evaluation.most_bytes)
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
