"""sigma-MoE (Csordás et al., 2023): a feed-forward block of experts that don't compete.

Each expert's score is a sigmoid of its own, as each unit of a dense block has a rectifier of its
own. What keeps all experts in use is the entropy of the mean choice, and experts that are dropped.
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
from wug.functional.streams import dropout as drop
from wug.layers._mixture import MixtureOfExperts, Routing, check_sizes


class SigmaRouter(nn.Module):
    """Chooses the experts with the largest sigmoids (csordas2023, Eqs. 7.17 and 7.19-7.21).

    Args as for `SigmaMoE`.
    """

    def __init__(
        self,
        features: int,
        num_experts: int,
        top_k: int,
        *,
        expert_dropout: float = 0.0,
        dropped_for: Literal["batch", "token"] = "batch",
        deviation: float = 1.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_choice("SigmaMoE", "dropped_for", dropped_for, ("batch", "token"))
        self.top_k, self.expert_dropout, self.dropped_for = top_k, expert_dropout, dropped_for
        self.deviation = deviation
        self.weight = nn.Parameter(torch.empty(num_experts, features, device=device, dtype=dtype))

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw rows of equal length: at first only the angle between x and a row counts."""
        fill_equal_rows(self.weight, self.deviation, generator)

    def kept(self, scores: Tensor) -> Tensor:
        """Draw which experts are not dropped: m of Eq. 7.21, for all tokens or for each."""
        shape = scores.shape if self.dropped_for == "token" else scores.shape[-1:]
        return drop(scores.new_ones(shape), self.expert_dropout) > 0

    def forward(self, x: Tensor, valid: Tensor | None = None) -> Routing:
        """Choose the experts of all tokens."""
        logits = precise(F.linear(x, self.weight))
        scores = logits.sigmoid()
        if self.training and self.expert_dropout:
            scores = scores * self.kept(scores)  # not rescaled, unlike dropout of units
        index, weight = select_experts(scores, self.top_k)
        return Routing(index, weight, logits, {"entropy": entropy_loss(logits, valid)})


@register(
    "layer",
    name="σ-MoE",
    references=("csordas2023", "csordasmoe2023"),
    equation=r"y = \sum_{e \in \mathcal{E}_x} W_2^e\, s[e] \max(W_1^e x, 0), \qquad "
    r"s = \sigma(W_3 x) \odot m, \quad \mathcal{E}_x = \arg\mathrm{topk}(s, K)",
    failure_modes=(
        "With many more experts at constant K it falls behind a dense block of the same size "
        "(csordas2023, section 7.5.3: perplexity 10.37 against 10.03 with 128 experts).",
        "Experts of fewer than 128 units are worse (csordas2023, section 7.5.3).",
    ),
    interface="columns",
)
class SigmaMoE(MixtureOfExperts):
    """Mixture of experts chosen by sigmoids.

    Equation (csordas2023, Eqs. 7.11 and 7.17-7.21): y = sum_{e in E_x} W_2^e s[e] max(W_1^e x, 0),
    s = sigmoid(W_3 x) m, E_x = arg topk(s, K), m Bernoulli(1 - delta) in training and 1 otherwise.
    The objective's term entropy is sum_e p[e] log p[e], p the mean of softmax(W_3 x) over tokens.

    Notation:
        W_1, W_2 -> weight_in, weight_out, W_3 (W_s in Eq. 7.21) -> router.weight, N_E ->
        num_experts, G -> expert_features, K -> top_k, delta -> expert_dropout, n_layers ->
        num_layers. gamma is the weight of the term, for the objective to choose.

    Departures:
        None. The code draws m for each token; dropped_for says so.

    Args:
        features: Number of features of a token.
        num_experts: Number of experts.
        expert_features: Number of hidden units of an expert.
        top_k: Number of experts for a token.
        expert_dropout: Share of the experts that can't be chosen in a training step.
        dropped_for: Whether experts are dropped for the ``"batch"`` as a whole, as in the text, or
            for each ``"token"``, as in the code.
        num_layers: Layers of the network: the more, the smaller the initial weights.
        expert_init: ``"dense"``, as a dense block of all experts' units would start, or
            ``"expert"``, as each expert would by itself.
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
        >>> layer = SigmaMoE(8, num_experts=6, expert_features=4, top_k=2)
        >>> output = layer(torch.ones(1, 3, 8))
        >>> output.answer.shape, sorted(output.terms)
        (torch.Size([1, 3, 8]), ['entropy'])

    References:
        csordas2023, csordasmoe2023
    """

    def __init__(
        self,
        features: int,
        *,
        num_experts: int = 16,
        expert_features: int = 128,
        top_k: int = 4,
        expert_dropout: float = 0.0,
        dropped_for: Literal["batch", "token"] = "batch",
        num_layers: int = 1,
        expert_init: Literal["dense", "expert"] = "dense",
        activation: Literal["relu", "gelu"] = "relu",
        dropout: float = 0.0,
        top_units: int | None = None,
        backend: BackendName = "auto",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        check_sizes("SigmaMoE", features, num_experts, expert_features, top_k)
        require_choice("SigmaMoE", "expert_init", expert_init, ("dense", "expert"))
        fan_in = expert_features * (num_experts if expert_init == "dense" else 1)
        first, second = ((2 / (fan * num_layers)) ** 0.5 for fan in (features, fan_in))
        router = SigmaRouter(
            features, num_experts, top_k, expert_dropout=expert_dropout, dropped_for=dropped_for,
            deviation=first, device=device, dtype=dtype,
        )  # fmt: skip
        super().__init__(
            features, router=router, deviations=(first, second),
            num_experts=num_experts, expert_features=expert_features,
            activation=activation, dropout=dropout, top_units=top_units, backend=backend,
            generator=generator, device=device, dtype=dtype,
        )  # fmt: skip
