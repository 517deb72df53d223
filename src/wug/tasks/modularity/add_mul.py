"""Addition and multiplication modulo 100, by the same inputs and outputs (Csordás et al., 2021).

Does a network that computes two functions of the same numbers keep weights for each of them?
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.sources.streams import SPLITS, NumberTask
from wug.tasks.modularity._digits import (
    BASE,
    EVALUATION_SEEDS,
    WIDTH,
    decode,
    digit_loss,
    draw_numbers,
    encode,
    fixed_numbers,
    wrong_answers,
)  # fmt: skip

OPERATIONS = ("add", "mul")


@register(
    "task",
    name="Addition and multiplication",
    references=("csordas2023", "csordas2021masks"),
    equation=r"y = a \circ b \bmod 100, \qquad \circ \in \{+, \times\}",
    claim="modularity",
    splits=SPLITS,
)
@dataclass(frozen=True, kw_only=True)
class AddMul(NumberTask):
    """Add or multiply two numbers modulo 100; a further input says which.

    Inputs are two digits of ten units for either number and two units for the operation, outputs
    two digits of ten units.

    Departures:
        There is nothing out of distribution: all sets are drawn from the same 20,000 problems, as
        in the paper. Draws are made in every step instead of a million beforehand.

    Args:
        operations: Those that are drawn.
        evaluation_size: Problems of each evaluation set.
        tolerance: Share of wrong answers that still counts as solved.

    Raises:
        UserError: For an unknown operation, none, or an evaluation set without problems.

    Example:
        >>> task = AddMul(operations=("mul",))
        >>> x, y = task.batch("train", torch.Generator().manual_seed(0), size=4)
        >>> bool((decode(x[:, :20]) * decode(x[:, 20:40]) % 100 == decode(y)).all())
        True

    References:
        csordas2023, csordas2021masks
    """

    operations: tuple[str, ...] = OPERATIONS
    evaluation_size: int = 10_000
    tolerance: float = 0.02
    dtype: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        if not self.operations:
            raise UserError("AddMul: operations must name at least one of add and mul.")
        for name in self.operations:
            require_choice("AddMul", "operations", name, OPERATIONS)
        require_at_least("AddMul", "evaluation_size", self.evaluation_size, 1)

    @property
    def in_features(self) -> int:
        """Number of inputs."""
        return 2 * WIDTH + len(OPERATIONS)

    @property
    def out_features(self) -> int:
        """Number of outputs."""
        return WIDTH

    def input_values(self, split: str = "train") -> dict[str, Tensor]:
        """Return the operations that are drawn, by number."""
        return {"operations": torch.tensor([OPERATIONS.index(name) for name in self.operations])}

    def problems(self, first: Tensor, second: Tensor, operation: Tensor) -> Tensor:
        """Return problems as inputs."""
        which = torch.nn.functional.one_hot(operation, len(OPERATIONS)).to(self.dtype)
        return torch.cat((encode(first), encode(second), which), -1)

    def inputs(self, values: Mapping[str, Tensor], key: Tensor, step: Tensor, size: int) -> Tensor:
        """Draw a batch of problems."""
        numbers = draw_numbers(key, step, (3, size), BASE * len(self.operations))
        operation = values["operations"][numbers[2] // BASE]
        return self.problems(
            numbers[0] // len(self.operations), numbers[1] // len(self.operations), operation
        )

    def targets(self, values: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Compute the targets of a batch."""
        first, second = decode(x[..., :WIDTH]), decode(x[..., WIDTH : 2 * WIDTH])
        results = torch.stack((first + second, first * second), -1) % BASE
        operation = x[..., 2 * WIDTH :].argmax(-1, keepdim=True)
        return encode(results.gather(-1, operation).squeeze(-1))

    def loss(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Cross-entropy of both digits."""
        return digit_loss(prediction, target)

    def error(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Share of numbers with a wrong digit."""
        return wrong_answers(prediction, target).to(self.dtype).mean()

    def evaluation_inputs(self, split: str) -> Tensor:
        """Return the fixed problems of an evaluation split."""
        require_choice("AddMul", "split", split, EVALUATION_SEEDS)
        numbers = fixed_numbers(split, (3, self.evaluation_size))
        known = self.input_values()["operations"]
        return self.problems(numbers[0], numbers[1], known[numbers[2] % len(known)])

    def threshold(self) -> float:
        """Return the largest share of wrong answers that counts as solved."""
        return self.tolerance
