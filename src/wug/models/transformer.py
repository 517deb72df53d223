"""Transformer encoders that classify sequences (Vaswani et al., 2017): rivals of the data router.

How a column reads the others, whether it may keep its state, whether the layers share their weights
and whether columns halt are independent of each other: every pair of two models is an ablation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.functional.initialise import fill_normal, fill_uniform, xavier_bound
from wug.functional.output import Output
from wug.functional.sequence_ends import NUM_ENDS, add_ends, column_at
from wug.functional.streams import dropout
from wug.layers.absolute_attention import AbsoluteAttention
from wug.layers.absolute_relative_attention import AbsoluteRelativeAttention
from wug.layers.adaptive_computation import AdaptiveComputation
from wug.layers.attention_readout import AttentionReadout
from wug.layers.copy_gate import CopyGate, gated_copy
from wug.layers.feed_forward import FeedForward
from wug.layers.geometric_attention import GeometricAttention
from wug.layers.position_encoding import PositionEncoding
from wug.layers.relative_attention import RelativeAttention
from wug.layers.stick_breaking_attention import StickBreakingAttention

Attention: TypeAlias = (
    AbsoluteAttention
    | RelativeAttention
    | AbsoluteRelativeAttention
    | GeometricAttention
    | StickBreakingAttention
)
AttentionKind: TypeAlias = Literal[
    "absolute", "relative", "absolute_relative", "geometric", "stick_breaking"
]
UpdateKind: TypeAlias = Literal["norm", "tanh"]

ATTENTIONS: dict[str, type[Attention]] = {
    "absolute": AbsoluteAttention,
    "relative": RelativeAttention,
    "absolute_relative": AbsoluteRelativeAttention,
    "geometric": GeometricAttention,
    "stick_breaking": StickBreakingAttention,
}


def update_gain(update: UpdateKind, gate: bool, features: int, hidden_features: int) -> float:
    """Return the factor of the Xavier-uniform weights that an update comes from (csordas2023).

    Before a layer norm that has no residual it is that of tanh, 5/3. Before a tanh it is what makes
    them the weights of torch's linear layers.

    Example:
        >>> update_gain("norm", False, 128, 256), update_gain("norm", True, 128, 256)
        (1.0, 1.6666666666666667)
    """
    if not gate:
        return 1.0
    if update == "norm":
        return 5 / 3
    return 1 / (math.sqrt(hidden_features) * xavier_bound(features, hidden_features))


class TransformerLayer(nn.Module):
    """One layer: attention, a feed-forward block, and a copy gate if there is one.

    Args as for the transformer; attention_options go to the attention, common ones (generator,
    device, dtype) to every part.

    Shape:
        state (batch, seq, features), valid (batch, seq) -> state (batch, seq, features), and gates
        of the same shape or None.
    """

    def __init__(
        self,
        attention: AttentionKind,
        features: int,
        hidden_features: int,
        num_heads: int,
        *,
        gate: bool,
        update: UpdateKind,
        dropout: float,
        attention_dropout: float,
        gate_dropout: float,
        attention_options: dict[str, Any],
        common: dict[str, Any],
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.attention: Attention = ATTENTIONS[attention](
            features, num_heads, dropout=attention_dropout, **attention_options, **common
        )
        self.feed_forward = FeedForward(
            features, hidden_features=hidden_features, dropout=dropout,
            gain=update_gain(update, gate, features, hidden_features), **common,
        )  # fmt: skip
        self.gate = (
            CopyGate(features, dropout=dropout, column_dropout=gate_dropout, **common)
            if gate
            else None
        )
        placed = {"device": common["device"], "dtype": common["dtype"]}
        self.read_norm = nn.LayerNorm(features, **placed)
        self.update_norm = nn.Tanh() if update == "tanh" else nn.LayerNorm(features, **placed)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        for part in (self.attention, self.feed_forward, self.gate):
            if part is not None:
                part.reset_parameters(generator)
        for norm in (self.read_norm, self.update_norm):
            if isinstance(norm, nn.LayerNorm):
                norm.reset_parameters()

    def forward(self, state: Tensor, valid: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the columns after the layer, and their gates."""
        read = dropout(self.attention(state, valid), self.dropout, self.training)
        read = self.read_norm(state + read)
        update = self.feed_forward(read)
        if self.gate is None:
            update = dropout(update, self.dropout, self.training)
            return self.update_norm(read + update), None
        update, gates = self.update_norm(update), self.gate(read)
        return gated_copy(gates, update, state), gates


