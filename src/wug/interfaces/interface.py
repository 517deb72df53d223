"""What every interface is: the shape of a problem, as pure functions of a plain network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn

from wug.functional.output import Output

Split = Literal["train", "validation", "ood_validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "ood_validation", "test")

Batch = dict[str, Tensor]
"""Tensors with rows on axis 0; ``group`` holds the index of each row's group, if there are any."""

Terms = dict[str, tuple[Tensor, Tensor]]
"""Terms of a loss by name: a sum over the batch, and the weight that it is divided by."""

Counts = dict[str, Tensor]
"""Measures by name: float64 tensor (group, 2) of sums and counts, which add up over batches."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which of a training's evaluations has the weights that are kept.

    Args:
        split: Where the measure is read.
        measure: The lowest value is the best.
        ties: Whether the first or the last of equally good evaluations is kept.
    """

    split: str
    measure: str = "error"
    ties: Literal["first", "last"] = "first"


@dataclass(frozen=True, kw_only=True)
class EarlyStopping(Selection):
    """A selection that looks no further once nothing has got better for a while.

    Args:
        patience: After so many evaluations in a row that are not better than the best one.
    """

    patience: int = 5


class Interface(Protocol):
    """The shape of a problem; every function is pure and gets a plain network.

    Attributes:
        measures: Names of what `counts` counts (see wug.stats.measures).
        selection: Which weights are kept, unless a plan says otherwise.
        watched: Splits that are evaluated during training.
    """

    @property
    def measures(self) -> tuple[str, ...]: ...  # noqa: D102

    @property
    def selection(self) -> Selection: ...  # noqa: D102

    @property
    def watched(self) -> tuple[str, ...]: ...  # noqa: D102

    def sizes(self, task: Any) -> dict[str, int]:
        """Return the arguments of a model that follow from the task."""
        ...

    def terms(
        self, task: Any, network: nn.Module, batch: Batch, state: Any
    ) -> tuple[Terms, Output]:
        """Return the terms of the training loss, and what the network returned."""
        ...

    def weights(self, task: Any, batch: Batch) -> dict[str, Tensor]:
        """Return the weights of a batch's terms, without running the network."""
        ...

    def counts(
        self, task: Any, network: nn.Module, batch: Batch, state: Any, num_groups: int
    ) -> tuple[Counts, Any]:
        """Return the measures of a batch as counts, and the carried state."""
        ...

    def curve(self, split: str) -> str:
        """Return the measure that a learning curve shows of a split; lower is better."""
        ...

    def ask(self, task: Any, network: nn.Module, text: str) -> dict[str, Any]:
        """Answer what a person typed, as plain data for a page.

        Raises:
            UserError: The text is no problem of the task.
        """
        ...


def count(sums: Tensor, group: Tensor | None, num_groups: int) -> Tensor:
    """Return rows' values as counts by group.

    Args:
        sums: A number for each row.
        group: Index of each row's group; None means that all are in the first.
        num_groups: How many there are.

    Shape:
        (row,), (row,) -> (num_groups, 2), float64.

    Example:
        >>> count(torch.tensor([1.0, 0.0, 1.0]), torch.tensor([0, 1, 1]), 2).tolist()
        [[1.0, 1.0], [1.0, 2.0]]
    """
    pairs = torch.stack([sums.double(), torch.ones_like(sums, dtype=torch.float64)], -1)
    if group is None:
        group = torch.zeros(len(sums), dtype=torch.int64, device=sums.device)
    zeros = torch.zeros(num_groups, 2, dtype=torch.float64, device=sums.device)
    return zeros.index_add(0, group, pairs)


def count_weighted(
    sums: Mapping[str, Tensor], numbers: Tensor, group: Tensor | None, num_groups: int
) -> Counts:
    """Return sums over rows as counts by group, where a row counts for several answers.

    Args:
        sums: Measures by name: a sum for each row.
        numbers: How many answers each row has.
        group: Index of each row's group; None means that all are in the first.
        num_groups: How many there are.

    Example:
        >>> rows = {"error": torch.tensor([1.0, 2.0])}
        >>> count_weighted(rows, torch.tensor([4.0, 4.0]), None, 1)["error"].tolist()
        [[3.0, 8.0]]
    """
    total = count(numbers, group, num_groups)[:, 0]
    return {
        name: torch.stack([count(value, group, num_groups)[:, 0], total], -1)
        for name, value in sums.items()
    }
