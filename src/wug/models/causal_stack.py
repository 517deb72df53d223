"""Causal networks of residual blocks: a transformer decoder, or DeltaNet (Yang et al., 2025).

The rivals of networks with an external memory that people use today. What mixes the steps is a
switch: attention, whose state grows, or the gated delta rule, whose state doesn't.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.functional.initialise import fill_normal, fill_uniform, xavier_bound
from wug.functional.output import Output
from wug.functional.step_inputs import step_inputs
from wug.layers.causal_attention import CausalAttention
from wug.layers.feed_forward import FeedForward
from wug.layers.gated_delta_rule import GatedDeltaRule

MIXERS: dict[str, type[CausalAttention] | type[GatedDeltaRule]] = {
    "attention": CausalAttention,
    "delta_rule": GatedDeltaRule,
}
State = tuple[Any, ...]


class CausalBlock(nn.Module):
    """Mix the steps, then map each by itself; both are added to what comes in."""

    def __init__(self, mixer: nn.Module, feed_forward: FeedForward | None, norm: nn.LayerNorm):
        super().__init__()
        self.mixer, self.feed_forward, self.mixer_norm = mixer, feed_forward, norm
        self.feed_forward_norm = (
            None if feed_forward is None else nn.LayerNorm(norm.normalized_shape)
        )

    def forward(self, x: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Return the steps after the block, and its state after the last."""
        mixed = self.mixer(self.mixer_norm(x), state=state)
        x = x + mixed.answer
        if self.feed_forward is not None and self.feed_forward_norm is not None:
            x = x + self.feed_forward(self.feed_forward_norm(x))
        return x, mixed.state