@register(
    "model",
    name="Transformer",
    interface="classification",
    references=(
        "vaswani2017", "csordas2023", "dai2019", "dehghani2019", "kazemnejad2023", "ruoss2023",
        "tan2024",
    ),
    equation=r"\begin{aligned} a &= \mathrm{LN}(h + \mathrm{Attention}(h)), \quad "
    r"h' = \mathrm{LN}(a + \mathrm{FFN}(a)); \\ \text{gated: } u &= \tanh(\mathrm{FFN}(a)), \quad "
    r"g = \sigma(\mathrm{FFN}^{\mathrm{gate}}(a)), \quad h' = g \odot u + (1 - g) \odot h "
    r"\end{aligned}",
    failure_modes=(
        "Without a copy gate no attention solves longer table look-ups than those of training "
        "(csordas2023, table 5.1).",
        "Relative attention with a copy gate solves them in the order in which the answer stands "
        "at a learned distance from the read-out, and only then (csordas2023, tables 5.1 and D.1).",
    ),
)  # fmt: skip
class Transformer(nn.Module):
    """Sequence classifier whose attention, copy gate, shared layers and halting are switches.

    Equation (csordas2023, Eqs. 5.1-5.4): a = LN(h + Attention(h)); without a gate h' =
    LN(a + FFN(a)); with one u = LN(FFN(a)), g = sigmoid(FFN_gate(a)), h' = g u + (1 - g) h. Where
    there is a gate and the attention is not geometric, tanh stands for the second LN (D.3.3).

    With halting, a training step returns the mean remainder as the term ``halting``, which belongs
    in the loss with a weight (0.03 in csordas2023).

    Notation:
        h -> state, a -> read, u -> update, g -> gates, d -> features, d_FF -> hidden_features.

    Departures:
        Geometric weights are normalised where there is no gate, as in the code, which the published
        rows of this model come from; the text has no such thing. What the code does beyond the
        text are options: dropout_of, embedding_dropout, gate_dropout, halting_reads, count_padding.
        Its weights that nothing ever uses are left out.

    Args:
        num_tokens: Size of the vocabulary.
        num_classes: Number of answers.
        attention: ``"absolute"``, ``"relative"``, ``"absolute_relative"``, ``"geometric"`` or
            ``"stick_breaking"``.
        positions: Added to the embeddings: ``"sinusoidal"``, ``"randomised"`` or ``"none"``; by
            default sinusoidal for absolute attention and none for the others. Absolute attention
            without positions is NoPE.
        num_positions: How many places randomised positions are drawn from.
        gate: Whether columns have copy gates.
        update: What an update with a gate goes through: ``"norm"`` or ``"tanh"``; by default as the
            equation says.
        shared: Whether all layers have the same weights.
        halting: Adaptive computation time: None, ``"graves"`` or ``"universal"``.
        halting_reads: Whether the halting unit reads the state ``"before"`` a step, as in the code,
            or ``"after"`` it; by default after for graves, before for universal.
        count_padding: Whether padding counts in the mean remainder, as in the code.
        features: Number of features of a column.
        hidden_features: Number of hidden features of the feed-forward block.
        num_heads: Number of heads of the attention.
        num_layers: Number of layers; if they are shared, how often the layer is applied.
        test_layers: The same when not training, for shared layers; as in training by default.
        dropout: Share of what attention reads, of hidden features and, without a gate, of what the
            feed-forward block returns that is dropped in training.
        attention_dropout: Share of the attention weights (absolute, stick-breaking) or of channels
            (the others) that are dropped in training; the code has none for absolute attention.
        gate_dropout: Share of the columns that keep their state in a training step.
        embedding_dropout: Share of the embeddings, positions included, that are dropped in
            training; 0.1 in the code's absolute transformers, 0 in its others.
        dropout_of: Whose channels are dropped: ``"queries"`` as in the text or ``"keys"`` as in the
            code.
        readout: What the answer is read from: the ``"last"`` or ``"first"`` column, or all of them
            by ``"attention"``.
        normalise: Whether geometric weights of a target are divided by their sum; by default where
            there is no gate, as in the code.
        initial: Initial weights of absolute and relative attention: ``"xavier"`` or, as in the
            code, ``"csordas2022"``.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        tokens (batch, seq), lengths (batch,) -> logits (batch, num_classes).

    Raises:
        UserError: For sizes below 1, unknown choices, or test_layers for separate layers.

    Example:
        >>> model = Transformer(17, 8, attention="relative", gate=True, num_layers=4)
        >>> model(torch.tensor([[8, 9, 1], [10, 2, 0]]), torch.tensor([3, 2])).shape
        torch.Size([2, 8])

    References:
        vaswani2017, csordas2023, dai2019, dehghani2019, kazemnejad2023, ruoss2023, tan2024
    """

    def __init__(
        self,
        num_tokens: int,
        num_classes: int,
        *,
        attention: AttentionKind = "absolute",
        positions: Literal["sinusoidal", "randomised", "none"] | None = None,
        num_positions: int = 2048,
        gate: bool = False,
        update: UpdateKind | None = None,
        shared: bool = True,
        halting: Literal["graves", "universal"] | None = None,
        halting_reads: Literal["before", "after"] | None = None,
        count_padding: bool = False,
        features: int = 128,
        hidden_features: int = 256,
        num_heads: int = 4,
        num_layers: int = 11,
        test_layers: int | None = None,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        gate_dropout: float = 0.0,
        embedding_dropout: float = 0.0,
        dropout_of: Literal["queries", "keys"] = "queries",
        readout: Literal["last", "first", "attention"] = "last",
        normalise: bool | None = None,
        initial: Literal["xavier", "csordas2022"] = "xavier",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if test_layers is not None and not shared:
            raise UserError(
                f"Transformer: test_layers needs shared layers; got {test_layers} for separate "
                "ones. Leave it out, or set shared=True."
            )
        test_layers = num_layers if test_layers is None else test_layers
        sizes = {"num_tokens": num_tokens, "num_classes": num_classes, "num_layers": num_layers}
        for name, size in (sizes | {"test_layers": test_layers}).items():
            require_at_least("Transformer", name, size, 1)
        require_choice("Transformer", "attention", attention, ATTENTIONS)
        require_choice("Transformer", "readout", readout, ("last", "first", "attention"))
        require_choice("Transformer", "dropout_of", dropout_of, ("queries", "keys"))
        if update is None:
            update = "tanh" if gate and attention != "geometric" else "norm"
        require_choice("Transformer", "update", update, ("norm", "tanh") if gate else ("norm",))
        self.num_tokens, self.num_classes, self.readout = num_tokens, num_classes, readout
        self.shared, self.num_layers, self.test_layers = shared, num_layers, test_layers
        common: dict[str, Any] = {"generator": generator, "device": device, "dtype": dtype}
        options: dict[str, Any] = {}
        if attention not in ("absolute", "stick_breaking"):
            options["dropout_of"] = dropout_of
        require_choice("Transformer", "initial", initial, ("xavier", "csordas2022"))
        if attention in ("absolute", "relative", "absolute_relative"):
            options["initial"] = initial
        if attention == "geometric":
            options["normalise"] = not gate if normalise is None else normalise
        self.embedding = nn.Parameter(
            torch.empty(num_tokens + NUM_ENDS, features, device=device, dtype=dtype)
        )
        self.positions = PositionEncoding(
            features, kind=positions or ("sinusoidal" if attention == "absolute" else "none"),
            dropout=embedding_dropout, num_positions=num_positions, **common,
        )  # fmt: skip
        self.layers = nn.ModuleList(
            TransformerLayer(
                attention, features, hidden_features, num_heads, gate=gate, update=update,
                dropout=dropout, attention_dropout=attention_dropout, gate_dropout=gate_dropout,
                attention_options=options, common=common,
            )
            for _ in range(1 if shared else num_layers)
        )  # fmt: skip
        self.halting = (
            AdaptiveComputation(
                features, variant=halting, reads=halting_reads, count_padding=count_padding,
                **common,
            )
            if halting is not None
            else None
        )  # fmt: skip
        self.attention_readout = (
            AttentionReadout(features, num_heads, **common) if readout == "attention" else None
        )
        self.weight_out = nn.Parameter(self.embedding.new_empty(num_classes, features))
        self.bias_out = nn.Parameter(self.embedding.new_empty(num_classes))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        fill_normal(self.embedding, 0.0, 1.0, generator)
        for part in (self.positions, *self.layers, self.halting, self.attention_readout):
            if part is not None:
                part.reset_parameters(generator)
        bound = self.weight_out.shape[1] ** -0.5
        fill_uniform(self.weight_out, -bound, bound, generator)
        fill_uniform(self.bias_out, -bound, bound, generator)

    def passes(self) -> list[TransformerLayer]:
        """Return the layers in the order in which they are applied."""
        layers: list[Any] = list(self.layers)
        if self.shared:
            return layers * (self.num_layers if self.training else self.test_layers)
        return layers

    def step(
        self, state: Tensor, valid: Tensor, layer: TransformerLayer
    ) -> tuple[Tensor, Tensor | None]:
        """Apply a layer: the columns after it, and their gates if they have some."""
        columns, gates = layer(state, valid)
        return columns, gates

    def start(self, tokens: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return the columns before the first layer, and which of them are not padding."""
        columns, valid = add_ends(tokens, lengths, self.num_tokens)
        return self.positions(F.embedding(columns, self.embedding)), valid

    def outcome(
        self, states: Sequence[Tensor], valid: Tensor
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return the columns to read, their mean remainder, and in how many steps each of them ran.

        Without halting the columns are the last states, and nothing remains.
        """
        if self.halting is None:
            return states[-1], states[-1].new_zeros(()), None
        progress = self.halting.start(states[0], valid)
        for number, (before, after) in enumerate(pairwise(states), 1):
            progress = self.halting.step(progress, before, after, last=number == len(states) - 1)
        return self.halting.output(progress)

    def answer(self, columns: Tensor, lengths: Tensor) -> Tensor:
        """Return the logits of the classes that the columns spell."""
        last = lengths + 1
        if self.attention_readout is not None:
            place = torch.arange(columns.shape[1], device=columns.device)
            read = self.attention_readout(columns, place <= last.unsqueeze(-1))
        else:
            read = column_at(columns, last) if self.readout == "last" else columns[:, 0]
        return F.linear(read, self.weight_out, self.bias_out)

    def logits_and_cost(self, tokens: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits, and the mean remainder of the columns: 0 without halting."""
        state, valid = self.start(tokens, lengths)
        states = [state]
        for layer in self.passes():
            state, _ = self.step(state, valid, layer)
            states = [state] if self.halting is None else [*states, state]
        columns, cost, _ = self.outcome(states, valid)
        return self.answer(columns, lengths), cost

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor | Output:
        """Return the logits of the classes; in training with halting, its cost as well."""
        logits, cost = self.logits_and_cost(tokens, lengths)
        if self.halting is None or not self.training:
            return logits
        return Output(logits, terms={"halting": cost})

    def trace(self, tokens: Tensor, lengths: Tensor) -> dict[str, Tensor]:
        """Return what happens in every step, with column 0 for the token before the sequence.

        Returns:
            ``attention`` (step, batch, head, target, source), ``states`` (step + 1, batch, column,
            features) and ``logits``; with copy gates ``gates`` (step, batch, column, features);
            with halting ``halting_steps`` (batch, column), 0 for padding.
        """
        state, valid = self.start(tokens, lengths)
        states, gates, attention = [state], [], []
        for layer in self.passes():
            attention.append(layer.attention.weights(state, valid))
            state, gate = self.step(state, valid, layer)
            states.append(state)
            gates += [] if gate is None else [gate]
        columns, _, halting_steps = self.outcome(states, valid)
        trace = {
            "attention": torch.stack(attention),
            "states": torch.stack(states),
            "logits": self.answer(columns, lengths),
        }
        if gates:
            trace["gates"] = torch.stack(gates)
        if halting_steps is not None:
            trace["halting_steps"] = halting_steps
        return trace
