"""A plain convolutional network (Csordás et al., 2021): convolutions, their mean, one layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import require_at_least
from wug.core.registry import register
from wug.functional.initialise import fill_uniform, kaiming_bound, xavier_bound
from wug.functional.pictures import side_of, squares
from wug.functional.streams import dropout


@register(
    "model",
    name="Simple CNN",
    references=("csordas2023",),
    equation=r"h_l = \mathrm{pool}(\mathrm{relu}(W_l * h_{l-1} + b_l)), \qquad y = V \bar h + d",
    failure_modes=("It knows pictures of one size and orientation.",),
    interface="numbers",
)
class SimpleCNN(nn.Module):
    """Convolutions of 3 x 3 with pooling between them, the mean over the picture, and a read-out.

    Equation (csordas2023, table B.4): h_l = pool(relu(W_l * h_(l-1) + b_l)), y = V mean(h_4) + d.

    Notation:
        W_l -> kernels.l, b_l -> biases.l, V -> weight, d -> bias.

    Departures:
        Pictures come as rows of numbers, channel by channel; those that are no square are filled
        up with zeros. Pooling rounds sizes up, which changes nothing at the paper's 32 x 32.

    Args:
        in_features: Numbers of a picture, all channels together.
        out_features: Number of outputs.
        channels: Of the picture.
        widths: Channels of the convolutions.
        dropout: After the last two convolutions; the paper's networks without have (0, 0).
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Raises:
        UserError: A size is below 1.

    Example:
        >>> SimpleCNN(28 * 28, 10, widths=(4, 4, 8, 8))(torch.ones(5, 28 * 28)).shape
        torch.Size([5, 10])

    References:
        csordas2023
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        channels: int = 1,
        widths: Sequence[int] = (32, 64, 128, 256),
        dropout: tuple[float, float] = (0.25, 0.5),
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        for name, size in (
            ("in_features", in_features), ("out_features", out_features), ("channels", channels),
            ("number of widths", len(widths)), *(("widths", width) for width in widths),
        ):  # fmt: skip
            require_at_least("SimpleCNN", name, size, 1)
        self.in_features, self.out_features, self.channels = in_features, out_features, channels
        self.side = side_of("SimpleCNN", in_features, channels)
        self.dropout = (*(0.0,) * (len(widths) - 2), *dropout)[-len(widths) :]
        options: Any = {"device": device, "dtype": dtype}
        fans_in = (channels, *widths[:-1])
        self.kernels = nn.ParameterList(
            torch.empty(out, fan, 3, 3, **options) for fan, out in zip(fans_in, widths, strict=True)
        )
        self.biases = nn.ParameterList(torch.empty(out, **options) for out in widths)
        self.weight = nn.Parameter(torch.empty(out_features, widths[-1], **options))
        self.bias = nn.Parameter(torch.empty(out_features, **options))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        for kernel, bias in zip(self.kernels, self.biases, strict=True):
            bound = kaiming_bound(kernel[0].numel())
            fill_uniform(kernel, -bound, bound, generator)
            nn.init.zeros_(bias)
        bound = xavier_bound(self.weight.shape[1], self.out_features)
        fill_uniform(self.weight, -bound, bound, generator)
        nn.init.zeros_(self.bias)

    def features(self, x: Tensor) -> Tensor:
        """Return the mean over the picture of what the last convolution finds."""
        lead = x.shape[:-1]
        x = squares(x, self.channels, self.side)
        layers = zip(self.kernels, self.biases, self.dropout, strict=True)
        for index, (kernel, bias, rate) in enumerate(layers):
            x = dropout(F.relu(F.conv2d(x, kernel, bias, padding=1)), rate, self.training)
            if index < len(self.biases) - 1:
                x = F.max_pool2d(x, 2, ceil_mode=True)
        return x.mean((-1, -2)).reshape(*lead, -1)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits of the classes."""
        return F.linear(self.features(x), self.weight, self.bias)

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return the features and the logits."""
        return {"features": self.features(x), "output": self(x)}