@register(
    "model",
    name="Causal stack",
    references=("vaswani2017", "yang2025", "yang2024", "grazzi2025", "su2021", "dai2019"),
    equation=r"x' = x + \mathrm{Mixer}(\mathrm{LN}(x)), \qquad x'' = x' + "
    r"\mathrm{FFN}(\mathrm{LN}(x')), \qquad y_t = V\, \mathrm{LN}(x_t) + d",
    failure_modes=(
        "With attention, the state grows with the sequence; with the delta rule, more pairs than a "
        "key has channels overwrite each other.",
    ),
    interface="steps",
)
class CausalStack(nn.Module):
    """Residual blocks of causal attention or of the gated delta rule: an answer in every step.

    Equation (vaswani2017, section 3.1, normalised before each part): x' = x + Mixer(LN(x)), x'' =
    x' + FFN(LN(x')), y = V LN(x) + d.

    Notation:
        V -> weight_out, d -> bias_out.

    Departures:
        Layers are normalised before each part instead of after it, as networks are today.

    Args:
        in_features: Number of inputs of a step; with tokens, size of the vocabulary.
        out_features: Number of outputs of a step.
        mixer: ``"attention"`` or ``"delta_rule"``.
        features: Number of features between the blocks.
        num_heads: Number of heads of a mixer.
        num_layers: Number of blocks.
        hidden_features: Number of hidden features of a feed-forward part; 0 leaves it out.
        tokens: Whether inputs are tokens, which are embedded, instead of vectors.
        positions: For attention: ``"rotary"``, ``"relative"`` or ``"none"``.
        gated: For the delta rule: whether its memory decays.
        negative_eigenvalues: For the delta rule: whether its rates go up to 2.
        convolution: For the delta rule: how many steps its convolution sees.
        chunk: For the delta rule: number of steps that are solved together.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        x (batch, seq, in_features), or tokens (batch, seq), int64 -> answer
        (batch, seq, out_features).

    Raises:
        UserError: For sizes below 1, unknown choices, or heads that can't share the features.

    Example:
        >>> model = CausalStack(9, 8, mixer="delta_rule", negative_eigenvalues=True)
        >>> output = model(torch.ones(2, 5, 9))
        >>> output.answer.shape, output.state[0].memory.shape
        (torch.Size([2, 5, 8]), torch.Size([2, 2, 32, 32]))

    References:
        vaswani2017, yang2025, yang2024, grazzi2025, su2021, dai2019
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        mixer: Literal["attention", "delta_rule"] = "attention",
        features: int = 64,
        num_heads: int = 2,
        num_layers: int = 2,
        hidden_features: int | None = None,
        tokens: bool = False,
        positions: Literal["rotary", "relative", "none"] = "rotary",
        gated: bool = True,
        negative_eigenvalues: bool = False,
        convolution: int = 4,
        chunk: int = 32,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        hidden = 2 * features if hidden_features is None else hidden_features
        for name, size, least in (
            ("in_features", in_features, 1), ("out_features", out_features, 1),
            ("features", features, 1), ("num_layers", num_layers, 1),
            ("hidden_features", hidden, 0),
        ):  # fmt: skip
            require_at_least("CausalStack", name, size, least)
        require_choice("CausalStack", "mixer", mixer, MIXERS)
        self.in_features, self.out_features, self.features = in_features, out_features, features
        self.num_layers, self.tokens = num_layers, tokens
        common: dict[str, Any] = {"generator": generator, "device": device, "dtype": dtype}
        options: dict[str, dict[str, Any]] = {
            "attention": {"positions": positions},
            "delta_rule": {
                "gated": gated, "negative_eigenvalues": negative_eigenvalues,
                "convolution": convolution, "chunk": chunk,
            },
        }  # fmt: skip
        self.weight_in = nn.Parameter(
            torch.empty(in_features, features, device=device, dtype=dtype)
        )
        self.bias_in = None if tokens else nn.Parameter(self.weight_in.new_empty(features))
        self.blocks = nn.ModuleList(
            CausalBlock(
                MIXERS[mixer](features, num_heads, **options[mixer], **common),
                FeedForward(features, hidden_features=hidden, **common) if hidden else None,
                nn.LayerNorm(features),
            )
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(features)
        self.to(device=self.weight_in.device, dtype=self.weight_in.dtype)
        self.weight_out = nn.Parameter(self.weight_in.new_empty(out_features, features))
        self.bias_out = nn.Parameter(self.weight_in.new_empty(out_features))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        if self.bias_in is None:
            fill_normal(self.weight_in, 0.0, 1.0, generator)
        else:
            bound = xavier_bound(self.in_features, self.features)
            fill_uniform(self.weight_in, -bound, bound, generator)
            nn.init.zeros_(self.bias_in)
        for part in self.blocks.modules():
            if isinstance(part, (CausalAttention, GatedDeltaRule, FeedForward)):
                part.reset_parameters(generator)
            elif isinstance(part, nn.LayerNorm):
                part.reset_parameters()
        self.norm.reset_parameters()
        bound = xavier_bound(self.features, self.out_features)
        fill_uniform(self.weight_out, -bound, bound, generator)
        nn.init.zeros_(self.bias_out)

    def initial_state(self, rows: int) -> State:
        """Return the state of every block before the first step."""
        mixers: list[Any] = [block.mixer for block in self.blocks]
        return tuple(mixer.initial_state(rows) for mixer in mixers)

    def columns(self, x: Tensor, state: State | None) -> tuple[list[Tensor], State]:
        """Return the steps before and after every block, and the state after the last step."""
        embedding = self.weight_in if self.tokens else None
        x = step_inputs("CausalStack", x, self.in_features, embedding)
        if self.bias_in is not None:
            x = F.linear(x, self.weight_in.mT, self.bias_in)
        state = self.initial_state(len(x)) if state is None else state
        if len(state) != len(self.blocks):
            raise UserError(
                f"CausalStack: state must have {len(self.blocks)} parts; got {len(state)}."
            )
        columns, after = [x], []
        for block, before in zip(self.blocks, state, strict=True):
            x, own = block(x, before)
            columns.append(x)
            after.append(own)
        return columns, tuple(after)

    def forward(self, x: Tensor, *, state: State | None = None) -> Output:
        """Return the answer of every step, and the state after the last."""
        columns, state = self.columns(x, state)
        return Output(F.linear(self.norm(columns[-1]), self.weight_out, self.bias_out), state=state)

    def trace(self, x: Tensor, state: State | None = None) -> dict[str, Tensor]:
        """Return the steps before and after every block, (block, batch, seq, features); answers.

        Returns:
            ``columns``, ``output``, and for attention ``attention`` (block, batch, head, target,
            source).
        """
        columns, _ = self.columns(x, state)
        parts: list[Any] = list(self.blocks)
        before = self.initial_state(len(x)) if state is None else state
        trace = {"columns": torch.stack(columns), "output": self(x, state=state).answer}
        weights = [
            block.mixer.weights(block.mixer_norm(column), own)
            for block, column, own in zip(parts, columns[:-1], before, strict=True)
            if isinstance(block.mixer, CausalAttention)
        ]
        return trace | ({"attention": torch.stack(weights)} if weights else {})
