"""The Neural Data Router (Csordás et al., 2022): a transformer that routes data between columns.

One layer is applied again and again. In each step a column reads the closest match, and its gate
decides whether it takes the result or waits for its turn, unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.functional.initialise import fill_normal, fill_uniform
from wug.functional.output import Output
from wug.functional.parts import sum_terms
from wug.functional.sequence_ends import NUM_ENDS, add_ends, column_at
from wug.functional.streams import dropout
from wug.layers.copy_gate import CopyGate, gated_copy
from wug.layers.feed_forward import FeedForward
from wug.layers.geometric_attention import GeometricAttention
from wug.layers.sigma_moe import SigmaMoE

# Factor of the initial weights before a layer norm, as for tanh.
GAIN = 5 / 3


@register(
    "model",
    name="NDR",
    interface="classification",
    references=("csordas2022", "csordas2023", "csordas2022ctl"),
    equation=r"\begin{aligned} a &= \mathrm{LN}(h + \mathrm{GeometricAttention}(h)) \\ "
    r"u &= \mathrm{LN}(\mathrm{FFN}(a)), \quad g = \sigma(\mathrm{FFN}^{\mathrm{gate}}(a)) \\ "
    r"h' &= g \odot u + (1 - g) \odot h \end{aligned}",
    failure_modes=(
        "With fewer steps than the problem is deep it fuses operations and does not generalise "
        "(csordas2023, table 5.2).",
        "Functions that never met in training may write the same symbol differently: most seeds "
        "fail on CTL++ (csordas2023, table 6.1).",
    ),
)
class NDR(nn.Module):
    """Sequence classifier: geometric attention, copy gates and shared layers.

    Equation (csordas2023, Eqs. 5.1-5.4): a = LN(h + GeometricAttention(h)), u = LN(FFN(a)),
    g = sigmoid(FFN_gate(a)), h' = g u + (1 - g) h, in every step and column.

    Notation:
        h -> state, a -> read, u -> update, g -> gates, T -> num_steps, d -> features,
        d_FF -> hidden_features.

    Departures:
        Gate dropout is not in the text of csordas2023's chapter 5; its code has it.

    Args:
        num_tokens: Size of the vocabulary.
        num_classes: Number of answers.
        features: Number of features of a column.
        hidden_features: Number of hidden features of the feed-forward block.
        num_heads: Number of heads of the attention.
        num_steps: How often the layer is applied.
        steps_by_length: Pairs of a number of tokens and a number of steps, from short to long: in
            training, a batch of at most so many tokens takes so many steps, a longer one num_steps.
            Short problems need few, and cost less so.
        test_steps: The number of steps when not training; num_steps by default.
        modified: The variant of csordas2023, Eqs. E.1 and E.2: GELUs, and a residual connection
            around the feed-forward block.
        dropout: Share of what is read, and of hidden features, that is dropped in training; the
            modified variant drops of what is read alone.
        attention_dropout: Share of the channels of queries or keys that are dropped in training.
        gate_dropout: Share of the columns that keep their state in a training step.
        dropout_of: ``"queries"`` as in the text or ``"keys"`` as in the code.
        biases: Whether keys and values have biases, as in csordas2022ctl's code.
        readout: Column whose last state is the answer: ``"last"`` or ``"first"``.
        num_experts: If given, the feed-forward block is a sigma-MoE of so many experts, which
            share the hidden features (csordas2023, section 7.6), and forward returns an `Output`
            with the term entropy, summed over the steps.
        top_k: Number of experts for a column.
        expert_dropout: Share of the experts that can't be chosen in a training step.
        tied: Whether answers are spelled as tokens are: the logit of class c is that of the
            embedding of token c, over the square root of the features. Not in the sources.
        initial: Initial weights: ``"csordas2022"``, or ``"csordas2022ctl"`` as in the code of the
            modified variant: those of the attention, and a smaller last matrix of the feed-forward
            block, which has a residual connection there.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        tokens (batch, seq), lengths (batch,) -> logits (batch, num_classes).

    Raises:
        UserError: For sizes below 1 or unknown choices.

    Example:
        >>> model = NDR(17, 8, features=16, hidden_features=32, num_steps=4)
        >>> model(torch.tensor([[8, 9, 1], [10, 2, 0]]), torch.tensor([3, 2])).shape
        torch.Size([2, 8])

    References:
        csordas2022, csordas2023, csordas2022ctl
    """

    def __init__(
        self,
        num_tokens: int,
        num_classes: int,
        *,
        features: int = 256,
        hidden_features: int = 512,
        num_heads: int = 1,
        num_steps: int = 14,
        steps_by_length: Sequence[tuple[int, int]] = (),
        test_steps: int | None = None,
        modified: bool = False,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        gate_dropout: float = 0.0,
        dropout_of: Literal["queries", "keys"] = "queries",
        biases: bool = False,
        readout: Literal["last", "first"] = "last",
        num_experts: int | None = None,
        top_k: int = 4,
        expert_dropout: float = 0.0,
        tied: bool = False,
        initial: Literal["csordas2022", "csordas2022ctl"] = "csordas2022",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("NDR", "num_tokens", num_tokens, 1)
        require_at_least("NDR", "num_classes", num_classes, 1)
        test_steps = num_steps if test_steps is None else test_steps
        require_at_least("NDR", "num_steps", num_steps, 1)
        require_at_least("NDR", "test_steps", test_steps, 1)
        require_choice("NDR", "readout", readout, ("last", "first"))
        if tied:
            require_at_least("NDR", "num_tokens (tied)", num_tokens, num_classes)
        self.num_tokens, self.num_classes, self.readout = num_tokens, num_classes, readout
        for length, steps in steps_by_length:
            require_at_least("NDR", "length of steps_by_length", length, 1)
            require_at_least("NDR", "steps of steps_by_length", steps, 1)
        self.num_steps, self.test_steps = num_steps, test_steps
        self.steps_by_length = tuple(steps_by_length)
        self.dropout, self.modified = dropout, modified
        hidden_dropout = 0.0 if modified else dropout
        self.embedding = nn.Parameter(
            torch.empty(num_tokens + NUM_ENDS, features, device=device, dtype=dtype)
        )
        self.attention = GeometricAttention(
            features, num_heads, dropout=attention_dropout, dropout_of=dropout_of,
            biases=biases, initial=initial, generator=generator, device=device, dtype=dtype,
        )  # fmt: skip
        activation: Literal["relu", "gelu"] = "gelu" if modified else "relu"
        self.feed_forward: FeedForward | SigmaMoE
        if num_experts is None:
            self.feed_forward = FeedForward(
                features, hidden_features=hidden_features, activation=activation,
                dropout=hidden_dropout, gain=GAIN if initial == "csordas2022" else 1.0,
                generator=generator, device=device, dtype=dtype,
            )  # fmt: skip
        else:
            self.stackable = False
            require_at_least("NDR", "num_experts", num_experts, 1)
            if hidden_features % num_experts:
                raise UserError(
                    "NDR: hidden_features must be a multiple of num_experts; got "
                    f"{hidden_features} and {num_experts}."
                )
            self.feed_forward = SigmaMoE(
                features, num_experts=num_experts, expert_features=hidden_features // num_experts,
                top_k=top_k, expert_dropout=expert_dropout, activation=activation,
                generator=generator, device=device, dtype=dtype,
            )  # fmt: skip
        self.gate = CopyGate(
            features, dropout=hidden_dropout, column_dropout=gate_dropout, gelu=modified,
            generator=generator, device=device, dtype=dtype,
        )  # fmt: skip
        self.read_norm = nn.LayerNorm(features, device=device, dtype=dtype)
        self.update_norm = nn.LayerNorm(features, device=device, dtype=dtype)
        self.weight_out = self.bias_out = None
        if not tied:
            self.weight_out = nn.Parameter(self.embedding.new_empty(num_classes, features))
            self.bias_out = nn.Parameter(self.embedding.new_empty(num_classes))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        fill_normal(self.embedding, 0.0, 1.0, generator)
        for layer in (self.attention, self.feed_forward, self.gate):
            layer.reset_parameters(generator)
        for norm in (self.read_norm, self.update_norm):
            norm.reset_parameters()
        if self.weight_out is not None and self.bias_out is not None:
            bound = self.weight_out.shape[1] ** -0.5
            fill_uniform(self.weight_out, -bound, bound, generator)
            fill_uniform(self.bias_out, -bound, bound, generator)

    def step(self, state: Tensor, valid: Tensor) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """Apply the layer once: columns, gates, and what experts add to the objective."""
        read = dropout(self.attention(state, valid), self.dropout, self.training)
        read = self.read_norm(state + read)
        mapped = self.feed_forward(read, valid)
        update, terms = (
            (mapped.answer, mapped.terms) if isinstance(mapped, Output) else (mapped, {})
        )
        update = self.update_norm(update + read if self.modified else update)
        gates = self.gate(read)
        return gated_copy(gates, update, state), gates, terms

    def start(self, tokens: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return the columns before the first step, and which of them are not padding."""
        columns, valid = add_ends(tokens, lengths, self.num_tokens)
        return F.embedding(columns, self.embedding), valid

    def answer(self, state: Tensor, lengths: Tensor) -> Tensor:
        """Return the logits of the classes that the columns spell."""
        read = column_at(state, lengths + 1) if self.readout == "last" else state[:, 0]
        if self.weight_out is not None:
            return F.linear(read, self.weight_out, self.bias_out)
        spelled = self.embedding[: self.num_classes]
        return F.linear(read, spelled * spelled.shape[1] ** -0.5)

    def steps_for(self, num_tokens: int) -> int:
        """Return how many steps a batch takes whose longest sequence has so many tokens."""
        if not self.training:
            return self.test_steps
        fitting = (steps for length, steps in self.steps_by_length if num_tokens <= length)
        return next(fitting, self.num_steps)

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor | Output:
        """Return the logits of the classes; with experts an `Output` of them and of their terms."""
        state, valid = self.start(tokens, lengths)
        total: dict[str, Tensor] = {}
        for _ in range(self.steps_for(tokens.shape[1])):
            state, _, terms = self.step(state, valid)
            total = sum_terms(total, terms)
        answer = self.answer(state, lengths)
        return Output(answer, total) if total else answer

    def trace(self, tokens: Tensor, lengths: Tensor) -> dict[str, Tensor]:
        """Return what happens in every step, with column 0 for the token before the sequence.

        Returns:
            ``attention`` (step, batch, head, target, source), ``gates`` (step, batch, column,
            features), ``states`` (step + 1, batch, column, features) and ``logits``.
        """
        state, valid = self.start(tokens, lengths)
        states, gates, attention = [state], [], []
        for _ in range(self.steps_for(tokens.shape[1])):
            attention.append(self.attention.weights(state, valid))
            state, gate, _ = self.step(state, valid)
            states.append(state)
            gates.append(gate)
        return {
            "attention": torch.stack(attention),
            "gates": torch.stack(gates),
            "states": torch.stack(states),
            "logits": self.answer(state, lengths),
        }
