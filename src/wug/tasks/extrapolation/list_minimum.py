"""The least element of a list (Faber and Wattenhofer, 2020).

Train on lists of five small integers, test on longer lists of larger ones: who has learnt to
compare, and to keep the less, need not learn anything new.
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


@register(
    "task",
    name="Least element of a list",
    references=("faber2020", "mistry2022"),
    equation=r"y = \min_t x_t",
    claim="extrapolation",
    splits=SPLITS,
)
@dataclass(frozen=True, kw_only=True)
class ListMinimum(NumberTask):
    """The least of a list of integers, trained on short lists and tested on long ones.

    Training lists are a table that does not change: integers from 1 to ``largest``. In the OOD
    sets, each list in turn reaches up to ``largest`` times another power of two.

    Departures:
        The reference has a test of 50 lists for each length up to 50 and each power of two; here
        all powers are in one test, of one length. The validation sets and what counts as solved
        are ours: an error below 0.5, at which a typical answer rounds to the right integer.

    Args:
        train_length: Elements of a training and IID validation list.
        test_length: Elements of a list of the OOD sets.
        largest: Largest integer of the training lists.
        num_doublings: The OOD sets have lists of up to ``largest`` times 2, 4, ..., 2 to this.
        dtype: float32 or float64.

    Raises:
        UserError: If a number is below 1.

    Example:
        >>> task = ListMinimum()
        >>> x, y = task.batch("test", torch.Generator().manual_seed(0), size=2)
        >>> x.shape, bool(torch.equal(y, x.amin(-2)))
        (torch.Size([2, 50, 1]), True)

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
            require_at_least("ListMinimum", name, getattr(self, name), 1)

    @property
    def in_features(self) -> int:
        """Number of inputs of a step."""
        return 1

    def input_values(self, split: str = "train") -> dict[str, Tensor]:
        """Return the limit of the training lists."""
        return {"largest": torch.tensor(float(self.largest), dtype=self.dtype)}

    def inputs(self, values: Mapping[str, Tensor], key: Tensor, step: Tensor, size: int) -> Tensor:
        """Return the stream's table of lists, the same at each step."""
        draws, _ = uniform(key, torch.zeros_like(step), (size, self.train_length, 1), self.dtype)
        return 1 + (values["largest"] * draws).floor()

    def targets(self, values: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Compute the targets of lists of any length."""
        return x.amin(-2)

    def loss(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Mean absolute error."""
        return (prediction - target).abs().mean()

    def draw(self, split: str, key: Tensor, size: int) -> Tensor:
        """Draw lists of a split from a stream."""
        largest = torch.tensor(float(self.largest), dtype=self.dtype, device=key.device)
        start = torch.zeros_like(key[0])
        if split in ("train", "validation"):
            return self.inputs({"largest": largest}, key, start, size)
        draws, _ = uniform(key, start, (size, self.test_length, 1), self.dtype)
        powers = 1 + torch.arange(size, device=key.device) % self.num_doublings
        return 1 + (largest * 2.0 ** powers[:, None, None] * draws).floor()

    def evaluation_inputs(self, split: str) -> Tensor:
        """Return the fixed inputs of an evaluation split, the same for every seed."""
        require_choice("ListMinimum", "split", split, EVALUATION_SIZES)
        key = torch.tensor(stream_key("list_minimum", split))
        return self.draw(split, key, EVALUATION_SIZES[split])

    def threshold(self) -> float:
        """Return the largest test error that counts as solved."""
        return LARGEST_ERROR
