"""Numbers in words (Trask et al., 2018): two hundred and one becomes 201.

Trained on a sixth of the numbers up to 999, every word among them; tested on the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from wug.core.errors import UserError, require_choice
from wug.core.registry import register
from wug.functional.streams import generator_for
from wug.sources.streams import SPLITS, NumberTask, rows_of

SMALL = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
PADDING = "-"
WORDS = (PADDING, *SMALL, *TENS, "hundred", "and")
LARGEST, LONGEST = 999, 5
SIZES = {"train": 169, "validation": 200, "ood_validation": 200, "test": 630}


def in_words(number: int) -> list[str]:
    """Write a number from 1 to 999 in words.

    Example:
        >>> " ".join(in_words(201)), " ".join(in_words(40)), " ".join(in_words(713))
        ('two hundred and one', 'forty', 'seven hundred and thirteen')
    """
    hundreds, rest = divmod(number, 100)
    words = [SMALL[hundreds - 1], "hundred"] if hundreds else []
    if hundreds and rest:
        words.append("and")
    if rest >= 20:
        words.append(TENS[rest // 10 - 2])
        rest %= 10
    return [*words, SMALL[rest - 1]] if rest else words


def tokens_of(numbers: Tensor) -> Tensor:
    """Return numbers in words as tokens, with padding in front.

    Shape:
        (row,) -> (row, 5).
    """
    places = {word: place for place, word in enumerate(WORDS)}
    rows = []
    for number in numbers.tolist():
        words = in_words(number)
        rows.append([0] * (LONGEST - len(words)) + [places[word] for word in words])
    return torch.tensor(rows)


@cache
def numbers_of(split: str) -> Tensor:
    """Return the numbers of a split: the first ones that need each word, then any."""
    needed = [*range(1, 21), *range(30, 100, 10), 100, 101]
    order = torch.randperm(LARGEST, generator=generator_for("number_words")) + 1
    others = order[~torch.isin(order, torch.tensor(needed))]
    order = torch.cat((torch.tensor(needed), others))
    train, validation, test = order.split([SIZES[s] for s in ("train", "validation", "test")])
    chosen: Tensor = {"train": train, "test": test}.get(split, validation)
    return chosen


@register(
    "task",
    name="Number words",
    references=("trask2018",),
    equation=r"y = \text{the number that } x_1 \dots x_n \text{ spell}",
    claim="language",
    splits=SPLITS,
)
@dataclass(frozen=True, kw_only=True)
class NumberWords(NumberTask):
    """The number that a few words spell, from 1 to 999.

    Inputs are the tokens of the words, in front of which is padding (token 0); the whole training
    set is every batch.

    Departures:
        The split is that of stable-nalu in size, 169 for training and 200 for validation, and the
        other 630 are the test; which numbers these are is ours. Training has every word. There is
        nothing out of distribution: both validation sets are the same.

    Args:
        tolerance: Greatest mean absolute error that counts as solved.
        dtype: float32 or float64.

    Raises:
        UserError: The tolerance is not positive.

    Example:
        >>> x, y = NumberWords().batch("train", torch.Generator().manual_seed(0), size=1)
        >>> " ".join(WORDS[token] for token in x[0] if token), y.item()
        ('six hundred and sixty seven', 667.0)

    References:
        trask2018
    """

    tolerance: float = 0.5
    dtype: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        """Check the tolerance."""
        if self.tolerance <= 0:
            raise UserError(f"NumberWords: tolerance must be positive; got {self.tolerance}.")

    @property
    def in_features(self) -> int:
        """Number of words, padding included."""
        return len(WORDS)

    def input_values(self, split: str = "train") -> dict[str, Tensor]:
        """Return the tokens of a split."""
        return {"tokens": tokens_of(numbers_of(split))}

    def target_values(self, seed: int) -> dict[str, Tensor]:
        """Return the values of all words, as parts of a sum."""
        return {"values": torch.tensor(word_values(), dtype=self.dtype)}

    def inputs(self, values: Mapping[str, Tensor], key: Tensor, step: Tensor, size: int) -> Tensor:
        """Return the whole training set."""
        return values["tokens"] + 0 * step

    def targets(self, values: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Add up the values of the words; the one before a hundred counts a hundred times."""
        worth = values["values"][x]
        hundred = WORDS.index("hundred")
        before = torch.cat((x[..., 1:], torch.zeros_like(x[..., :1])), -1) == hundred
        return (worth * torch.where(before, 100, 1)).sum(-1, keepdim=True)

    def loss(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Mean squared error, in hundreds."""
        return ((prediction - target) / 100).square().mean()

    def error(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Mean absolute error."""
        return (prediction - target).abs().mean()

    def evaluation_inputs(self, split: str) -> Tensor:
        """Return the fixed inputs of an evaluation split."""
        require_choice("NumberWords", "split", split, SPLITS)
        return tokens_of(numbers_of(split))

    def draw(self, split: str, key: Tensor, size: int) -> Tensor:
        """Draw numbers of a split from a stream."""
        return rows_of(self.evaluation_inputs(split), key, size)

    def threshold(self) -> float:
        """Return the largest test error that counts as solved."""
        return self.tolerance


def word_values() -> list[int]:
    """Return what each word adds; hundred and and add nothing."""
    return [0, *range(1, 20), *range(20, 100, 10), 0, 0]
