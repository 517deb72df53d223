"""How often a number occurs in a sequence (Faber and Wattenhofer, 2020).

Train on five elements, test on longer sequences of larger numbers: every step that answers a bit
less than 0 or 1 adds to the error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from wug.core.errors import require_at_least, require_choice
from wug.core.registry import register
from wug.functional.streams import stream_key, uniform
from wug.sources.streams import SPLITS, NumberTask

EVALUATION_SIZES = {"validation": 400, "ood_validation": 140, "test": 700}
# Below it an answer rounds to the right integer.
LARGEST_ERROR = 0.5
# How far the elements of the OOD sets are from the number.
RADIUS = 5


def beside(elements: Tensor, numbers: Tensor) -> Tensor:
    """Put the number beside each element: (size, seq) and (size, 1) -> (size, seq, 2)."""
    return torch.stack((elements, numbers.expand_as(elements)), -1)


@register(
    "task",
    name="Counting occurrences",
    references=("faber2020", "mistry2022"),
    equation=r"y = \sum_t [\,x_t = z\,]",
    claim="extrapolation",
    splits=SPLITS,
)
@dataclass(frozen=True, kw_only=True)
class Counting(NumberTask):
    """How many elements of a sequence equal a number, trained on short sequences of small ones.

    Each step shows an element and the number. Training sequences are a table that does not change:
    integers from 1 to ``largest``. In the OOD sets the number of each sequence in turn is up to
    ``largest`` times another power of two, and the elements are at most 5 away from it.

    Departures:
        The reference has a test of 50 sequences for each length up to 50 and each power of two;
        here all powers are in one test, of one length. The validation sets and what counts as
        solved are ours: an error below 0.5, at which a typical answer rounds to the right integer.

    Args:
        train_length: Elements of a training and IID validation sequence.
        test_length: Elements of a sequence of the OOD sets.
        largest: Largest integer of the training sequences.
        num_doublings: The OOD sets have numbers of up to ``largest`` times 2, 4, ..., 2 to this.
        dtype: float32 or float64.

    Raises:
        UserError: If a number is below 1.

    Example:
        >>> task = Counting()
        >>> x, y = task.batch("test", torch.Generator().manual_seed(0), size=2)
        >>> elements, number = x[1, :, 0].tolist(), x[1, 0, 1].item()
        >>> x.shape, elements.count(number) == y[1].item()
        (torch.Size([2, 50, 2]), True)

    References:
        faber2020, mistry2022
    """

    train_length: int = 5
    test_length: int = 50
    largest: int = 10
    num_doublings: int = 14
    dtype: torch.dtype = torch.float64

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        for name in ("train_length", "test_length", "largest", "num_doublings"):
            require_at_least("Counting", name, getattr(self, name), 1)

    @property
    def in_features(self) -> int:
        """Number of inputs of a step: an element and the number."""
        return 2

    def input_values(self, split: str = "train") -> dict[str, Tensor]:
        """Return the limit of the training sequences."""
        return {"largest": torch.tensor(float(self.largest), dtype=self.dtype)}

    def inputs(self, values: Mapping[str, Tensor], key: Tensor, step: Tensor, size: int) -> Tensor:
        """Return the stream's table of sequences, the same at each step."""
        draws, _ = uniform(key, torch.zeros_like(step), (size, self.train_length + 1), self.dtype)
        integers = 1 + (values["largest"] * draws).floor()
        return beside(integers[:, 1:], integers[:, :1])

    def targets(self, values: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Compute the targets of sequences of any length."""
        return (x[..., :1] == x[..., 1:]).sum(-2).to(x.dtype)

    def loss(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Mean absolute error."""
        return (prediction - target).abs().mean()

    def draw(self, split: str, key: Tensor, size: int) -> Tensor:
        """Draw sequences of a split from a stream."""
        largest = torch.tensor(float(self.largest), dtype=self.dtype, device=key.device)
        start = torch.zeros_like(key[0])
        if split in ("train", "validation"):
            return self.inputs({"largest": largest}, key, start, size)
        draws, _ = uniform(key, start, (size, self.test_length + 1), self.dtype)
        powers = 1 + torch.arange(size, device=key.device) % self.num_doublings
        numbers = 1 + (largest * 2.0 ** powers[:, None] * draws[:, :1]).floor()
        return beside(numbers - RADIUS + ((2 * RADIUS + 1) * draws[:, 1:]).floor(), numbers)

    def evaluation_inputs(self, split: str) -> Tensor:
        """Return the fixed inputs of an evaluation split, the same for every seed."""
        require_choice("Counting", "split", split, EVALUATION_SIZES)
        key = torch.tensor(stream_key("counting", split))
        return self.draw(split, key, EVALUATION_SIZES[split])

    def threshold(self) -> float:
        """Return the largest test error that counts as solved."""
        return LARGEST_ERROR
