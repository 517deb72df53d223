"""Which of two handwritten digits is larger (Faber and Wattenhofer, 2020)?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from wug.core.errors import require_at_least, require_choice
from wug.core.registry import register
from wug.functional.streams import generator_for
from wug.interfaces.interface import Batch
from wug.sources.generated import GeneratedSource
from wug.sources.pictures import SIZES, part_of

SPLITS = ("train", "validation", "ood_validation", "test")
PART = 500


@register(
    "task",
    name="Digit comparison",
    references=("faber2020", "mistry2022"),
    equation=r"y = [\mathrm{digit}(x_1) > \mathrm{digit}(x_2)]",
    claim="perception",
    splits=SPLITS,
)
@dataclass(frozen=True, kw_only=True)
class DigitComparison:
    """Say whether the digit on the first of two pictures is larger.

    Inputs are two pictures, as rows of numbers between 0 and 1; the target is 1 or 0. The answer of
    a network is a probability.

    Departures:
        The primer names the task alone (mistry2022, section 7.2): pairs are drawn at random, and
        the loss is the cross-entropy. There is nothing out of distribution: both validation sets
        are of the last 5,000 training pictures.

    Args:
        data: ``"mnist"``, or ``"drawn"``: random patterns of 8 x 8 that need no files.
        evaluation_size: Pairs of an evaluation set.
        tolerance: Greatest share of wrong answers that counts as solved.

    Raises:
        UserError: For an unknown set, or if MNIST's files are missing.

    Example:
        >>> task = DigitComparison()
        >>> x, y = task.batch("train", torch.Generator().manual_seed(0), size=4)
        >>> x.shape, y.shape
        (torch.Size([4, 2, 64]), torch.Size([4, 1]))

    References:
        faber2020, mistry2022
    """

    interface: ClassVar[str] = "numbers"

    data: Literal["drawn", "mnist"] = "drawn"
    evaluation_size: int = 5_000
    tolerance: float = 0.05

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_choice("DigitComparison", "data", self.data, ("drawn", "mnist"))
        require_at_least("DigitComparison", "evaluation_size", self.evaluation_size, 1)

    @property
    def in_features(self) -> int:
        """Numbers of a picture."""
        return SIZES[self.data]

    @property
    def out_features(self) -> int:
        """Number of outputs."""
        return 1

    def draw(self, split: str, generator: torch.Generator, size: int) -> Batch:
        """Draw pairs of pictures."""
        x, labels = part_of(self.data, "", split)
        places = torch.randint(len(x), (size, 2), generator=generator)
        first, second = labels[places].unbind(-1)
        return {"x": x[places], "y": (first > second).float().unsqueeze(-1)}

    def source(self, batch_size: int, **_: Any) -> GeneratedSource:
        """Return where its batches come from."""

        def make(split: str, seed: int, step: int) -> Batch:
            size = batch_size if split == "train" else min(PART, self.evaluation_size)
            return self.draw(split, generator_for("comparison", split, seed, step), size)

        return GeneratedSource(make, -(-self.evaluation_size // PART), kept=0)

    def loss(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Cross-entropy of the probabilities."""
        return F.binary_cross_entropy(prediction.clamp(1e-6, 1 - 1e-6), target)

    def error(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Share of wrong answers."""
        return ((prediction > 0.5) != (target > 0.5)).double().mean()

    def batch(
        self, split: str, generator: torch.Generator, size: int = 128, seed: int = 0
    ) -> tuple[Tensor, Tensor]:
        """Draw pairs of a split from a generator.

        Args:
            split: One of `SPLITS`.
            generator: Where the randomness comes from.
            size: Number of pairs.
            seed: Of no consequence here.
        """
        require_choice("DigitComparison", "split", split, SPLITS)
        batch = self.draw(split, generator, size)
        return batch["x"], batch["y"]

    def threshold(self) -> float:
        """Return the largest share of wrong answers that counts as solved."""
        return self.tolerance
