"""A residual network for small pictures (He et al., 2016): blocks that add to what they are given.

Three stages of blocks of two convolutions; from stage to stage pictures halve and channels double.
With 18 blocks in each stage it has 110 layers, the network of csordas2023, figure B.13.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import UserError, require_at_least
from wug.core.registry import register
from wug.functional.initialise import fill_normal, fill_uniform, xavier_bound
from wug.functional.output import Output
from wug.functional.pictures import side_of, squares

# By how much running statistics move towards those of a batch, as in torch.
MOMENTUM = 0.1


def batch_norm(x: Tensor, weight: Tensor, bias: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    """Normalise channels by some statistics, then scale and shift them."""
    scale = weight * (variance + 1e-5).rsqrt()
    return x * scale.view(-1, 1, 1) + (bias - mean * scale).view(-1, 1, 1)


@register(
    "model",
    name="ResNet",
    references=("csordas2023", "he2016"),
    equation=r"h_{l+1} = \mathrm{relu}(S_l h_l + N(W'_l * \mathrm{relu}(N(W_l * h_l)))), \qquad "
    r"y = V \bar h + d",
    failure_modes=("Its running statistics are those of training; other pictures need others.",),
    interface="numbers",
)
class ResNet(nn.Module):
    """A first convolution, three stages of residual blocks, the mean over the picture, a read-out.

    `forward` returns the sums that batch normalisation needs and changes nothing; `update` moves
    the running statistics, which are used in evaluation.

    Equation (he2016, Sec. 4.2): h_(l+1) = relu(S_l h_l + N(W'_l * relu(N(W_l * h_l)))), y =
    V mean(h) + d, N batch normalisation.

    Notation:
        W, S -> kernels (S is a kernel of 1 x 1 where sizes change, else 1), N -> scales, shifts,
        means and variances, V -> weight, d -> bias.

    Departures:
        As in the code that csordas2023 names, a convolution of 1 x 1 with batch normalisation takes
        the place of he2016's padding where channels double. Pictures come as rows of numbers,
        channel by channel; channels that are no square are filled up with zeros.

    Args:
        in_features: Numbers of a picture, all channels together.
        out_features: Number of outputs.
        channels: Of the picture.
        depth: Number of layers, 6 n + 2.
        widths: Channels of the stages.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (row, in_features) -> (row, out_features).

    Raises:
        UserError: A size is below 1, the depth is not 6 n + 2, or channels are of several sizes.

    Example:
        >>> ResNet(64, 10, depth=8, widths=(4, 4, 8)).eval()(torch.ones(5, 64)).answer.shape
        torch.Size([5, 10])

    References:
        csordas2023, he2016
    """

    stackable = False

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        channels: int = 1,
        depth: int = 110,
        widths: Sequence[int] = (16, 32, 64),
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        for name, size in (
            ("in_features", in_features), ("out_features", out_features), ("channels", channels),
            ("number of widths", len(widths)), *(("widths", width) for width in widths),
        ):  # fmt: skip
            require_at_least("ResNet", name, size, 1)
        if depth < 8 or depth % 6 != 2:
            raise UserError(f"ResNet: depth must be 6 n + 2, such as 20 or 110; got {depth}.")
        self.in_features, self.out_features, self.channels = in_features, out_features, channels
        self.side = side_of("ResNet", in_features, channels)
        self.num_blocks = (depth - 2) // 6
        shapes = [(widths[0], channels, 3)]
        fan = widths[0]
        for width in widths:
            for _ in range(self.num_blocks):
                shapes += [(width, fan, 3), (width, width, 3)]
                shapes += [(width, fan, 1)] if width != fan else []
                fan = width
        options: Any = {"device": device, "dtype": dtype}
        self.kernels = nn.ParameterList(
            torch.empty(out, inner, size, size, **options) for out, inner, size in shapes
        )
        outs = [out for out, _, _ in shapes]
        self.scales = nn.ParameterList(torch.empty(out, **options) for out in outs)
        self.shifts = nn.ParameterList(torch.empty(out, **options) for out in outs)
        for index, out in enumerate(outs):
            self.register_buffer(f"mean_{index}", torch.zeros(out, **options))
            self.register_buffer(f"variance_{index}", torch.ones(out, **options))
        self.weight = nn.Parameter(torch.empty(out_features, widths[-1], **options))
        self.bias = nn.Parameter(torch.empty(out_features, **options))
        self.widths = tuple(widths)
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        for kernel, scale, shift in zip(self.kernels, self.scales, self.shifts, strict=True):
            out, _, size, _ = kernel.shape
            fill_normal(kernel, 0.0, math.sqrt(2 / (out * size**2)), generator)
            nn.init.ones_(scale)
            nn.init.zeros_(shift)
        bound = xavier_bound(self.weight.shape[1], self.out_features)
        fill_uniform(self.weight, -bound, bound, generator)
        nn.init.zeros_(self.bias)

    def _convolve(self, x: Tensor, index: int, stride: int, sums: dict[str, Tensor]) -> Tensor:
        """Convolve and normalise; add the sums over the batch to what `update` gets."""
        kernel = self.kernels[index]
        x = F.conv2d(x, kernel, stride=stride, padding=kernel.shape[-1] // 2)
        mean, variance = getattr(self, f"mean_{index}"), getattr(self, f"variance_{index}")
        if self.training:
            variance, mean = torch.var_mean(x, (0, 2, 3), correction=0)
            places = x.numel() // x.shape[1]
            with torch.no_grad():
                sums[f"sum_{index}"] = mean * places
                sums[f"squares_{index}"] = (variance + mean**2) * places
                sums[f"places_{index}"] = mean.new_full((), places)
        return batch_norm(x, self.scales[index], self.shifts[index], mean, variance)

    def features(self, x: Tensor, sums: dict[str, Tensor]) -> Tensor:
        """Return the mean over the picture of what the last block finds."""
        x = F.relu(self._convolve(squares(x, self.channels, self.side), 0, 1, sums))
        index = 1
        for stage in range(len(self.widths)):
            for block in range(self.num_blocks):
                stride = 2 if stage and not block else 1
                inside = F.relu(self._convolve(x, index, stride, sums))
                inside = self._convolve(inside, index + 1, 1, sums)
                index += 2
                if x.shape[1] != inside.shape[1]:
                    x = self._convolve(x, index, stride, sums)
                    index += 1
                elif stride > 1:
                    x = x[..., ::stride, ::stride]
                x = F.relu(x + inside)
        return x.mean((-1, -2))

    def forward(self, x: Tensor) -> Output:
        """Return the logits of the classes."""
        sums: dict[str, Tensor] = {}
        found = self.features(x, sums)
        return Output(F.linear(found, self.weight, self.bias), statistics=sums)

    def update(
        self, buffers: Mapping[str, Tensor], statistics: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """Move the running statistics towards those of a step."""
        found = {}
        for index in range(len(self.kernels)):
            places = statistics[f"places_{index}"]
            mean = statistics[f"sum_{index}"] / places
            # Rounding may leave less than nothing of channels that hardly vary.
            variance = (statistics[f"squares_{index}"] / places - mean**2).clamp(min=0)
            variance = variance * places / (places - 1).clamp(min=1)
            for name, value in ((f"mean_{index}", mean), (f"variance_{index}", variance)):
                found[name] = torch.lerp(buffers[name], value, MOMENTUM)
        return found

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return the features and the logits."""
        features = self.features(x, {})
        return {"features": features, "output": F.linear(features, self.weight, self.bias)}
