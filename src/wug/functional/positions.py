"""Positions of a sequence as vectors: sinusoids, and random positions out of a longer range."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from wug.core.errors import require_at_least

LONGEST_WAVE = 10_000.0


def sinusoidal_encoding(
    positions: Tensor, features: int, dtype: torch.dtype = torch.float32
) -> Tensor:
    """Encode positions, or distances of either sign, as sines and cosines (vaswani2017).

    Channels 2k and 2k + 1 are sin and cos of position / 10000^(2k / features).

    Args:
        positions: Positions; whole numbers or not.
        features: Number of channels.
        dtype: Of the result; angles have single precision at least.

    Shape:
        (...) -> (..., features).

    Example:
        >>> sinusoidal_encoding(torch.tensor([0, -1]), 4)
        tensor([[ 0.0000,  1.0000,  0.0000,  1.0000],
                [-0.8415,  0.5403, -0.0100,  0.9999]])
    """
    exact = torch.promote_types(dtype, torch.float32)
    pairs = torch.arange((features + 1) // 2, dtype=exact, device=positions.device)
    rates = torch.exp(pairs * (-2 * math.log(LONGEST_WAVE) / features))
    angles = positions.to(exact).unsqueeze(-1) * rates
    waves = torch.stack((angles.sin(), angles.cos()), -1).flatten(-2)
    return waves[..., :features].to(dtype)


def chosen_positions(priorities: Tensor, length: int) -> Tensor:
    """Return the places of the largest priorities, in increasing order.

    Of independent random priorities these are positions drawn without replacement, each subset as
    likely as any other (ruoss2023); fixed ones give each length the same positions every time.

    Args:
        priorities: One number for each position of the range.
        length: How many to choose.

    Shape:
        (..., range) -> (..., length), int64.

    Raises:
        UserError: The range is shorter than the length.

    Example:
        >>> chosen_positions(torch.tensor([0.3, 0.9, 0.1, 0.5]), 2)
        tensor([1, 3])
    """
    require_at_least("positions", "the range of random positions", priorities.shape[-1], length)
    return priorities.topk(length, -1).indices.sort(-1).values


def random_positions(
    length: int,
    num_positions: int,
    *,
    generator: torch.Generator | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    """Draw positions in increasing order, without replacement (ruoss2023).

    Args:
        length: How many to draw.
        num_positions: They are drawn from 0 to this, exclusive.
        generator: Source of the draw; torch's own random state by default, as for dropout.
        device: Where to draw.

    Shape:
        -> (length,), int64.

    Raises:
        UserError: There are fewer positions than are asked for.

    Example:
        >>> random_positions(3, 3)
        tensor([0, 1, 2])
    """
    priorities = torch.rand(num_positions, generator=generator, device=device)
    return chosen_positions(priorities, length)


def rotated(x: Tensor, positions: Tensor, share: float = 1.0) -> Tensor:
    """Turn pairs of channels by angles that grow with the position (su2021).

    Products of what is rotated depend on the distance of the positions alone.

    Args:
        x: Queries or keys; an even number of channels is turned.
        positions: Of the columns.
        share: Of the channels that are turned; the others, behind them, are left as they are.

    Shape:
        x (..., seq, channel), positions (seq,) -> as x.

    Example:
        >>> x = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
        >>> rotated(x, torch.tensor([0, 1]))
        tensor([[1.0000, 0.0000],
                [0.5403, 0.8415]])
    """
    num_turned = 2 * int(share * x.shape[-1] / 2)
    kept = x[..., num_turned:]
    waves = sinusoidal_encoding(positions, num_turned, x.dtype)
    sine, cosine = waves[..., 0::2], waves[..., 1::2]
    first, second = x[..., 0:num_turned:2], x[..., 1:num_turned:2]
    turned = (first * cosine - second * sine, first * sine + second * cosine)
    return torch.cat((torch.stack(turned, -1).flatten(-2), kept), -1)
