"""An operation on the sums of two slices of the input: what several arithmetic tasks share.

The inputs of a slice are uniform numbers times a scale that is drawn anew for every row. Without
it a sum of many numbers would hardly vary, and every operation would look linear.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

Slices = tuple[tuple[int, int], tuple[int, int]]

OPERATIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "first": lambda a, b: a,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "square": lambda a, b: a * a,
    "sqrt": lambda a, b: a.sqrt(),
}
UNARY = ("first", "square", "sqrt")
CODES = tuple(OPERATIONS)


def operate(code: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Apply the operation at this place of `OPERATIONS`; stacked tasks differ in the code alone.

    Example:
        >>> operate(torch.tensor(CODES.index("div")), torch.tensor(6.0), torch.tensor(3.0))
        tensor(2.)
    """
    chosen, *others = (function(a, b) for function in OPERATIONS.values())
    for place, result in enumerate(others, 1):
        chosen = torch.where(code == place, result, chosen)
    return chosen


def random_slices(num_inputs: int, length: int, seed: int) -> Slices:
    """Draw two slices that do not overlap, in either order, as (start, end).

    Example:
        >>> random_slices(10, 5, seed=1)
        ((0, 5), (5, 10))
    """
    rng = np.random.RandomState(seed)
    # Two of the places that are left when each slice is shrunk to a point.
    places = np.sort(rng.choice(num_inputs - 2 * (length - 1), size=2, replace=False))
    starts = rng.permutation(places + [0, length - 1])
    first, second = ((int(start), int(start) + length) for start in starts)
    return first, second


def slice_masks(slices: Slices, num_inputs: int, dtype: torch.dtype) -> Tensor:
    """Return the masks of both slices and of all other inputs.

    Example:
        >>> slice_masks(((0, 1), (2, 4)), 5, torch.float32)
        tensor([[1., 0., 0., 0., 0.],
                [0., 0., 1., 1., 0.],
                [0., 1., 0., 0., 1.]])
    """
    masks = torch.zeros(3, num_inputs, dtype=dtype)
    for mask, (start, end) in zip(masks, slices, strict=False):
        mask[start:end] = 1
    masks[2] = 1 - masks[0] - masks[1]
    return masks


def draws_needed(shape: tuple[int, ...], num_masks: int = 3) -> tuple[int, int]:
    """Return the shape of the uniform numbers that `scaled` turns into inputs of a shape."""
    return shape[0], math.prod(shape[1:]) + num_masks


def scaled(values: Mapping[str, Tensor], drawn: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Turn uniform numbers in [0, 1) into such numbers times a scale per row and slice.

    Args:
        values: ``low`` and ``width`` of the scales' interval, and ``masks`` of the slices.
        drawn: Uniform numbers, of the shape that `draws_needed` names.
        shape: (rows, ..., inputs).
    """
    masks = values["masks"]
    numbers, scales = drawn[:, : -len(masks)], drawn[:, -len(masks) :]
    scale = (values["low"] + values["width"] * scales) @ masks
    return numbers.reshape(shape) * scale.view(shape[0], *(1,) * (len(shape) - 2), shape[-1])


def nearly_perfect_error(code: Tensor, masks: Tensor, sums: Tensor, epsilon: float) -> float:
    """Return the mean squared error of a model whose weights on single inputs are off by epsilon.

    As in madsen2020 they are 1 - epsilon on a slice and epsilon elsewhere, and all else is exact.

    Args:
        code: Of the operation.
        masks: Of both slices.
        sums: Inputs, summed over all but rows and inputs.
        epsilon: Error of a weight.
    """
    sums, masks = sums.double(), masks[:2].double()
    exact, off = (
        operate(code, *(sums @ weights.mT).split(1, -1))
        for weights in (masks, masks + epsilon * (1 - 2 * masks))
    )
    return float((exact - off).square().mean())
