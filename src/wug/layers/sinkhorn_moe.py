"""S-BASE (Clark et al., 2022): in training every expert gets its share of the tokens.

What BASE (Lewis et al., 2021) solves as an assignment problem, Sinkhorn's algorithm approximates.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import require_at_least
from wug.core.registry import register
from wug.functional.balance import entropy_loss
from wug.functional.experts.backends import BackendName
from wug.functional.initialise import fill_equal_rows
from wug.functional.routing import precise, select_experts, sinkhorn
from wug.layers._mixture import MixtureOfExperts, Routing, check_sizes


class SinkhornRouter(nn.Module):
    """Chooses experts by balanced scores in training, by plain ones otherwise.

    Args as for `SinkhornMoE`.
    """

    def __init__(
        self,
        features: int,
        num_experts: int,
        top_k: int,
        *,
        num_iterations: int = 3,
        deviation: float = 1.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("SinkhornMoE", "num_iterations", num_iterations, 1)
        self.top_k, self.num_iterations, self.deviation = top_k, num_iterations, deviation
        self.weight = nn.Parameter(torch.empty(num_experts, features, device=device, dtype=dtype))

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw rows of equal length."""
        fill_equal_rows(self.weight, self.deviation, generator)

    def forward(self, x: Tensor, valid: Tensor | None = None) -> Routing:
        """Choose the experts of all tokens."""
        logits = precise(F.linear(x, self.weight))
        balanced = logits.detach()
        if self.training:
            tokens = balanced.flatten(0, -2)
            counted = None if valid is None else valid.flatten()
            balanced = sinkhorn(tokens, counted, self.num_iterations).view_as(logits)
        index, weight = select_experts(logits.sigmoid(), self.top_k, by=balanced)
        return Routing(index, weight, logits, {"entropy": entropy_loss(logits, valid)})


@register(
    "layer",
    name="S-BASE",
    references=("clark2022", "lewis2021", "csordas2023"),
    equation=r"y = W_2^{e_x} s[e_x] \max(W_1^{e_x} x, 0), \quad s = \sigma(W_3 x); \qquad "
    r"\max_{e} \sum_x s[e_x] \ \text{s.t.} \ \sum_x 1\{e_x = i\} = |B| / N_E",
    failure_modes=(
        "Balance is for training only: one token at a time, experts are used unevenly (lewis2021).",
    ),
    interface="columns",
)
class SinkhornMoE(MixtureOfExperts):
    """Mixture of experts that share the tokens of a training batch evenly.

    Equation (csordas2023, Eqs. 7.11, 7.17 and 7.18): y = sum_{e in E_x} W_2^e s[e] max(W_1^e x, 0),
    s = sigmoid(W_3 x); in training E_x maximises the sum of the scores while every expert gets the
    same number of tokens, approximately; otherwise E_x = arg topk(s, K).

    Notation:
        W_1, W_2 -> weight_in, weight_out, W_3 -> router.weight, N_E -> num_experts, G ->
        expert_features, K -> top_k.

    Departures:
        Sinkhorn's algorithm balances W_3 x, not its sigmoid, as in the code of csordas2023; after
        few iterations shares are nearly, not exactly, even. Initial weights and the term entropy
        are those of sigma-MoE, as in the ablations there.

    Args:
        features: Number of features of a token.
        num_experts: Number of experts.
        expert_features: Number of hidden units of an expert.
        top_k: Number of experts for a token: 1 in the papers, 1 or 4 in csordas2023.
        num_iterations: Of Sinkhorn's algorithm.
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
        >>> layer = SinkhornMoE(8, num_experts=6, expert_features=4)
        >>> layer(torch.ones(1, 3, 8)).answer.shape
        torch.Size([1, 3, 8])

    References:
        clark2022, lewis2021, csordas2023
    """

    def __init__(
        self,
        features: int,
        *,
        num_experts: int = 4,
        expert_features: int = 512,
        top_k: int = 1,
        num_iterations: int = 3,
        num_layers: int = 1,
        activation: Literal["relu", "gelu"] = "relu",
        dropout: float = 0.0,
        top_units: int | None = None,
        backend: BackendName = "auto",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        check_sizes("SinkhornMoE", features, num_experts, expert_features, top_k)
        hidden = num_experts * expert_features
        first, second = ((2 / (fan * num_layers)) ** 0.5 for fan in (features, hidden))
        router = SinkhornRouter(
            features, num_experts, top_k, num_iterations=num_iterations, deviation=first,
            device=device, dtype=dtype,
        )  # fmt: skip
        super().__init__(
            features, router=router, deviations=(first, second),
            num_experts=num_experts, expert_features=expert_features,
            activation=activation, dropout=dropout, top_units=top_units, backend=backend,
            generator=generator, device=device, dtype=dtype,
        )  # fmt: skip
