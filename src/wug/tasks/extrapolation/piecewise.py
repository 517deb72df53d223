"""Functions of two branches (Faber and Wattenhofer, 2020).

A comparison of two inputs decides which formula holds. Where the branches meet, the function may
be continuous, as the absolute difference is, or jump.
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

FUNCTIONS = ("difference", "greater", "equal")
EVALUATION_SEEDS = {"validation": 0, "ood_validation": 1, "test": 2}
# Inputs that are not compared are integers from minus this to this.
LIMIT = 100
# How far the numbers of a test are apart.
RADIUS = 5
# Below it an answer rounds to the right integer.
LARGEST_ERROR = 0.5


@register(
    "task",
    name="Piecewise function",
    references=("faber2020", "mistry2022"),
    equation=r"y = x_4 + 4 \text{ if } x_0 > x_1 \text{ (or } x_0 = x_1\text{), else } x_3 - x_2; "
    r"\qquad y = |x_0 - x_1|",
    claim="extrapolation",
    splits=SPLITS,
)
@dataclass(frozen=True, kw_only=True)
class Piecewise(NumberTask):
    """A formula that depends on a comparison, trained on small numbers and tested on large ones.

    A training batch is a table that does not change: pairs of integers from -10 to 9, all of them
    or, for ``"equal"``, as many equal as others, and beside them integers from -100 to 100. The
    tests compare a number between each two powers of two with its neighbours up to 5 away.

    Departures:
        The reference tests the absolute difference of a large number and a small one, where a
        single branch is enough; here it is of neighbours, as for the others. The validation sets
        and what counts as solved are ours: an error below 0.5, at which a typical answer rounds to
        the right integer.

    Args:
        function: ``"difference"``, |x_0 - x_1|, is continuous; ``"greater"`` and ``"equal"``, named
            by their comparison, are x_4 + 4 or x_3 - x_2.
        magnitudes: First and last power of two of the tests.
        dtype: float32 or float64.

    Raises:
        UserError: For an unknown function or magnitudes upside down.

    Example:
        >>> task = Piecewise(function="equal")
        >>> values = task.target_values(seed=0)
        >>> task.targets(values, torch.tensor([[7, 7, 1, 2, 3], [7, 8, 1, 2, 3.0]])).tolist()
        [[7.0], [1.0]]

    References:
        faber2020, mistry2022
    """

    function: str = "greater"
    magnitudes: tuple[int, int] = (3, 14)
    dtype: torch.dtype = torch.float64

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_choice("Piecewise", "function", self.function, FUNCTIONS)
        if not 0 <= self.magnitudes[0] <= self.magnitudes[1]:
            raise UserError(
                "Piecewise: magnitudes must be a first and a last power of two; "
                f"got {self.magnitudes}."
            )

    @property
    def in_features(self) -> int:
        """Number of inputs."""
        return 2 if self.function == "difference" else 5

    @property
    def num_rows(self) -> int:
        """Number of rows of the training table."""
        return 400 if self.function == "difference" else 4_000

    def pairs(self) -> Tensor:
        """Return the pairs that each row of the training table may hold."""
        integers = torch.arange(-10, 10, dtype=self.dtype)
        if self.function == "equal":
            return balanced_pairs(integers, integers)
        return all_pairs(integers)

    def input_values(self, split: str = "train") -> dict[str, Tensor]:
        """Return the table of pairs."""
        return {"pairs": self.pairs()}

    def target_values(self, seed: int) -> dict[str, Tensor]:
        """Return the number of the function."""
        return {"function": torch.tensor(FUNCTIONS.index(self.function))}

    def inputs(self, values: Mapping[str, Tensor], key: Tensor, step: Tensor, size: int) -> Tensor:
        """Return the stream's table, the same at each step."""
        draws, _ = uniform(key, torch.zeros_like(step), (5, size), self.dtype)
        return self.with_others(choose_pairs(values["pairs"], draws[:2]), draws[2:].T)

    def with_others(self, pairs: Tensor, draws: Tensor) -> Tensor:
        """Add the inputs that are not compared, if there are any."""
        others = ((2 * LIMIT + 1) * draws).floor() - LIMIT
        return torch.cat((pairs, others[:, : self.in_features - 2]), -1)

    def targets(self, values: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Compute the targets of a batch."""
        a, b = x[..., :1], x[..., 1:2]
        if x.shape[-1] == 2:
            return (a - b).abs()
        first = torch.where(values["function"] == FUNCTIONS.index("equal"), a == b, a > b)
        return torch.where(first, x[..., 4:] + 4, x[..., 3:4] - x[..., 2:3])

    def loss(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Mean absolute error."""
        return (prediction - target).abs().mean()

    def evaluation_inputs(self, split: str) -> Tensor:
        """Return the fixed inputs of an evaluation split, the same for every seed."""
        require_choice("Piecewise", "split", split, EVALUATION_SEEDS)
        rng = np.random.RandomState(EVALUATION_SEEDS[split])
        if split == "validation":
            pairs = self.pairs().flatten(0, 1)
        else:
            powers = 2.0 ** np.arange(self.magnitudes[0], self.magnitudes[1] + 1)
            base = torch.tensor(np.floor(powers * rng.uniform(1, 2, len(powers))), dtype=self.dtype)
            pairs = neighbours(base, RADIUS, balanced=self.function == "equal")
        return self.with_others(pairs, torch.tensor(rng.rand(len(pairs), 3), dtype=self.dtype))

    def draw(self, split: str, key: Tensor, size: int) -> Tensor:
        """Draw a training table from a stream, or rows of a fixed set."""
        if split == "train":
            return super().draw(split, key, size)
        return rows_of(self.evaluation_inputs(split), key, size)

    def threshold(self) -> float:
        """Return the largest test error that counts as solved."""
        return LARGEST_ERROR
