"""Random numbers as a pure function of (key, step, position).

A stream is a 64-bit key; its numbers at any step are an integer hash of key, step and position.
So a batch costs no state: the same key gives the same data alone, in a fleet of any size, after a
resume, on a CPU or a GPU, and a compiler can fuse the drawing into the step that uses it.

The hash is two rounds of multiply and xor-shift on 32-bit lanes; one half of the key, advanced by
the step, is added before each round. The second multiplier depends on the value, x (2 x + odd), a
permutation that leaves no structure between neighbouring positions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

Intervals = tuple[tuple[float, float], ...]

# Odd multipliers of a bias-tested 32-bit mixer; the second one written as a signed int32.
MULTIPLIER_1 = 0x7FEB352D
MULTIPLIER_2 = 0x846CA68B - (1 << 32)
# Odd increments per step, of either half of the key.
WEYL = (0x1E3779B1, 0x25EBCA6B)


def stream_key(*parts: str | int) -> tuple[int, int]:
    """Derive the two 32-bit words of a stream's key from anything that names it.

    Args:
        *parts: Names and numbers, such as ``("train", "[1,2)", 3)``.

    Example:
        >>> stream_key("train", 0) == stream_key("train", 0) != stream_key("train", 1)
        True
    """
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:], "little")


def key_from(generator: torch.Generator) -> Tensor:
    """Draw a stream's key from a generator: the bridge for code that holds one."""
    return torch.randint(0, 1 << 32, (2,), generator=generator, device=generator.device)


def generator_for(*parts: str | int) -> torch.Generator:
    """Return a generator whose numbers depend on nothing but what names it.

    Args:
        *parts: Names and numbers, such as ``("copy", "train", seed, step)``.

    Example:
        >>> first, again = (torch.rand(1, generator=generator_for("a", 1)) for _ in range(2))
        >>> bool(first == again)
        True
    """
    low, high = stream_key(*parts)
    # Seeds are signed: one bit is left out.
    return torch.Generator().manual_seed((high << 32 | low) >> 1)


def random_bits(key: Tensor, step: Tensor, shape: tuple[int, ...], lane: int = 0) -> Tensor:
    """Return int32 tensor of ``shape`` with 32 random bits in each element.

    Args:
        key: int64 tensor of shape (2,), words below 2^32, from `stream_key` or `key_from`:
            similar words give similar numbers.
        step: int64 scalar tensor.
        shape: Shape of the result.
        lane: Independent numbers at the same step and position for other lanes.
    """
    count = 1
    for size in shape:
        count *= size
    # Few operations on scalars: a kernel may repeat them for every vector of numbers.
    first, second = ((key[i] + step * WEYL[i]).to(torch.int32) for i in (0, 1))
    counter = torch.arange(lane * count, (lane + 1) * count, dtype=torch.int32, device=key.device)
    bits = counter.view(shape) + first
    bits = (bits ^ ((bits >> 16) & 0xFFFF)) * MULTIPLIER_1 + second
    bits = bits ^ ((bits >> 15) & 0x1FFFF)
    bits = bits * (2 * bits + MULTIPLIER_2)
    return bits ^ ((bits >> 16) & 0xFFFF)


def to_unit(bits: Tensor, more: Tensor | None = None) -> Tensor:
    """Map random bits to [0, 1): 24 bits as float32, or 53 as float64 if ``more`` is given."""
    if more is None:
        return ((bits >> 8) & 0xFFFFFF).to(torch.float32) * 2.0**-24
    high = ((bits >> 5) & 0x7FFFFFF).to(torch.float64)
    low = ((more >> 6) & 0x3FFFFFF).to(torch.float64)
    return (high * 2.0**26 + low) * 2.0**-53


def uniform(
    key: Tensor,
    step: Tensor,
    shape: tuple[int, ...],
    dtype: torch.dtype = torch.float32,
) -> tuple[Tensor, Tensor]:
    """Draw numbers in [0, 1) and, from bits that they do not use, fair coins.

    Args:
        key: int64 tensor of shape (2,).
        step: int64 scalar tensor.
        shape: Shape of the result.
        dtype: float32 (24 random bits) or float64 (53).

    Returns:
        The numbers, and a boolean tensor of the same shape.

    Example:
        >>> key = torch.tensor(stream_key("example"))
        >>> numbers, coins = uniform(key, torch.tensor(0), (2, 128))
        >>> bool((numbers >= 0).all() and (numbers < 1).all()), coins.dtype
        (True, torch.bool)
    """
    bits = random_bits(key, step, shape)
    more = random_bits(key, step, shape, lane=1) if dtype == torch.float64 else None
    return to_unit(bits, more), (bits & 1).to(torch.bool)


