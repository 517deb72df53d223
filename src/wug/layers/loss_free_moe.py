"""Balance without a loss (Wang et al., 2024): a bias in the choice that follows the loads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import require_choice
from wug.core.registry import register
from wug.functional.balance import balanced_bias, expert_loads
from wug.functional.experts.backends import BackendName
from wug.functional.initialise import fill_normal
from wug.functional.routing import precise, select_experts
from wug.layers._mixture import MixtureOfExperts, Routing, check_sizes


class LossFreeRouter(nn.Module):
    """Chooses experts by scores plus biases, and weighs them by scores alone.

    Args as for `LossFreeMoE`.
    """

    expert_bias: Tensor

    def __init__(
        self,
        features: int,
        num_experts: int,
        top_k: int,
        *,
        score_func: Literal["sigmoid", "softmax"] = "sigmoid",
        route_norm: bool = False,
        route_scale: float = 1.0,
        load_balance_coeff: float = 1e-3,
        deviation: float = 1.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_choice("LossFreeMoE", "score_func", score_func, ("sigmoid", "softmax"))
        self.top_k, self.score_func = top_k, score_func
        self.route_norm, self.route_scale = route_norm, route_scale
        self.load_balance_coeff, self.deviation = load_balance_coeff, deviation
        self.weight = nn.Parameter(torch.empty(num_experts, features, device=device, dtype=dtype))
        # Steps of 1e-3 are lost in half precision.
        precision = torch.promote_types(self.weight.dtype, torch.float32)
        bias = torch.zeros(num_experts, device=device, dtype=precision)
        self.register_buffer("expert_bias", bias)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights; no expert is preferred."""
        fill_normal(self.weight, 0.0, self.deviation, generator)
        nn.init.zeros_(self.expert_bias)

    def forward(self, x: Tensor, valid: Tensor | None = None) -> Routing:
        """Choose the experts of all tokens."""
        logits = precise(F.linear(x, self.weight))
        scores = logits.sigmoid() if self.score_func == "sigmoid" else logits.softmax(-1)
        index, weight = select_experts(
            scores, self.top_k, by=scores.detach() + self.expert_bias,
            route_norm=self.route_norm, route_scale=self.route_scale,
        )  # fmt: skip
        statistics = {}
        if self.training:
            statistics["load"] = expert_loads(index, len(self.weight), valid)
        return Routing(index, weight, logits, statistics=statistics)

    def update(
        self, buffers: Mapping[str, Tensor], statistics: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """Move the biases towards even loads; loads are those of a whole step."""
        bias = balanced_bias(buffers["expert_bias"], statistics["load"], self.load_balance_coeff)
        return {"expert_bias": bias}


@register(
    "layer",
    name="Loss-free balanced MoE",
    references=("wang2024", "csordas2023"),
    equation=r"\mathcal{E}_x = \arg\mathrm{topk}(s + b, K), \quad s = \sigma(W_3 x), \quad "
    r"b_e \leftarrow b_e + u\, \mathrm{sign}(\bar c - c_e); \qquad "
    r"y = \sum_{e \in \mathcal{E}_x} W_2^e\, s[e] \max(W_1^e x, 0)",
    failure_modes=(
        "The bias follows the loads of training: text of another kind is not balanced.",
        "It is of use only if the trainer calls update once in each step.",
    ),
    interface="columns",
)
class LossFreeMoE(MixtureOfExperts):
    """Mixture of experts balanced by a bias in the choice instead of a loss.

    Equation (wang2024, algorithm 1): y = sum_{e in E_x} W_2^e s[e] max(W_1^e x, 0), E_x =
    arg topk(s + b, K), s = sigmoid(W_3 x); after each step b_e += u sign(mean load - load of e).

    `forward` returns the loads and changes nothing; `update` returns the new biases.

    Notation:
        W_1, W_2 -> weight_in, weight_out, W_3 -> router.weight, b -> router.expert_bias, u ->
        load_balance_coeff, K -> top_k.

    Departures:
        Steps of the bias are centred, so that its mean stays 0.

    Args:
        features: Number of features of a token.
        num_experts: Number of experts.
        expert_features: Number of hidden units of an expert.
        top_k: Number of experts for a token.
        score_func: ``"sigmoid"`` or ``"softmax"``.
        route_norm: Whether the weights of a token's experts are divided by their sum.
        route_scale: Factor of the weights.
        load_balance_coeff: Step of the bias.
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
        x (..., features), valid (...) -> an `Output`, answer (..., features), in training
        with the statistic router.load.

    Raises:
        UserError: For sizes below 1, more choices than experts, or unknown names.

    Example:
        >>> layer = LossFreeMoE(8, num_experts=3, expert_features=4, top_k=1)
        >>> output = layer(torch.ones(2, 8))
        >>> after = layer.update(dict(layer.named_buffers()), output.statistics)
        >>> after["router.expert_bias"].mean().abs() < 1e-6
        tensor(True)

    References:
        wang2024, csordas2023
    """

    def __init__(
        self,
        features: int,
        *,
        num_experts: int = 16,
        expert_features: int = 128,
        top_k: int = 4,
        score_func: Literal["sigmoid", "softmax"] = "sigmoid",
        route_norm: bool = False,
        route_scale: float = 1.0,
        load_balance_coeff: float = 1e-3,
        num_layers: int = 1,
        activation: Literal["relu", "gelu"] = "relu",
        dropout: float = 0.0,
        top_units: int | None = None,
        backend: BackendName = "auto",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        check_sizes("LossFreeMoE", features, num_experts, expert_features, top_k)
        hidden = num_experts * expert_features
        first, second = ((2 / (fan * num_layers)) ** 0.5 for fan in (features, hidden))
        router = LossFreeRouter(
            features, num_experts, top_k, score_func=score_func, route_norm=route_norm,
            route_scale=route_scale, load_balance_coeff=load_balance_coeff, deviation=first,
            device=device, dtype=dtype,
        )  # fmt: skip
        super().__init__(
            features, router=router, deviations=(first, second),
            num_experts=num_experts, expert_features=expert_features,
            activation=activation, dropout=dropout, top_units=top_units, backend=backend,
            generator=generator, device=device, dtype=dtype,
        )  # fmt: skip
