"""Sparsely gated mixture of experts (Shazeer et al., 2017): noise decides who else is tried."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.registry import register
from wug.functional.balance import variation_loss
from wug.functional.experts.backends import BackendName
from wug.functional.initialise import fill_normal
from wug.functional.routing import precise, select_experts
from wug.layers._mixture import MixtureOfExperts, Routing, check_sizes


class NoisyRouter(nn.Module):
    """Chooses experts by noisy logits (csordas2023, before Eq. 7.13).

    Args as for `SparselyGatedMoE`.
    """

    def __init__(
        self,
        features: int,
        num_experts: int,
        top_k: int,
        *,
        deviation: float = 1.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.top_k, self.deviation = top_k, deviation
        empty = torch.empty(num_experts, features, device=device, dtype=dtype)
        self.weight = nn.Parameter(empty)
        self.weight_noise = nn.Parameter(torch.empty_like(empty))

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        for weight in (self.weight, self.weight_noise):
            fill_normal(weight, 0.0, self.deviation, generator)

    def forward(self, x: Tensor, valid: Tensor | None = None) -> Routing:
        """Choose the experts of all tokens."""
        logits = noisy = precise(F.linear(x, self.weight))
        if self.training:
            size = F.softplus(precise(F.linear(x, self.weight_noise)))
            noisy = logits + size * torch.randn_like(logits)
        index, weight = select_experts(noisy.softmax(-1), self.top_k, route_norm=True)
        weights = torch.zeros_like(logits).scatter(-1, index, weight)
        return Routing(index, weight, logits, {"variation": variation_loss(weights, valid)})


@register(
    "layer",
    name="Sparsely gated MoE",
    references=("shazeer2017", "csordas2023"),
    equation=r"s = \mathrm{norm\,topk}\left(\mathrm{softmax}\left(W_3 x + \mathcal{N}(0, 1) \cdot "
    r"\log(1 + e^{W_4 x})\right)\right), \qquad L = \mathrm{CV}\Big(\sum_x s\Big)",
    failure_modes=("Without its loss a few experts take all tokens (shazeer2017, section 4).",),
    interface="columns",
)
class SparselyGatedMoE(MixtureOfExperts):
    """Mixture of experts chosen by noisy logits, balanced by the variation of their weights.

    Equation (csordas2023, Eqs. 7.11 and 7.13): y = sum_{e in E_x} W_2^e s[e] max(W_1^e x, 0),
    s = norm topk(softmax(W_3 x + N(0, 1) softplus(W_4 x))). The objective's term variation is
    CV(sum_x s), the deviation over experts divided by their mean.

    Notation:
        W_1, W_2 -> weight_in, weight_out, W_3, W_4 -> router.weight, router.weight_noise, N_E ->
        num_experts, G -> expert_features, K -> top_k.

    Departures:
        csordas2023 prints CV as mean / deviation; here it is deviation / mean, as shazeer2017
        means. Noise is for training only. Initial weights as for experts by themselves.

    Args:
        features: Number of features of a token.
        num_experts: Number of experts.
        expert_features: Number of hidden units of an expert.
        top_k: Number of experts for a token.
        num_layers: Layers of the network: the more, the smaller the initial weights.
        activation: ``"relu"`` or ``"gelu"``.
        dropout: Share of the hidden units that are dropped in training.
        top_units: How many hidden units of all of a token's experts are kept, the largest; all of
            them by default.
        backend: How products are computed: ``"auto"``, ``"loop"``, ``"blockwise"``, ``"grouped"``
            or ``"triton"``.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        x (..., features), valid (...) -> an `Output`, answer (..., features), term variation.

    Raises:
        UserError: For sizes below 1, more choices than experts, or unknown names.

    Example:
        >>> layer = SparselyGatedMoE(8, num_experts=6, expert_features=4, top_k=2)
        >>> sorted(layer(torch.ones(1, 3, 8)).terms)
        ['variation']

    References:
        shazeer2017, csordas2023
    """

    def __init__(
        self,
        features: int,
        *,
        num_experts: int = 16,
        expert_features: int = 128,
        top_k: int = 4,
        num_layers: int = 1,
        activation: Literal["relu", "gelu"] = "relu",
        dropout: float = 0.0,
        top_units: int | None = None,
        backend: BackendName = "auto",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        check_sizes("SparselyGatedMoE", features, num_experts, expert_features, top_k)
        first, second = ((2 / (fan * num_layers)) ** 0.5 for fan in (features, expert_features))
        router = NoisyRouter(
            features, num_experts, top_k, deviation=first, device=device, dtype=dtype
        )
        super().__init__(
            features, router=router, deviations=(first, second),
            num_experts=num_experts, expert_features=expert_features,
            activation=activation, dropout=dropout, top_units=top_units, backend=backend,
            generator=generator, device=device, dtype=dtype,
        )  # fmt: skip
