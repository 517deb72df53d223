"""Pictures that come as rows of numbers, channel by channel."""

from __future__ import annotations

import math

import torch.nn.functional as F
from torch import Tensor

from wug.core.errors import UserError


def side_of(name: str, in_features: int, channels: int) -> int:
    """Return the side of the least square that holds a channel.

    Args:
        name: Who asks.
        in_features: Numbers of a picture, all channels together.
        channels: Of the picture.

    Raises:
        UserError: The numbers can't be shared out evenly.

    Example:
        >>> side_of("CNN", 3 * 64, 3), side_of("CNN", 10, 1)
        (8, 4)
    """
    if in_features % channels:
        raise UserError(
            f"{name}: in_features must be a multiple of channels; got {in_features} and {channels}."
        )
    return math.ceil(math.sqrt(in_features // channels))


def squares(x: Tensor, channels: int, side: int) -> Tensor:
    """Return rows of numbers as square pictures, each channel filled up with zeros at its end.

    Args:
        x: The rows.
        channels: Of a picture.
        side: Of the square.

    Shape:
        x (..., number) -> (picture, channels, side, side).
    """
    apart = x.reshape(-1, channels, x.shape[-1] // channels)
    return F.pad(apart, (0, side**2 - apart.shape[-1])).view(-1, channels, side, side)
