"""sNMU, the stochastic neural multiplication unit (Mistry et al., 2022).

An NMU that, in training, multiplies each input by noise and divides the output by what the noise
alone would give: discrete weights are not disturbed, all others are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.functional.descriptions import sizes_text
from wug.functional.discrete import SELECTION
from wug.functional.expressions import input_symbols, numbers
from wug.functional.initialise import fill_uniform
from wug.functional.weighted_sum import gated_product

SMALLEST_DEVIATION = 1e-6


@register(
    "unit",
    name="sNMU",
    references=("mistryrobust2022",),
    equation=r"m_o = \prod_i \frac{W_{i,o}\, n_i x_i + 1 - W_{i,o}}{W_{i,o}\, n_i + 1 - W_{i,o}}, "
    r"\qquad W_{i,o} \in [0, 1], \quad n_i \sim U(1, 5) \text{ in training, } 1 \text{ else}",
    operations=("mul",),
    failure_modes=(
        "It can't divide.",
        "In a loop of your own, two trainings with the same initial weights and data differ unless "
        "torch's random state is set.",
        "Batch noise is huge where a batch hardly varies.",
    ),
)
class SNMU(nn.Module):
    """Product of the inputs that its weights select, under reversible noise in training.

    Equation (mistryrobust2022, as in the authors' code): m_o = prod_i (W_io n_i x_i + 1 - W_io) /
    prod_i (W_io n_i + 1 - W_io), W clamped to [0, 1], n uniform and drawn anew for each number in
    x; n = 1 in evaluation, which is the NMU. Penalty mean(min(|W|, |1 - W|)).

    Notation:
        W -> weight, n -> noise.

    Departures:
        x is not written to (the authors' code multiplies it in place). The deviation that bounds
        batch noise is at least 1e-6, so that a constant batch is not divided by 0.

    Args:
        in_features: Number of inputs.
        out_features: Number of outputs.
        noise: ``"fixed"``: U(noise_low, noise_high); ``"batch"``: U(1, 1 + 1 / std(x)) with the
            standard deviation of all numbers in x, through which no gradient flows.
        noise_low: Lower bound of fixed noise.
        noise_high: Upper bound of fixed noise.
        generator: Source of the initial weights; noise comes from torch's own random state.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Example:
        >>> snmu = SNMU(3, 1)
        >>> _ = snmu.load_state_dict({"weight": torch.tensor([[1.0, 1.0, 0.0]])})
        >>> x = torch.tensor([-2.0, 3.0, 7.0])
        >>> round(snmu(x).item(), 4), snmu.eval()(x).item()
        (-6.0, -6.0)

    References:
        mistryrobust2022, madsen2020
    """

    discrete = {"weight": SELECTION}

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        noise: Literal["fixed", "batch"] = "fixed",
        noise_low: float = 1.0,
        noise_high: float = 5.0,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("SNMU", "in_features", in_features, 1)
        require_at_least("SNMU", "out_features", out_features, 1)
        require_choice("SNMU", "noise", noise, ("fixed", "batch"))
        require_at_least("SNMU", "noise_low", noise_low, 1)
        require_at_least("SNMU", "noise_high", noise_high, noise_low)
        self.in_features, self.out_features = in_features, out_features
        self.noise, self.noise_low, self.noise_high = noise, noise_low, noise_high
        self.weight = nn.Parameter(
            torch.empty(out_features, in_features, device=device, dtype=dtype)
        )
        self.reset_parameters(generator)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return sizes_text(self)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        fill_uniform(self.weight, 0.25, 0.75, generator)

    def draw_noise(self, x: Tensor) -> Tensor:
        """Draw one number for each in x."""
        if self.noise == "fixed":
            return self.noise_low + (self.noise_high - self.noise_low) * torch.rand_like(x)
        if x.numel() < 2:
            raise UserError(
                f"SNMU: batch noise needs two or more numbers in x; got {x.numel()}. "
                'Call eval() first, or use noise="fixed".'
            )
        deviation = x.detach().std().clamp(min=SMALLEST_DEVIATION)
        return 1 + torch.rand_like(x) / deviation

    def disturbed(self, x: Tensor, noise: Tensor) -> Tensor:
        """Multiply the inputs by noise and take its effect out of the product."""
        return gated_product(x * noise, self.weight) / gated_product(noise, self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Compute the gated products."""
        if self.training:
            return self.disturbed(x, self.draw_noise(x))
        return gated_product(x, self.weight)

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Mean distance of the weights to 0 and 1."""
        weight = params["weight"]
        return torch.minimum(weight.abs(), (1 - weight).abs()).mean()

    def project(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Clamp the weights to [0, 1]."""
        return {"weight": params["weight"].clamp(0, 1)}

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the effective weights, which spell the formula."""
        return {"weight": params["weight"]}

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per output, as in evaluation."""
        import sympy

        x = input_symbols(names, self.in_features)
        return [
            sympy.prod(w * x_i + 1 - w for w, x_i in zip(row, x, strict=True))
            for row in numbers(self.weight)
        ]

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return what happened inside: the noise (1 in evaluation) and the output under it."""
        if not self.training:
            return {"noise": torch.ones_like(x), "output": self(x)}
        noise = self.draw_noise(x)
        return {"noise": noise, "output": self.disturbed(x, noise)}
