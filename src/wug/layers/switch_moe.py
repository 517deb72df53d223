"""The experts of the Switch Transformer (Fedus et al., 2022): one expert for each token."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import require_at_least
from wug.core.registry import register
from wug.functional.balance import switch_loss
from wug.functional.experts.backends import BackendName
from wug.functional.initialise import fill_normal
from wug.functional.routing import precise, select_experts, within_capacity
from wug.layers._mixture import MixtureOfExperts, Routing, check_sizes

SCALE = 0.1  # of the variance of initial weights


class SwitchRouter(nn.Module):
    """Chooses the most probable expert, as long as it has room.

    Args as for `SwitchMoE`.
    """

    def __init__(
        self,
        features: int,
        num_experts: int,
        top_k: int,
        *,
        capacity_factor: float | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if capacity_factor is not None:
            require_at_least("SwitchMoE", "capacity_factor", capacity_factor, 0)
        self.top_k, self.capacity_factor = top_k, capacity_factor
        self.weight = nn.Parameter(torch.empty(num_experts, features, device=device, dtype=dtype))

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        fill_normal(self.weight, 0.0, (SCALE / self.weight.shape[1]) ** 0.5, generator)

    def room(self, index: Tensor, valid: Tensor | None, factor: float) -> Tensor:
        """Say which choices fit into the capacity of their experts."""
        flat = index.flatten(0, -2)
        tokens = len(flat) if valid is None else valid.sum()
        num_experts = len(self.weight)
        capacity = factor * tokens * self.top_k / num_experts
        counted = None if valid is None else valid.flatten()
        return within_capacity(flat, num_experts, capacity, counted).view_as(index)

    def forward(self, x: Tensor, valid: Tensor | None = None) -> Routing:
        """Choose the experts of all tokens."""
        logits = precise(F.linear(x, self.weight))
        probabilities = logits.softmax(-1)
        index, weight = select_experts(probabilities, self.top_k)
        if self.capacity_factor is not None:
            weight = weight * self.room(index, valid, self.capacity_factor)
        terms = {"load_balance": switch_loss(probabilities, index, valid)}
        return Routing(index, weight, logits, terms)


@register(
    "layer",
    name="Switch MoE",
    references=("fedus2022", "csordas2023"),
    equation=r"y = W_2^e\, s[e] \max(W_1^e x, 0), \quad s = \mathrm{softmax}(W_3 x), \quad "
    r"e = \arg\max s; \qquad L = N_E\, f \cdot p",
    failure_modes=(
        "A softmax before the choice helps those that are chosen already: of 128 experts most are "
        "hardly used (csordas2023, figure 7.3).",
        "Tokens beyond an expert's capacity get nothing.",
    ),
    interface="columns",
)
class SwitchMoE(MixtureOfExperts):
    """Mixture of experts chosen by a softmax, one for each token.

    Equation (csordas2023, Eqs. 7.11 and 7.14-7.16): y = W_2^e s[e] max(W_1^e x, 0), s =
    softmax(W_3 x), e = arg max s. The objective's term load_balance is N_E f . p, f the share of
    the tokens that chose each expert and p the mean of s.

    Notation:
        W_1, W_2 -> weight_in, weight_out, W_3 -> router.weight, N_E -> num_experts, G ->
        expert_features, mu -> capacity_factor.

    Departures:
        csordas2023 says that experts start with a deviation of sqrt(0.1 / G), as is so here for
        W_2; for W_1 and W_3 it is sqrt(0.1 / features), by their inputs as in fedus2022. The code
        of csordas2023 divides the term by N_E squared. The default dropout is that of fedus2022.

    Args:
        features: Number of features of a token.
        num_experts: Number of experts.
        expert_features: Number of hidden units of an expert.
        top_k: Number of experts for a token.
        capacity_factor: How many times its fair share of the tokens an expert takes; the rest,
            later ones first, get nothing from it. No limit by default.
        activation: ``"relu"`` or ``"gelu"``.
        dropout: Share of the hidden units that are dropped in training; 0 to switch it off.
        top_units: How many hidden units of all of a token's experts are kept, the largest; all of
            them by default.
        backend: How products are computed: ``"auto"``, ``"loop"``, ``"blockwise"``, ``"grouped"``
            or ``"triton"``.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        x (..., features), valid (...) -> an `Output`, answer (..., features), term load_balance.

    Raises:
        UserError: For sizes below 1, more choices than experts, or unknown names.

    Example:
        >>> layer = SwitchMoE(8, num_experts=6, expert_features=4, capacity_factor=1.0)
        >>> sorted(layer(torch.ones(1, 3, 8)).terms)
        ['load_balance']

    References:
        fedus2022, csordas2023
    """

    def __init__(
        self,
        features: int,
        *,
        num_experts: int = 4,
        expert_features: int = 512,
        top_k: int = 1,
        capacity_factor: float | None = None,
        activation: Literal["relu", "gelu"] = "relu",
        dropout: float = 0.4,
        top_units: int | None = None,
        backend: BackendName = "auto",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        check_sizes("SwitchMoE", features, num_experts, expert_features, top_k)
        router = SwitchRouter(
            features, num_experts, top_k, capacity_factor=capacity_factor, device=device,
            dtype=dtype,
        )  # fmt: skip
        super().__init__(
            features, router=router,
            deviations=((SCALE / features) ** 0.5, (SCALE / expert_features) ** 0.5),
            num_experts=num_experts, expert_features=expert_features,
            activation=activation, dropout=dropout, top_units=top_units, backend=backend,
            generator=generator, device=device, dtype=dtype,
        )  # fmt: skip
