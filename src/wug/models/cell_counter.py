"""A convolutional network that counts, with a unit beside its convolutions (Rana et al., 2020).

Convolutions turn a picture into a density, whose sum is the count. A unit may see what they see and
add what it computes to the features that the density is read from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core import index
from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.functional.initialise import fill_uniform
from wug.functional.network_rules import inside

READ_OUTS = ("density", "dense")
KERNEL = 3
UNIT = "unit."


@register(
    "model",
    name="Cell counter",
    interface="numbers",
    references=("rana2020", "mistry2022"),
    equation=r"y = \sum_p v \cdot [h_p, f(h_p)] + c, \qquad h = \mathrm{CNN}(x)",
    failure_modes=(
        "Cells that lie on each other look like one: beyond some density no sum of places counts.",
        "A dense read-out knows how many cells there were in training, and hardly more.",
    ),
)
class CellCounter(nn.Module):
    """The number of objects on a picture, as the sum of a density.

    Equation (mistry2022, section 8 names the idea): y = sum over places p of (v . [h_p, f(h_p)] +
    c) with h two convolutions of 3 x 3, pooling between them.

    Notation:
        f -> unit, v and c -> weight and bias, h -> kernels and kernel_biases.

    Departures:
        The paper adds units to a U-Net and to a fully convolutional regression network and trains
        on density maps; this network is small and learns from counts alone.

    Args:
        in_features: Numbers of a picture.
        out_features: Number of outputs.
        unit: Key of a unit whose outputs are concatenated to its inputs; None for convolutions
            alone.
        read_out: ``"density"`` sums over places; ``"dense"`` has a weight for every place.
        channels: Of both convolutions.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Raises:
        UserError: For an unknown unit or read-out, a size below 1, or a picture of another size.

    Example:
        >>> CellCounter(32 * 32, 1, unit="nau")(torch.ones(5, 32 * 32)).shape
        torch.Size([5, 1])

    References:
        rana2020, mistry2022
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        unit: str | None = None,
        read_out: str = "density",
        channels: int = 12,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_choice("CellCounter", "read_out", read_out, READ_OUTS)
        for name, size in (
            ("in_features", in_features), ("out_features", out_features), ("channels", channels),
        ):  # fmt: skip
            require_at_least("CellCounter", name, size, 1)
        self.in_features, self.out_features, self.read_out = in_features, out_features, read_out
        self.side = max(math.ceil(math.sqrt(in_features)), 2)
        options: Any = {"device": device, "dtype": dtype}
        self.kernels = nn.ParameterList(
            torch.empty(channels, fan, KERNEL, KERNEL, **options) for fan in (1, channels)
        )
        self.kernel_biases = nn.ParameterList(torch.empty(channels, **options) for _ in range(2))
        self.unit: Any = None
        if unit is not None:
            self.unit = index.get("unit", unit)(channels, channels, generator=generator, **options)
        seen = channels * (1 if unit is None else 2)
        places = (self.side // 2) ** 2 if read_out == "dense" else 1
        self.weight = nn.Parameter(torch.empty(out_features, places * seen, **options))
        self.bias = nn.Parameter(torch.empty(out_features, **options))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights, as torch's own layers do."""
        pairs = [*zip(self.kernels, self.kernel_biases, strict=True), (self.weight, self.bias)]
        for weight, bias in pairs:
            bound = weight[0].numel() ** -0.5
            fill_uniform(weight, -bound, bound, generator)
            fill_uniform(bias, -bound, bound, generator)
        if self.unit is not None:
            self.unit.reset_parameters(generator)

    def features(self, x: Tensor) -> Tensor:
        """Return what is seen at every place, (..., place, feature)."""
        if x.shape[-1] != self.in_features:
            raise UserError(
                f"CellCounter: a picture must have {self.in_features} numbers; got {x.shape[-1]}."
            )
        h = F.pad(x.reshape(-1, self.in_features), (0, self.side**2 - self.in_features))
        h = h.view(-1, 1, self.side, self.side)
        first, second = self.kernels
        h = F.max_pool2d(F.conv2d(h, first, self.kernel_biases[0], padding=1).relu(), 2)
        h = F.conv2d(h, second, self.kernel_biases[1], padding=1).relu().flatten(2).mT
        if self.unit is not None:
            h = torch.cat((h, self.unit(h)), -1)
        return h.view(*x.shape[:-1], *h.shape[-2:])

    def density(self, features: Tensor) -> Tensor:
        """Return what every place adds to the count, (..., place, out)."""
        return F.linear(features, self.weight, self.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Count."""
        features = self.features(x)
        if self.read_out == "dense":
            return F.linear(features.flatten(-2), self.weight, self.bias)
        return self.density(features).sum(-2)

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Return the penalty of the unit, 0 if it has none."""
        if not hasattr(self.unit, "penalty"):
            return next(iter(params.values())).new_zeros(())
        found: Tensor = self.unit.penalty(inside(params, UNIT))
        return found

    def project(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Clamp the weights of the unit, if it does that."""
        if not hasattr(self.unit, "project"):
            return dict(params)
        projected = self.unit.project(inside(params, UNIT))
        return {**params, **{f"{UNIT}{name}": value for name, value in projected.items()}}

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return what is seen at every place, what it adds, and the count."""
        features = self.features(x)
        found = {"features": features, "output": self(x)}
        if self.read_out == "density":
            found["density"] = self.density(features)
        return found