def interval_values(intervals: Intervals, dtype: torch.dtype) -> dict[str, Tensor]:
    """Return the numbers that describe one or two intervals of equal width, for `from_intervals`.

    Example:
        >>> interval_values(((-6.0, -2.0), (2.0, 6.0)), torch.float32)
        {'low': tensor(-6.), 'width': tensor(4.), 'shift': tensor(8.)}
    """
    (low, high), *rest = intervals
    values = {"low": low, "width": high - low}
    if rest:
        values["shift"] = rest[0][0] - low
    return {name: torch.tensor(value, dtype=dtype) for name, value in values.items()}


def from_intervals(
    values: Mapping[str, Tensor], key: Tensor, step: Tensor, shape: tuple[int, ...]
) -> Tensor:
    """Draw numbers uniformly from intervals; of two, each number picks one by a fair coin."""
    numbers, coins = uniform(key, step, shape, values["low"].dtype)
    x = values["low"] + values["width"] * numbers
    return x + values["shift"] * coins if "shift" in values else x


def fixed_from_intervals(
    intervals: Intervals, shape: tuple[int, ...], seed: int
) -> NDArray[np.float64]:
    """Draw an evaluation set once, from NumPy's legacy generator as the reference does."""
    rng = np.random.RandomState(seed)
    parts = [rng.uniform(low, high, shape) for low, high in intervals]
    return np.asarray(np.choose(rng.randint(len(parts), size=shape), parts))


def dropout(x: Tensor, rate: float, training: bool = True) -> Tensor:
    """Drop a share of the numbers and scale the others up, like torch's, but faster on a CPU.

    Torch draws one number after the other, and a compiler can't draw several at once either. Here a
    key comes from torch's generator, and the numbers from the key: that is one loop to a compiler,
    but many without one. There, on a CPU, each number that torch's generator draws decides four
    times.

    Args:
        x: The numbers.
        rate: Share to drop.
        training: Whether to drop at all.

    Example:
        >>> dropout(torch.ones(3), 0.5, training=False)
        tensor([1., 1., 1.])
    """
    if not training or not rate:
        return x
    if x.device.type == "cpu" and rate < 1 and not torch.compiler.is_compiling():
        words = torch.randint(-(1 << 63), (1 << 63) - 1, ((x.numel() + 3) // 4,), device=x.device)
        parts = words.view(torch.int16)[: x.numel()].view(x.shape)
        kept = (parts >= round(rate * 2**16) - 2**15).to(x.dtype)
        return x * kept.mul_(1 / (1 - rate))
    key = torch.randint(0, 1 << 32, (2,), device=x.device)
    bits = random_bits(key, torch.zeros_like(key[0]), tuple(x.shape))
    kept = bits >= int(rate * 2**32) - 2**31
    return torch.where(kept, x * (1 / (1 - rate) if rate < 1 else 0.0), 0.0)


class _RectifiedDropout(torch.autograd.Function):
    # Apart, rectifier and dropout leave a mask each, and compiled loops are slow to write masks.
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, rate: float) -> Tensor:
        return dropout(F.relu(x), rate)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, float], output: Tensor) -> None:
        ctx.save_for_backward(output)
        ctx.scale = 1 / (1 - inputs[1]) if inputs[1] < 1 else 0.0

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (output,) = ctx.saved_tensors
        return gradients[0] * (output.sign() * ctx.scale), None


def rectified_dropout(x: Tensor, rate: float, training: bool = True) -> Tensor:
    """Return max(x, 0) with a share of the numbers dropped and the others scaled up.

    Its gradient needs nothing but its output.

    Args:
        x: The numbers.
        rate: Share to drop.
        training: Whether to drop at all.

    Example:
        >>> rectified_dropout(torch.tensor([-1.0, 2.0]), 0.5, training=False)
        tensor([0., 2.])
    """
    if not training or not rate:
        return F.relu(x)
    result: Tensor = _RectifiedDropout.apply(x, rate)  # type: ignore[no-untyped-call]
    return result
