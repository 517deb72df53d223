"""Comparing two numbers (Faber and Wattenhofer, 2020).

Is the first number less than, greater than or equal to the second? Train on pairs of digits, test
on neighbours that are many orders of magnitude larger.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from wug.core.errors import UserError, require_choice
from wug.core.registry import register
from wug.functional.streams import uniform
from wug.sources.pair_tables import all_pairs, balanced_pairs, choose_pairs, neighbours
from wug.sources.streams import SPLITS, NumberTask, rows_of

RELATIONS = ("lt", "gt", "le", "ge", "eq", "ne")
EQUALITIES = ("eq", "ne")
EVALUATION_SEEDS = {"validation": 0, "ood_validation": 1, "test": 2}
# How many steps the numbers of a test are apart.
RADIUS = 5
# Real numbers are integers plus up to this, so that unlike ones differ by more than the half.
NOISE = 0.5


@register(
    "task",
    name="Number comparison",
    references=("faber2020", "mistry2022"),
    equation=r"y = [\,a \circ b\,], \qquad \circ \in \{<, >, \le, \ge, =, \ne\}",
    claim="extrapolation",
    splits=SPLITS,
)
@dataclass(frozen=True, kw_only=True)
class Comparison(NumberTask):
    """Whether two numbers stand in a relation, trained on digits and tested on large numbers.

    A training batch is a table that does not change: all 81 pairs of 1 to 9 for an order, for an
    equality each digit beside itself and beside another number up to 10 that the stream draws. The
    tests compare a number of each order of magnitude with its neighbours up to five steps away.

    Departures:
        Labels are computed from the numbers that the network sees. The reference multiplies one of
        them by 10,000 before, and takes >= for >. From 10^16 on neighbours are equal in float64,
        and are labelled so. Its tables have no validation sets; these are ours, as is the way that
        real numbers are drawn: the source says no more than that there are some.

    Args:
        relation: One of `RELATIONS`.
        step: Distance of neighbouring numbers; the digits are multiples of it.
        real: Whether up to half a step is added to every number; equal ones stay equal.
        magnitudes: First and last power of ten of the tests.
        tolerance: Mean absolute error that still counts as solved; the reference prints two
            decimals.
        dtype: float32 or float64.

    Raises:
        UserError: For an unknown relation, a step that is not above 0 or magnitudes upside down.

    Example:
        >>> task = Comparison(relation="gt")
        >>> x, y = task.batch("train", torch.Generator().manual_seed(0), size=81)
        >>> len(x.unique(dim=0)), int(y.sum())
        (81, 36)

    References:
        faber2020, mistry2022
    """

    relation: str = "lt"
    step: float = 1.0
    real: bool = False
    magnitudes: tuple[int, int] = (1, 7)
    tolerance: float = 0.005
    dtype: torch.dtype = torch.float64

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_choice("Comparison", "relation", self.relation, RELATIONS)
        if not self.step > 0:
            raise UserError(f"Comparison: step must be above 0; got {self.step}.")
        if not 0 <= self.magnitudes[0] <= self.magnitudes[1]:
            raise UserError(
                "Comparison: magnitudes must be a first and a last power of ten; "
                f"got {self.magnitudes}."
            )

    @property
    def in_features(self) -> int:
        """Number of inputs."""
        return 2

    @property
    def num_rows(self) -> int:
        """Number of rows of the training table."""
        return len(self.pairs())

    def pairs(self) -> Tensor:
        """Return the pairs, in steps, that each row of the training table may hold."""
        digits = torch.arange(1, 10, dtype=self.dtype)
        if self.relation in EQUALITIES:
            return balanced_pairs(digits, torch.arange(1, 11, dtype=self.dtype))
        return all_pairs(digits)

    def input_values(self, split: str = "train") -> dict[str, Tensor]:
        """Return the table, and the numbers that turn it into inputs."""
        return {
            "pairs": self.pairs(),
            "step": torch.tensor(self.step, dtype=self.dtype),
            "noise": torch.tensor(NOISE if self.real else 0.0, dtype=self.dtype),
        }

    def target_values(self, seed: int) -> dict[str, Tensor]:
        """Return the number of the relation."""
        return {"relation": torch.tensor(RELATIONS.index(self.relation))}

    def inputs(self, values: Mapping[str, Tensor], key: Tensor, step: Tensor, size: int) -> Tensor:
        """Return the rows of the stream's table, from a random one on and over again."""
        draws, _ = uniform(key, torch.zeros_like(step), (4, size), self.dtype)
        return self.numbers(values, choose_pairs(values["pairs"], draws[:2]), draws[2:].T)

    def numbers(self, values: Mapping[str, Tensor], pairs: Tensor, draws: Tensor) -> Tensor:
        """Turn pairs of steps into inputs, with noise if they are to be real."""
        equal = pairs[:, :1] == pairs[:, 1:]
        return values["step"] * (pairs + values["noise"] * torch.where(equal, draws[:, :1], draws))

    def targets(self, values: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Compute the targets of a batch."""
        a, b = x[..., :1], x[..., 1:]
        results = torch.stack((a < b, a > b, a <= b, a >= b, a == b, a != b))
        return results.index_select(0, values["relation"]).squeeze(0).to(x.dtype)

    def loss(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Mean absolute error."""
        return (prediction - target).abs().mean()

    def evaluation_inputs(self, split: str) -> Tensor:
        """Return the fixed inputs of an evaluation split, the same for every seed."""
        require_choice("Comparison", "split", split, EVALUATION_SEEDS)
        rng = np.random.RandomState(EVALUATION_SEEDS[split])
        if split == "validation":
            pairs = self.pairs().flatten(0, 1)
        else:
            powers = 10.0 ** np.arange(self.magnitudes[0], self.magnitudes[1] + 1)
            base = torch.tensor(np.floor(powers * rng.uniform(1, 10, len(powers))) / self.step)
            balanced = self.relation in EQUALITIES
            pairs = neighbours(base.to(self.dtype), RADIUS, balanced=balanced)
        draws = torch.tensor(rng.rand(*pairs.shape), dtype=self.dtype)
        return self.numbers(self.input_values(), pairs, draws)

    def draw(self, split: str, key: Tensor, size: int) -> Tensor:
        """Draw a training table from a stream, or rows of a fixed set."""
        if split == "train":
            return super().draw(split, key, size)
        return rows_of(self.evaluation_inputs(split), key, size)

    def threshold(self) -> float:
        """Return the largest test error that counts as solved."""
        return self.tolerance
