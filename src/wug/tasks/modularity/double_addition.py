"""Two additions modulo 100, each by inputs and outputs of its own (Csordás et al., 2021).

Does a network that computes the same function twice use the same weights for both?
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from wug.core.errors import require_at_least, require_choice
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

ASKED = ("both", "either", "first", "second")


@register(
    "task",
    name="Double addition",
    references=("csordas2023", "csordas2021masks"),
    equation=r"y_1 = a + b \bmod 100, \qquad y_2 = c + d \bmod 100",
    claim="modularity",
    splits=SPLITS,
)
@dataclass(frozen=True, kw_only=True)
class DoubleAddition(NumberTask):
    """Add two pairs of numbers modulo 100.

    Inputs are four numbers of two digits, ten units each; outputs two numbers. Pairs that are not
    given are 0 everywhere; numbers that are not asked for have no target and cost nothing.

    Departures:
        There is nothing out of distribution, as in the paper. Draws are made in every step instead
        of a million beforehand.

    Args:
        asked: Which sums: ``"both"`` in every row, ``"either"`` of them, by a fair coin (for
            networks that work on one pair at a time), or always the ``"first"`` or ``"second"``.
        given: Whether pairs that are not asked for are among the inputs.
        evaluation_size: Problems of each evaluation set.
        tolerance: Share of wrong answers that still counts as solved.

    Raises:
        UserError: For an unknown choice or an evaluation set without problems.

    Example:
        >>> task = DoubleAddition(asked="first")
        >>> x, y = task.batch("train", torch.Generator().manual_seed(0), size=4)
        >>> x[:, 40:].any().item(), y[:, 20:].any().item()
        (False, False)
        >>> bool(((decode(x[:, :20]) + decode(x[:, 20:40])) % 100 == decode(y[:, :20])).all())
        True

    References:
        csordas2023, csordas2021masks
    """

    asked: Literal["both", "either", "first", "second"] = "both"
    given: Literal["asked", "both"] = "asked"
    evaluation_size: int = 10_000
    tolerance: float = 0.02
    dtype: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_choice("DoubleAddition", "asked", self.asked, ASKED)
        require_choice("DoubleAddition", "given", self.given, ("asked", "both"))
        if self.asked == "either" and self.given == "both":
            require_choice(
                "DoubleAddition", "given, where either pair is asked,", "both", ["asked"]
            )
        require_at_least("DoubleAddition", "evaluation_size", self.evaluation_size, 1)

    @property
    def in_features(self) -> int:
        """Number of inputs."""
        return 4 * WIDTH

    @property
    def out_features(self) -> int:
        """Number of outputs."""
        return 2 * WIDTH

    def input_values(self, split: str = "train") -> dict[str, Tensor]:
        """Return nothing: there is one distribution."""
        return {}

    def problems(self, numbers: Tensor) -> Tensor:
        """Return problems as inputs.

        Args:
            numbers: The four numbers of each row, and one that says which pair is asked.

        Shape:
            (5, row) -> (row, 80).
        """
        x = encode(numbers[:4].T).flatten(-2)
        if self.given == "both" or self.asked == "both":
            return x
        first = {"first": True, "second": False}.get(self.asked, numbers[4] < BASE // 2)
        first = torch.as_tensor(first, device=x.device).unsqueeze(-1)
        half = torch.arange(4 * WIDTH, device=x.device) < 2 * WIDTH
        return x * (half == first)

    def inputs(self, values: Mapping[str, Tensor], key: Tensor, step: Tensor, size: int) -> Tensor:
        """Draw a batch of problems."""
        return self.problems(draw_numbers(key, step, (5, size)))

    def targets(self, values: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Compute the targets of a batch: 0 everywhere for pairs that are not there or asked."""
        numbers = decode(x.unflatten(-1, (4, WIDTH)))
        sums = torch.stack((numbers[..., 0] + numbers[..., 1], numbers[..., 2] + numbers[..., 3]))
        there = torch.stack((x[..., :WIDTH].any(-1), x[..., 2 * WIDTH : 3 * WIDTH].any(-1)))
        wanted = [self.asked != "second", self.asked != "first"]
        there = there & torch.tensor(wanted, device=x.device).view(2, *[1] * (there.dim() - 1))
        return torch.cat(tuple(encode(sums % BASE) * there.unsqueeze(-1)), -1)

    def loss(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Cross-entropy of the digits that are asked for."""
        return digit_loss(prediction, target)

    def error(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Share of rows with a wrong digit."""
        return wrong_answers(prediction, target).to(self.dtype).mean()

    def evaluation_inputs(self, split: str) -> Tensor:
        """Return the fixed problems of an evaluation split."""
        require_choice("DoubleAddition", "split", split, EVALUATION_SEEDS)
        return self.problems(fixed_numbers(split, (5, self.evaluation_size)))

    def threshold(self) -> float:
        """Return the largest share of wrong answers that counts as solved."""
        return self.tolerance
