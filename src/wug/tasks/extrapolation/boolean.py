"""Functions of truth values (Reimann and Schwung, 2019).

AND, OR, NOT, XOR and their like, of two of the inputs. Train on a part of the truth table, test on
the rest: the rule has two operands, whatever the other inputs say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.functional.streams import uniform
from wug.sources.streams import SPLITS, NumberTask

# Function -> its values for the operands 00, 01, 10 and 11.
FUNCTIONS = {
    "and": (0, 0, 0, 1),
    "or": (0, 1, 1, 1),
    "not": (1, 1, 0, 0),
    "xor": (0, 1, 1, 0),
    "implies": (1, 1, 0, 1),
    "equivalent": (1, 0, 0, 1),
    "identity": (0, 0, 1, 1),
    "constant": (1, 1, 1, 1),
}
EVALUATION_SPLITS = SPLITS[1:]
# All answers are within this of the truth; a rule that is half learnt rounds right by luck.
LARGEST_ERROR = 0.1


@register(
    "task",
    name="Boolean functions",
    references=("reimann2019", "mistry2022"),
    equation=r"y = a \circ b, \qquad \circ \in \{\wedge, \vee, \oplus, \rightarrow, "
    r"\leftrightarrow\}, \quad y = \neg a, \quad y = a, \quad y = 1",
    claim="extrapolation",
    splits=SPLITS,
)
@dataclass(frozen=True, kw_only=True)
class Boolean(NumberTask):
    """A function of the first two of several truth values, tested where it was not trained.

    The rows of the truth table are shuffled once for all seeds; the first ones are for training
    and IID validation, the rest, in halves, for the OOD sets. If none are left, the OOD sets are
    the whole table.

    Departures:
        The source names AND, OR, NOT and XOR, identity and a constant, and says neither on how many
        inputs nor what they were tested on; with two inputs and all rows for training, there is
        nothing to extrapolate to. Implication and equivalence are what it says can be represented.

    Args:
        function: One of `FUNCTIONS`; not and identity are of the first operand.
        num_inputs: Number of inputs, of which the first two are operands.
        train_share: Share of the truth table's rows for training.
        dtype: float32 or float64.

    Raises:
        UserError: For an unknown function, less than two inputs or a share outside (0, 1].

    Example:
        >>> task = Boolean(function="xor", num_inputs=4, train_share=0.5)
        >>> tuple(len(task.evaluation_inputs(split)) for split in ("validation", "test"))
        (8, 4)

    References:
        reimann2019, mistry2022
    """

    function: str = "and"
    num_inputs: int = 2
    train_share: float = 1.0
    dtype: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_choice("Boolean", "function", self.function, FUNCTIONS)
        require_at_least("Boolean", "num_inputs", self.num_inputs, 2)
        if not 0 < self.train_share <= 1:
            raise UserError(
                f"Boolean: train_share must be above 0 and at most 1; got {self.train_share}."
            )

    @property
    def in_features(self) -> int:
        """Number of inputs."""
        return self.num_inputs

    @property
    def num_rows(self) -> int:
        """Number of rows of the truth table for training."""
        return max(round(self.train_share * (1 << self.num_inputs)), 1)

    def rows(self, split: str) -> Tensor:
        """Return a split's part of the truth table."""
        truth = torch.tensor([0.0, 1.0], dtype=self.dtype)
        table = torch.cartesian_prod(*[truth] * self.num_inputs)
        table = table[np.random.RandomState(0).permutation(len(table))]
        if split in ("train", "validation"):
            return table[: self.num_rows]
        rest = table[self.num_rows :]
        part = rest[::2] if split == "test" else rest[1::2]
        return part if len(part) else table

    def input_values(self, split: str = "train") -> dict[str, Tensor]:
        """Return the rows of a split."""
        return {"rows": self.rows(split)}

    def target_values(self, seed: int) -> dict[str, Tensor]:
        """Return the function's values."""
        return {"values": torch.tensor(FUNCTIONS[self.function], dtype=self.dtype)}

    def inputs(self, values: Mapping[str, Tensor], key: Tensor, step: Tensor, size: int) -> Tensor:
        """Return the rows for training in turn, from a random one on and over again."""
        start, _ = uniform(key, torch.zeros_like(step), (1,), self.dtype)
        places = torch.arange(size, device=key.device) + (len(values["rows"]) * start).long()
        return values["rows"][places % len(values["rows"])]

    def targets(self, values: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Look up the targets of a batch."""
        a, b = x[..., :1], x[..., 1:2]
        none, second, first, both = values["values"].unbind()
        return torch.where(a > 0.5, torch.where(b > 0.5, both, first),
                           torch.where(b > 0.5, second, none))  # fmt: skip

    def error(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Largest absolute error: one wrong answer is a wrong rule."""
        return (prediction - target).abs().max()

    def evaluation_inputs(self, split: str) -> Tensor:
        """Return the rows of an evaluation split, the same for every seed."""
        require_choice("Boolean", "split", split, EVALUATION_SPLITS)
        return self.rows(split)

    def threshold(self) -> float:
        """Return the largest test error that counts as solved."""
        return LARGEST_ERROR
