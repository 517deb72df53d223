"""Numbers below 100 as two digits, each of ten inputs or outputs, and what is right."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from wug.functional.streams import random_bits

BASE = 100
WIDTH = 20  # of a number
EVALUATION_SEEDS = {"validation": 0, "ood_validation": 1, "test": 2}


def encode(numbers: Tensor) -> Tensor:
    """Return the digits of whole numbers below 100, tens first, as one-hot vectors.

    Shape:
        (...,) -> (..., 20).

    Example:
        >>> encode(torch.tensor(42)).nonzero().flatten().tolist()
        [4, 12]
    """
    digits = torch.stack((numbers // 10, numbers % 10), -1)
    return F.one_hot(digits, 10).flatten(-2).to(torch.float32)


def decode(features: Tensor) -> Tensor:
    """Return the numbers whose digits have the largest features.

    Shape:
        (..., 20) -> (...,).
    """
    digits: Tensor = features.unflatten(-1, (2, 10)).argmax(-1)
    return 10 * digits[..., 0] + digits[..., 1]


def draw_numbers(key: Tensor, step: Tensor, shape: tuple[int, ...], below: int = BASE) -> Tensor:
    """Draw whole numbers inside a program."""
    bits = random_bits(key, step, shape)
    return (((bits >> 8) & 0xFFFFFF).to(torch.int64) * below) >> 24


def fixed_numbers(split: str, shape: tuple[int, ...], below: int = BASE) -> Tensor:
    """Draw the numbers of an evaluation set, the same on every machine."""
    return torch.tensor(np.random.RandomState(EVALUATION_SEEDS[split]).randint(below, size=shape))


def by_digit(features: Tensor) -> Tensor:
    """Return features by digit: (..., 10 n) -> (..., n, 10)."""
    digits: Tensor = features.unflatten(-1, (-1, 10))
    return digits


def digit_loss(prediction: Tensor, target: Tensor) -> Tensor:
    """Return the cross-entropy of all digits that are asked for, summed, mean over rows."""
    logits, digits = by_digit(prediction), by_digit(target)
    return -(digits * logits.log_softmax(-1)).sum((-2, -1)).mean()


def wrong_answers(prediction: Tensor, target: Tensor) -> Tensor:
    """Return which rows have a wrong digit among those that are asked for.

    Shape:
        (row, 10 n), (row, 10 n) -> (row,), bool.
    """
    logits, digits = by_digit(prediction), by_digit(target)
    asked = digits.sum(-1) > 0
    return ((logits.argmax(-1) != digits.argmax(-1)) & asked).any(-1)
