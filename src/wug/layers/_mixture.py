"""Mixtures of experts: what all of them share, whoever chooses the experts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import UserError, require_at_least, require_choice
from wug.functional.experts.backends import BackendName
from wug.functional.experts.mixture import expert_mixture
from wug.functional.initialise import fill_normal
from wug.functional.output import Output
from wug.functional.parts import prefixed, update_parts
from wug.functional.streams import dropout as drop
from wug.functional.streams import rectified_dropout
from wug.functional.top_units import keep_top

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}


@dataclass(frozen=True)
class Routing:
    """What a router decided.

    Args:
        index: The experts of every token, all different, (..., top_k).
        weight: How much each of them counts, (..., top_k).
        logits: What the decision was made from, (..., expert).
        terms: Scalars for the objective, such as how evenly experts are used.
        statistics: Sums for the router's ``update``; only in training.
    """

    index: Tensor
    weight: Tensor
    logits: Tensor
    terms: dict[str, Tensor] = field(default_factory=dict)
    statistics: dict[str, Tensor] = field(default_factory=dict)


class Router(Protocol):
    """Whatever chooses experts: a module that maps tokens to a `Routing`.

    It may have ``update(buffers, statistics)``, which returns the buffers that a step changes.
    """

    def __call__(self, x: Tensor, valid: Tensor | None) -> Routing:
        """Choose the experts of tokens x (..., features); valid (...) says which count."""
        ...

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        ...


def check_sizes(
    owner: str, features: int, num_experts: int, expert_features: int, top_k: int
) -> None:
    """Raise unless there are experts with units, and a token can choose as many as it should."""
    sizes = {"features": features, "num_experts": num_experts, "expert_features": expert_features,
             "top_k": top_k}  # fmt: skip
    for name, size in sizes.items():
        require_at_least(owner, name, size, 1)
    if top_k > num_experts:
        raise UserError(
            f"{owner}: top_k must be at most num_experts; got {top_k} of {num_experts}. "
            "Choose fewer, or have more experts."
        )


class MixtureOfExperts(nn.Module):
    """Two-layer experts, of which each token uses those that a router chooses.

    Equation (csordas2023, Eq. 7.11): y = sum_{e in E_x} W_2^e s[e] max(W_1^e x, 0).

    Args:
        features: Number of features of a token.
        router: Chooses the experts; any module that is a `Router`.
        num_experts: Number of experts N_E.
        expert_features: Number of hidden units of an expert G.
        deviations: Of the initial weights W_1 and W_2.
        activation: ``"relu"`` or ``"gelu"``.
        dropout: Share of the hidden units that are dropped in training.
        top_units: How many of the hidden units of all of a token's experts are kept, the largest;
            all of them by default (csordas2023, section 7.4).
        backend: How products are computed; see `wug.functional.experts.backends`.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        x (..., features), valid (...) -> an `Output` whose answer is (..., features).
    """

    stackable = False  # tokens of an expert are as many as choose it
    stacks_of_matrices = ("weight_in", "weight_out")

    def __init__(
        self,
        features: int,
        *,
        router: nn.Module,
        num_experts: int,
        expert_features: int,
        deviations: tuple[float, float],
        activation: Literal["relu", "gelu"] = "relu",
        dropout: float = 0.0,
        top_units: int | None = None,
        backend: BackendName = "auto",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        check_sizes(owner, features, num_experts, expert_features, 1)
        require_choice(owner, "activation", activation, ACTIVATIONS)
        if top_units is not None:
            require_at_least(owner, "top_units", top_units, 1)
        self.in_features = self.out_features = features
        self.num_experts, self.expert_features = num_experts, expert_features
        self.activation, self.dropout, self.top_units = activation, dropout, top_units
        self.backend, self.deviations = backend, deviations
        self.router = router
        empty = torch.empty(num_experts, features, expert_features, device=device, dtype=dtype)
        self.weight_in = nn.Parameter(empty)
        self.weight_out = nn.Parameter(empty.new_empty(num_experts, expert_features, features))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        for weight, deviation in zip(
            (self.weight_in, self.weight_out), self.deviations, strict=True
        ):
            fill_normal(weight, 0.0, deviation, generator)
        self.router.reset_parameters(generator)  # type: ignore[operator]

    def route(self, x: Tensor, valid: Tensor | None = None) -> Routing:
        """Choose the experts of all tokens."""
        if x.shape[-1] != self.in_features:
            raise UserError(
                f"{type(self).__name__}: x must have {self.in_features} features in its last axis; "
                f"got {x.shape[-1]}."
            )
        routing: Routing = self.router(x, valid)
        return routing

    def mix(self, x: Tensor, routing: Routing) -> Tensor:
        """Return the weighted sum of what the chosen experts say."""
        dropped = self.dropout if self.training else 0.0
        plain = self.activation == "relu" and not dropped and self.top_units is None

        def inner(hidden: Tensor, gates: Tensor) -> Tensor:
            if self.activation == "relu":
                hidden = rectified_dropout(hidden, dropped)
            else:
                hidden = drop(ACTIVATIONS[self.activation](hidden), dropped)
            hidden = hidden * gates.unsqueeze(-1)
            if self.top_units is None:
                return hidden
            return keep_top(hidden.flatten(1), self.top_units).view_as(hidden)

        mixed = expert_mixture(
            x.reshape(-1, self.in_features), routing.index.flatten(0, -2),
            routing.weight.flatten(0, -2), self.weight_in, self.weight_out,
            backend=self.backend, inner=None if plain else inner,
        )  # fmt: skip
        return mixed.view(x.shape)

    def forward(
        self, x: Tensor, valid: Tensor | None = None, *, chosen_by: Tensor | None = None
    ) -> Output:
        """Map every token by the experts that it chooses.

        Args:
            x: The tokens.
            valid: Which of them are not padding: the others count in no term and no statistic.
            chosen_by: What the experts are chosen by, as x; x itself by default.
        """
        routing = self.route(x if chosen_by is None else chosen_by, valid)
        return Output(self.mix(x, routing), routing.terms, prefixed("router", routing.statistics))

    def update(
        self, buffers: Mapping[str, Tensor], statistics: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """Return the buffers that a step changes, from the sums that forward returned."""
        return update_parts(self, buffers, statistics)

    @property
    def multiplications(self) -> int:
        """Multiplications for one token, the choice of experts included."""
        top_k: Any = self.router.top_k
        choice = sum(one.numel() for one in self.router.parameters())
        return choice + 2 * int(top_k) * self.in_features * self.expert_features

    def trace(self, x: Tensor, valid: Tensor | None = None) -> dict[str, Tensor]:
        """Return what happens inside: logits, chosen experts, their weights, and the output."""
        routing = self.route(x, valid)
        return {
            "logits": routing.logits,
            "experts": routing.index,
            "weights": routing.weight,
            "output": self.mix(x, routing),
        }
