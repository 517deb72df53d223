"""Experts that compete: a softmax before or after the choice of K of them.

The usual mixture that csordas2023 compares sigma-MoE with, and what footnote 4 there is about.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import require_choice
from wug.core.registry import register
from wug.functional.balance import entropy_loss
from wug.functional.experts.backends import BackendName
from wug.functional.initialise import fill_equal_rows
from wug.functional.routing import precise, select_experts
from wug.layers._mixture import MixtureOfExperts, Routing, check_sizes


class SoftmaxRouter(nn.Module):
    """Chooses the experts with the largest probabilities.

    Args as for `SoftmaxMoE`.
    """

    def __init__(
        self,
        features: int,
        num_experts: int,
        top_k: int,
        *,
        softmax: Literal["before", "after"] = "before",
        route_norm: bool = False,
        deviation: float = 1.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_choice("SoftmaxMoE", "softmax", softmax, ("before", "after"))
        self.top_k, self.softmax, self.route_norm = top_k, softmax, route_norm
        self.deviation = deviation
        self.weight = nn.Parameter(torch.empty(num_experts, features, device=device, dtype=dtype))

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw rows of equal length."""
        fill_equal_rows(self.weight, self.deviation, generator)

    def forward(self, x: Tensor, valid: Tensor | None = None) -> Routing:
        """Choose the experts of all tokens."""
        logits = precise(F.linear(x, self.weight))
        if self.softmax == "before":
            probabilities = logits.softmax(-1)
            index, weight = select_experts(probabilities, self.top_k, route_norm=self.route_norm)
        else:
            index, chosen = select_experts(logits, self.top_k)
            weight = chosen.softmax(-1)
        return Routing(index, weight, logits, {"entropy": entropy_loss(logits, valid)})


@register(
    "layer",
    name="Softmax MoE",
    references=("csordas2023",),
    equation=r"y = \sum_{e \in \mathcal{E}_x} W_2^e\, s[e] \max(W_1^e x, 0), \qquad "
    r"s = \mathrm{softmax}(W_3 x), \quad \mathcal{E}_x = \arg\mathrm{topk}(s, K)",
    failure_modes=(
        "Worse than sigmoids at every size that csordas2023 tried (table F.4).",
        "Renormalised, it leaves most of 128 experts unused (csordas2023, figure 7.3).",
    ),
    interface="columns",
)
class SoftmaxMoE(MixtureOfExperts):
    """Mixture of experts chosen by a softmax, over all experts or over the chosen ones.

    Equation (csordas2023, Eqs. 7.11 and F.1-F.3): y = sum_{e in E_x} W_2^e s[e] max(W_1^e x, 0),
    s = softmax(W_3 x), E_x = arg topk(s, K); renormalised, s[e] is divided by the sum over E_x,
    which is the same as a softmax after the choice (footnote 4).

    Notation:
        W_1, W_2 -> weight_in, weight_out, W_3 -> router.weight, N_E -> num_experts, G ->
        expert_features, K -> top_k, norm topk -> route_norm.

    Departures:
        None: initial weights and the term entropy are those of sigma-MoE, as in its ablations.

    Args:
        features: Number of features of a token.
        num_experts: Number of experts.
        expert_features: Number of hidden units of an expert.
        top_k: Number of experts for a token.
        softmax: ``"before"`` the choice, over all experts, or ``"after"`` it, over the chosen ones.
        route_norm: Whether the weights of a token's experts are divided by their sum; after the
            choice they sum to 1 anyway.
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
        x (..., features), valid (...) -> an `Output`, answer (..., features), term entropy.

    Raises:
        UserError: For sizes below 1, more choices than experts, or unknown names.

    Example:
        >>> layer = SoftmaxMoE(8, num_experts=6, expert_features=4, top_k=2, route_norm=True)
        >>> round(layer.route(torch.ones(1, 8)).weight.sum().item(), 5)
        1.0

    References:
        csordas2023
    """

    def __init__(
        self,
        features: int,
        *,
        num_experts: int = 16,
        expert_features: int = 128,
        top_k: int = 4,
        softmax: Literal["before", "after"] = "before",
        route_norm: bool = False,
        num_layers: int = 1,
        activation: Literal["relu", "gelu"] = "relu",
        dropout: float = 0.0,
        top_units: int | None = None,
        backend: BackendName = "auto",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        check_sizes("SoftmaxMoE", features, num_experts, expert_features, top_k)
        hidden = num_experts * expert_features
        first, second = ((2 / (fan * num_layers)) ** 0.5 for fan in (features, hidden))
        router = SoftmaxRouter(
            features, num_experts, top_k, softmax=softmax, route_norm=route_norm, deviation=first,
            device=device, dtype=dtype,
        )  # fmt: skip
        super().__init__(
            features, router=router, deviations=(first, second),
            num_experts=num_experts, expert_features=expert_features,
            activation=activation, dropout=dropout, top_units=top_units, backend=backend,
            generator=generator, device=device, dtype=dtype,
        )  # fmt: skip
