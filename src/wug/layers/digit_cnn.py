"""A small convolutional network in front of an arithmetic unit (LeCun et al., 1998).

The one that madsen2020 puts in front of its recurrent units, to make numbers of handwritten digits.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import UserError, require_at_least
from wug.core.registry import register
from wug.functional.initialise import fill_uniform

KERNEL = 5
# Of the smallest picture that two convolutions and two poolings leave something of.
SMALLEST_SIDE = 16
# Pictures that go through at once.
PART = 64
# Mean and deviation of MNIST's pixels.
MEAN, DEVIATION = 0.1307, 0.3081


@register(
    "layer",
    name="Digit CNN",
    references=("madsen2020", "lecun1998"),
    equation=r"h_l = \mathrm{relu}(\mathrm{pool}(W_l * h_{l-1}) + b_l),\; l = 1, 2, \qquad "
    r"z = V\,\mathrm{relu}(U h_2 + c) + d",
    failure_modes=(
        "Nothing bounds its numbers: behind a unit they mean what the unit makes them.",
    ),
)
class DigitCNN(nn.Module):
    """Two convolutions of 5 x 5 with pooling, and two layers that make numbers of a picture.

    Equation (madsen2020, section 4.2 names it): h_l = relu(pool(W_l * h_(l-1)) + b_l) for l = 1, 2,
    z = V relu(U h_2 + c) + d.

    Notation:
        W_l -> kernels.l, b_l -> kernel_biases.l, U and V -> weights.0 and weights.1, c and d ->
        biases.0 and biases.1.

    Departures:
        Pictures come as rows of numbers between 0 and 1 and are standardised with MNIST's mean and
        deviation; those that are no square, or smaller than 16 x 16, are filled up with zeros.
        Pooling comes before the bias and the rectifier, which gives the same numbers in less time.

    Args:
        in_features: Numbers of a picture.
        out_features: Numbers that are made of it.
        channels: Of the two convolutions.
        hidden_features: Of the layer below the last.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Raises:
        UserError: A size is below 1, or a picture has another size.

    Example:
        >>> DigitCNN(28 * 28, 1)(torch.ones(2, 7, 28 * 28)).shape
        torch.Size([2, 7, 1])

    References:
        madsen2020, lecun1998
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        channels: tuple[int, int] = (20, 50),
        hidden_features: int = 500,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        for name, size in (
            ("in_features", in_features), ("out_features", out_features),
            ("hidden_features", hidden_features), *(("channels", size) for size in channels),
        ):  # fmt: skip
            require_at_least("DigitCNN", name, size, 1)
        self.in_features, self.out_features = in_features, out_features
        self.side = max(math.ceil(math.sqrt(in_features)), SMALLEST_SIDE)
        left = self.side
        for _ in channels:
            left = (left - KERNEL + 1) // 2
        options: Any = {"device": device, "dtype": dtype}
        first, second = channels
        sizes = (second * left**2, hidden_features, out_features)
        self.kernels = nn.ParameterList(
            torch.empty(out, fan, KERNEL, KERNEL, **options) for fan, out in ((1, first), channels)
        )
        self.kernel_biases = nn.ParameterList(torch.empty(out, **options) for out in channels)
        self.weights = nn.ParameterList(
            torch.empty(out, fan, **options) for fan, out in zip(sizes, sizes[1:], strict=False)
        )
        self.biases = nn.ParameterList(torch.empty(out, **options) for out in sizes[1:])
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights, as torch's own layers do."""
        for weights, biases in ((self.kernels, self.kernel_biases), (self.weights, self.biases)):
            for weight, bias in zip(weights, biases, strict=True):
                bound = weight[0].numel() ** -0.5
                fill_uniform(weight, -bound, bound, generator)
                fill_uniform(bias, -bound, bound, generator)

    def forward(self, x: Tensor) -> Tensor:
        """Make numbers of pictures."""
        if x.shape[-1] != self.in_features:
            raise UserError(
                f"DigitCNN: a picture must have {self.in_features} numbers; got {x.shape[-1]}."
            )
        rows = x.reshape(-1, self.in_features)
        # What fits a processor's cache is faster, and is not given back to the system each time.
        parts = rows.split(PART) if x.device.type == "cpu" else (rows,)
        numbers = torch.cat([self.read(part) for part in parts])
        return numbers.view(*x.shape[:-1], self.out_features)

    def read(self, rows: Tensor) -> Tensor:
        """Make numbers of some pictures, (picture, in_features)."""
        h = (rows - MEAN) / DEVIATION
        if missing := self.side**2 - self.in_features:
            h = F.pad(h, (0, missing))
        # Channels lie side by side in memory: on a processor almost twice as fast.
        h = h.view(-1, self.side, self.side, 1).permute(0, 3, 1, 2)
        for kernel, bias in zip(self.kernels, self.kernel_biases, strict=True):
            kernel = kernel.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
            h = (F.max_pool2d(F.conv2d(h, kernel), 2) + bias[:, None, None]).relu()
        # Flattened as it lies in memory, and so its gradient does, too.
        h = F.linear(h.permute(0, 2, 3, 1).flatten(1), self.weights[0], self.biases[0]).relu()
        return F.linear(h, self.weights[1], self.biases[1])
