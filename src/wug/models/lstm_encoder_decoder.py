"""LSTM encoder-decoder (Sutskever et al., 2014), with or without attention (Luong et al., 2015).

The recurrent baseline of tasks that map sequences to sequences.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.functional.initialise import fill_normal, fill_uniform
from wug.functional.padding import mask_padding
from wug.functional.sequence_ends import NUM_ENDS, add_ends
from wug.functional.streams import dropout
from wug.functional.transduction import greedy


class State(NamedTuple):
    """Hidden state and memory cell of every layer, and what the last step told the next one.

    Shape:
        hidden, cell (layer, batch, features); fed (batch, features).
    """

    hidden: Tensor
    cell: Tensor
    fed: Tensor


class Memory(NamedTuple):
    """What a decoder reads of the source: outputs of the encoder, and which are not padding."""

    outputs: Tensor
    valid: Tensor


def lstm_cell(x: Tensor, hidden: Tensor, cell: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Take one step of an LSTM (hochreiter1997, with forget gates).

    Shape:
        x (batch, in), hidden and cell (batch, features), weight (4 features, in + features), bias
        (4 features,) -> (2, batch, features): hidden state and cell.

    Example:
        >>> zeros = torch.zeros(1, 2)
        >>> lstm_cell(zeros, zeros, zeros + 1, torch.zeros(8, 4), torch.zeros(8))[1]
        tensor([[0.5000, 0.5000]])
    """
    gates = F.linear(torch.cat((x, hidden), -1), weight, bias)
    write, keep, candidate, show = gates.chunk(4, -1)
    cell = keep.sigmoid() * cell + write.sigmoid() * candidate.tanh()
    return torch.stack((show.sigmoid() * cell.tanh(), cell))


