"""Gated DeltaNet's layer (Yang et al., 2025), with or without negative eigenvalues.

A matrix for each head maps keys to values; in each step it decays, and what it says about one key
is mended. Its size does not depend on the length of the sequence.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import require_at_least
from wug.core.registry import register
from wug.functional.attention import head_features
from wug.functional.delta_rule import delta_rule_chunks, delta_rule_steps
from wug.functional.initialise import fill_uniform
from wug.functional.output import Output
from wug.functional.step_inputs import step_inputs

EPSILON = 1e-6
# Ranges of the first rates of decay and of the time steps that they are multiplied by, as for the
# state-space models that the gate is from.
FIRST_RATES, FIRST_TIMES = (1.0, 16.0), (1e-3, 1e-1)


class DeltaState(NamedTuple):
    """What the layer carries: the last inputs of the convolution, and the matrices.

    Shape:
        recent (batch, convolution - 1, 3 * features), memory (batch, head, value, key).
    """

    recent: Tensor
    memory: Tensor


@register(
    "layer",
    name="Gated delta rule",
    references=("yang2025", "yang2024", "grazzi2025"),
    equation=r"S_t = \alpha_t S_{t-1} (I - \beta_t k_t k_t^\top) + \beta_t v_t k_t^\top, \qquad "
    r"o_t = S_t q_t",
    failure_modes=(
        "A matrix holds about as many pairs as its keys have channels; more of them overwrite "
        "each other.",
        "With rates below 1 no eigenvalue is negative, and parity is out of reach (grazzi2025).",
    ),
    interface="steps",
)
class GatedDeltaRule(nn.Module):
    """Linear attention whose memory is mended by the delta rule and decays by a gate.

    Equation (yang2025, Eq. 10): S_t = alpha_t S_{t-1} (I - beta_t k_t k_t^T) + beta_t v_t k_t^T,
    o_t = S_t q_t; alpha = exp(-a softplus(W_a x + b)), beta = sigmoid(W_b x), twice that with
    negative eigenvalues (grazzi2025).

    Notation:
        Projections of queries, keys and values -> weight_in, below each other; W_b, W_a ->
        weight_rates, b -> bias_decays, log a -> log_decay, the output's gate -> weight_gate.

    Departures:
        Queries are not divided by the root of their size: the normalisation behind them cancels it.

    Args:
        features: Number of features of a step.
        num_heads: Number of heads, which share the features.
        gated: Whether the memory decays; without, this is DeltaNet (yang2024).
        negative_eigenvalues: Whether rates go up to 2 instead of 1.
        convolution: How many steps the convolution before queries, keys and values sees; 1 has
            none.
        chunk: Number of steps that are solved together; 1 goes step by step.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        x (batch, seq, features) -> answer (batch, seq, features).

    Raises:
        UserError: For sizes below 1, or heads that can't share the features evenly.

    Example:
        >>> layer, x = GatedDeltaRule(8, 2), torch.ones(1, 5, 8)
        >>> first = layer(x[:, :3])
        >>> rest = layer(x[:, 3:], state=first.state)
        >>> torch.allclose(rest.answer, layer(x).answer[:, 3:], atol=1e-6)
        True

    References:
        yang2025, yang2024, grazzi2025
    """

    def __init__(
        self,
        features: int,
        num_heads: int = 1,
        *,
        gated: bool = True,
        negative_eigenvalues: bool = False,
        convolution: int = 4,
        chunk: int = 32,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.channels = head_features("GatedDeltaRule", features, num_heads)
        require_at_least("GatedDeltaRule", "convolution", convolution, 1)
        require_at_least("GatedDeltaRule", "chunk", chunk, 1)
        self.in_features = self.out_features = features
        self.num_heads, self.gated, self.chunk = num_heads, gated, chunk
        self.negative_eigenvalues, self.convolution = negative_eigenvalues, convolution
        empty = torch.empty(3 * features, features, device=device, dtype=dtype)
        self.weight_in = nn.Parameter(empty)
        self.weight_gate = nn.Parameter(empty.new_empty(features, features))
        self.weight_out = nn.Parameter(empty.new_empty(features, features))
        self.weight_rates = nn.Parameter(empty.new_empty((1 + gated) * num_heads, features))
        self.scale = nn.Parameter(empty.new_empty(self.channels))
        if convolution > 1:
            self.filters = nn.Parameter(empty.new_empty(convolution, 3 * features))
        if gated:
            self.log_decay = nn.Parameter(empty.new_empty(num_heads))
            self.bias_decays = nn.Parameter(empty.new_empty(num_heads))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        bound = 1 / math.sqrt(self.in_features)
        for weight in (self.weight_in, self.weight_gate, self.weight_out, self.weight_rates):
            fill_uniform(weight, -bound, bound, generator)
        nn.init.ones_(self.scale)
        if self.convolution > 1:
            bound = 1 / math.sqrt(self.convolution)
            fill_uniform(self.filters, -bound, bound, generator)
        if self.gated:
            with torch.no_grad():
                fill_uniform(self.log_decay, *FIRST_RATES, generator).log_()
                low, high = (math.log(time) for time in FIRST_TIMES)
                times = fill_uniform(self.bias_decays, low, high, generator).exp_()
                times.copy_(times.expm1().log())  # softplus of this is the time

    def initial_state(self, rows: int) -> DeltaState:
        """Return matrices of zeros, and no step before the first."""
        zeros, channels = self.weight_in.new_zeros, self.channels
        return DeltaState(
            zeros(rows, self.convolution - 1, 3 * self.in_features),
            zeros(rows, self.num_heads, channels, channels),
        )

    def mixed(self, x: Tensor, recent: Tensor) -> tuple[Tensor, Tensor]:
        """Convolve every channel with the steps before: the results, and the last inputs."""
        seen = torch.cat((recent, x), 1)
        if self.convolution > 1:
            seq = x.shape[1]
            x = sum(
                (seen[:, i : i + seq] * self.filters[i] for i in range(self.convolution)),
                torch.zeros_like(x),
            )
        return F.silu(x), seen[:, x.shape[1] :]

    def by_head(self, x: Tensor) -> Tensor:
        """Return (batch, seq, head * channel) as (batch, head, seq, channel)."""
        batch, seq, _ = x.shape
        return x.view(batch, seq, self.num_heads, self.channels).transpose(1, 2)

    def parts(self, x: Tensor, recent: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        """Return queries, keys, values, rates and decays, and the last inputs."""
        projected, recent = self.mixed(F.linear(x, self.weight_in), recent)
        queries, keys, values = (self.by_head(part) for part in projected.chunk(3, -1))
        queries, keys = (
            part * (part.square().sum(-1, keepdim=True) + EPSILON).rsqrt()
            for part in (queries, keys)
        )
        rates, *decays = F.linear(x, self.weight_rates).mT.split(self.num_heads, 1)
        rates = rates.sigmoid() * (2 if self.negative_eigenvalues else 1)
        log_decays = torch.zeros_like(rates)
        if self.gated:
            times = F.softplus(decays[0] + self.bias_decays.unsqueeze(-1))
            log_decays = -self.log_decay.exp().unsqueeze(-1) * times
        return {
            "queries": queries, "keys": keys, "values": values, "rates": rates,
            "log_decays": log_decays,
        }, recent  # fmt: skip

    def forward(self, x: Tensor, *, state: DeltaState | None = None) -> Output:
        """Return what every step reads, and the state after the last."""
        x = step_inputs("GatedDeltaRule", x, self.in_features, None)
        state = self.initial_state(len(x)) if state is None else state
        parts, recent = self.parts(x, state.recent)
        if self.chunk == 1 or x.shape[1] == 1:
            read, memory = delta_rule_steps(**parts, memory=state.memory)
        else:
            read, memory = delta_rule_chunks(**parts, memory=state.memory, chunk=self.chunk)
        read = read * (read.square().mean(-1, keepdim=True) + EPSILON).rsqrt() * self.scale
        read = read.transpose(1, 2).flatten(2) * F.silu(F.linear(x, self.weight_gate))
        return Output(F.linear(read, self.weight_out), state=DeltaState(recent, memory))

    def trace(self, x: Tensor, state: DeltaState | None = None) -> dict[str, Tensor]:
        """Return keys, queries, values, rates and decays of every step, and the output."""
        start = self.initial_state(len(x)) if state is None else state
        return self.parts(x, start.recent)[0] | {"output": self(x, state=state).answer}