@register(
    "model",
    name="LSTM encoder-decoder",
    references=("sutskever2014", "luong2015", "hochreiter1997", "csordas2023"),
    equation=r"\begin{aligned} h_i, c_i &= \mathrm{LSTM}(E t_{i-1}, h_{i-1}, c_{i-1}), \quad "
    r"a_{i,j} = \mathrm{softmax}_j(h_i^\top W_a \bar h_j), \\ "
    r"\tilde h_i &= \tanh(W_c [\textstyle\sum_j a_{i,j} \bar h_j; h_i]), \quad "
    r"P(t_i) = \mathrm{softmax}(V \tilde h_i + d) \end{aligned}",
    failure_modes=(
        "Without attention the source has to fit into one state.",
        "It learns where outputs of training end, and ends longer ones there too (newman2020).",
    ),
    interface="transduction",
)
class LSTMEncoderDecoder(nn.Module):
    """Two LSTMs, the second of which starts where the first one ends, and may look back.

    Equation (luong2015, Eqs. 5-8): h_i, c_i = LSTM(E t_{i-1}, h_{i-1}, c_{i-1}); a_ij =
    softmax_j(h_i^T W_a hbar_j); htilde_i = tanh(W_c [sum_j a_ij hbar_j; h_i]); P(t_i) =
    softmax(V htilde_i + d). Without attention htilde_i = h_i.

    Notation:
        hbar -> outputs of the encoder, W_a -> weight_score, W_c -> weight_mix, V -> weight_out,
        d -> bias_out, E -> target_embedding.

    Departures:
        Sutskever et al. turn sources around; here they are read forwards. One bias per gate instead
        of torch's two, which add up. The state that a decoder starts with has seen the end token of
        the source; in csordas2023's code it has not.

    Args:
        num_source_tokens: Size of the vocabulary of sources.
        num_target_tokens: Size of the vocabulary of targets, without the end token.
        attention: Whether the decoder reads the outputs of the encoder: ``"general"`` or
            ``"none"``.
        input_feeding: Whether each step is also told htilde of the step before (luong2015, 3.3).
        features: Size of the states.
        embedding_features: Size of the embeddings; as the states by default.
        num_layers: Number of recurrent layers of the encoder, and of the decoder.
        dropout: Share of the embeddings, and of what one layer tells the next, that is dropped in
            training.
        teacher_forcing: Share of the training batches in which the decoder is fed the right answer;
            in the others it is fed what it wrote itself.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        source (batch, seq), source_lengths (batch,), target_in (batch, target seq) -> logits
        (batch, target seq, num_target_tokens + 1), the last class the end.

    Raises:
        UserError: For sizes below 1, an unknown attention, or input feeding without attention.

    Example:
        >>> model = LSTMEncoderDecoder(13, 6, attention="general")
        >>> source, lengths = torch.tensor([[1, 2, 3], [4, 5, 0]]), torch.tensor([3, 2])
        >>> model(source, lengths, torch.tensor([[6, 0, 1, 2], [6, 3, 4, 5]])).shape
        torch.Size([2, 4, 7])

    References:
        sutskever2014, luong2015, hochreiter1997, csordas2023
    """

    def __init__(
        self,
        num_source_tokens: int,
        num_target_tokens: int,
        *,
        attention: Literal["general", "none"] = "general",
        input_feeding: bool = False,
        features: int = 200,
        embedding_features: int | None = None,
        num_layers: int = 2,
        dropout: float = 0.1,
        teacher_forcing: float = 1.0,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        embedding_features = features if embedding_features is None else embedding_features
        for name, size in {
            "num_source_tokens": num_source_tokens,
            "num_target_tokens": num_target_tokens,
            "features": features,
            "embedding_features": embedding_features,
            "num_layers": num_layers,
        }.items():
            require_at_least("LSTMEncoderDecoder", name, size, 1)
        require_choice("LSTMEncoderDecoder", "attention", attention, ("general", "none"))
        if input_feeding and attention == "none":
            raise UserError(
                "LSTMEncoderDecoder: input_feeding needs an attention; got none. Leave it out, or "
                'set attention="general".'
            )
        self.num_source_tokens, self.num_target_tokens = num_source_tokens, num_target_tokens
        self.features, self.num_layers, self.dropout = features, num_layers, dropout
        self.attention, self.input_feeding = attention, input_feeding
        if not 0 <= teacher_forcing <= 1:
            raise UserError(
                f"LSTMEncoderDecoder: teacher_forcing must be in [0, 1]; got {teacher_forcing}."
            )
        self.teacher_forcing = teacher_forcing
        self.source_embedding = nn.Parameter(
            torch.empty(
                num_source_tokens + NUM_ENDS, embedding_features, device=device, dtype=dtype
            )
        )
        empty = self.source_embedding.new_empty
        self.target_embedding = nn.Parameter(empty(num_target_tokens + 1, embedding_features))
        first = {"encoder": embedding_features, "decoder": embedding_features}
        first["decoder"] += features if input_feeding else 0
        self.weights, self.biases = nn.ParameterDict(), nn.ParameterDict()
        for side, in_features in first.items():
            for layer in range(num_layers):
                inputs = features + (features if layer else in_features)
                self.weights[f"{side}_{layer}"] = nn.Parameter(empty(4 * features, inputs))
                self.biases[f"{side}_{layer}"] = nn.Parameter(empty(4 * features))
        if attention == "general":
            self.weight_score = nn.Parameter(empty(features, features))
            self.weight_mix = nn.Parameter(empty(features, 2 * features))
        self.weight_out = nn.Parameter(empty(num_target_tokens + 1, features))
        self.bias_out = nn.Parameter(empty(num_target_tokens + 1))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights, from the distributions of torch's own modules."""
        bound = 1 / math.sqrt(self.features)
        for name, parameter in self.named_parameters():
            if name.endswith("embedding"):
                fill_normal(parameter, 0.0, 1.0, generator)
            else:
                width = bound / math.sqrt(2) if name == "weight_mix" else bound
                fill_uniform(parameter, -width, width, generator)

    def layers(self, side: str, x: Tensor, state: State) -> State:
        """Take one step of all layers of the encoder or the decoder."""
        hidden, cell = [], []
        for layer in range(self.num_layers):
            name = f"{side}_{layer}"
            x = dropout(x, self.dropout, self.training)
            stepped = lstm_cell(
                x, state.hidden[layer], state.cell[layer], self.weights[name], self.biases[name]
            )
            x = stepped[0]
            hidden.append(stepped[0])
            cell.append(stepped[1])
        return State(torch.stack(hidden), torch.stack(cell), state.fed)

    def encode(self, source: Tensor, source_lengths: Tensor) -> tuple[State, Memory]:
        """Return the state after each source, and what the decoder may read of it."""
        tokens, valid = add_ends(source, source_lengths, self.num_source_tokens)
        x = F.embedding(tokens, self.source_embedding)
        zeros = x.new_zeros(self.num_layers, len(source), self.features)
        state, outputs = State(zeros, zeros, zeros[0]), []
        for index in range(tokens.shape[1]):
            stepped = self.layers("encoder", x[:, index], state)
            outputs.append(stepped.hidden[-1])
            # Behind its end a sequence keeps its state.
            going = valid[:, index].unsqueeze(-1)
            state = State(*(torch.where(going, a, b) for a, b in zip(stepped, state, strict=True)))
        return state, Memory(torch.stack(outputs, 1), valid)

    def scores(self, hidden: Tensor, memory: Memory) -> Tensor:
        """Return how much of every source column a state of the decoder reads, (batch, source)."""
        logits = (F.linear(hidden, self.weight_score).unsqueeze(1) @ memory.outputs.mT).unsqueeze(1)
        return mask_padding(logits, memory.valid).softmax(-1)[:, 0, 0]

    def step(self, token: Tensor, state: State, memory: Memory) -> State:
        """Take one step of the decoder; what it shows is the state's `fed`."""
        x = F.embedding(token, self.target_embedding)
        x = torch.cat((x, state.fed), -1) if self.input_feeding else x
        state = self.layers("decoder", x, state)
        shown = state.hidden[-1]
        if self.attention == "general":
            read = (self.scores(shown, memory).unsqueeze(1) @ memory.outputs).squeeze(1)
            shown = F.linear(torch.cat((read, shown), -1), self.weight_mix).tanh()
        return State(state.hidden, state.cell, shown)

    def answer(self, shown: Tensor) -> Tensor:
        """Return the logits of the next tokens."""
        shown = dropout(shown, self.dropout, self.training)
        return F.linear(shown, self.weight_out, self.bias_out)

    def states(self, source: Tensor, source_lengths: Tensor, target_in: Tensor) -> list[State]:
        """Return the state after every token that the decoder is fed.

        That is the target; in training, in some batches, it is what the decoder wrote itself.
        """
        state, memory = self.encode(source, source_lengths)
        may_write = self.training and self.teacher_forcing < 1
        states: list[State] = []
        if may_write:  # one coin for the whole batch
            coin = dropout(state.fed.new_ones(()), 1 - self.teacher_forcing)
            forced = coin > 0
        for token in target_in.unbind(1):
            if may_write and states:
                token = torch.where(forced, token, self.answer(state.fed).argmax(-1))
            state = self.step(token, state, memory)
            states.append(state)
        return states

    def forward(self, source: Tensor, source_lengths: Tensor, target_in: Tensor) -> Tensor:
        """Return the logits of every next token, for a target that starts with the start token."""
        states = self.states(source, source_lengths, target_in)
        return self.answer(torch.stack([state.fed for state in states], 1))

    @torch.no_grad()
    def decode(
        self,
        source: Tensor,
        source_lengths: Tensor,
        max_length: int,
        *,
        oracle: Literal["forbidden", "afterwards"] | None = None,
        stop: bool = True,
    ) -> Tensor:
        """Write the most likely next token again and again.

        Args:
            source: Sources, with anything behind their ends.
            source_lengths: Their numbers of tokens.
            max_length: How many tokens to write.
            oracle: None: as trained. ``"forbidden"``: the end token is never written.
                ``"afterwards"``: as trained, but where it wrote the end, its next best token is
                returned.
            stop: Whether to stop as soon as all sequences have ended, which depends on values.

        Shape:
            source (batch, seq), source_lengths (batch,) -> (batch, max_length); the end token from
            where a sequence ended, if there is no oracle.
        """
        state, memory = self.encode(source, source_lengths)

        def step(fed: Tensor) -> Tensor:
            nonlocal state
            state = self.step(fed[:, -1], state, memory)
            return self.answer(state.fed)

        return greedy(
            step, source_lengths, self.num_target_tokens, max_length, oracle=oracle, stop=stop
        )

    def trace(self, source: Tensor, source_lengths: Tensor, target_in: Tensor) -> dict[str, Tensor]:
        """Return what happens inside, with column 0 of the source for the token before it.

        Returns:
            ``states`` of the decoder's last layer (batch, target, features) and ``logits``; with
            attention ``cross_attention`` (layer, batch, head, target, source), one of each.
        """
        _, memory = self.encode(source, source_lengths)
        states = self.states(source, source_lengths, target_in)
        hidden = torch.stack([state.hidden[-1] for state in states], 1)
        shown = torch.stack([state.fed for state in states], 1)
        trace = {"states": hidden, "logits": self.answer(shown)}
        if self.attention == "general":
            read = torch.stack([self.scores(one, memory) for one in hidden.unbind(1)], 1)
            trace["cross_attention"] = read[None, :, None]
        return trace
