"""LSTM with an answer in every step (Hochreiter and Schmidhuber, 1997).

The recurrent rival of networks with an external memory. torch's own is one fused kernel, which
`vmap` can't stack; this one is written in products, and agrees with it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import require_at_least
from wug.core.registry import register
from wug.functional.initialise import fill_normal, fill_uniform
from wug.functional.lstm_cell import lstm_cell
from wug.functional.output import Output
from wug.functional.step_inputs import step_inputs


class LSTMState(NamedTuple):
    """What the network carries from one step to the next.

    Shape:
        One (batch, features) for each layer.
    """

    hidden: tuple[Tensor, ...]
    cells: tuple[Tensor, ...]


@register(
    "model",
    name="LSTM over steps",
    references=("hochreiter1997",),
    equation=r"h_t, c_t = \mathrm{LSTM}(x_t, h_{t-1}, c_{t-1}), \qquad y_t = V h_t + d",
    failure_modes=(
        "What it remembers has to fit into one vector: longer lists need a larger one.",
    ),
    interface="steps",
)
class StepLSTM(nn.Module):
    """Recurrent layers and a linear read-out in every step.

    Equation (hochreiter1997, with forget gates): h_t, c_t = LSTM(x_t, h_{t-1}, c_{t-1}), y_t = V
    h_t + d.

    Notation:
        V -> weight, d -> bias; of a layer, what the gates see of input and output -> layer_weights,
        and their biases -> layer_biases.

    Departures:
        One bias for each gate where torch has two, whose sum is one; forget gates start with 1.
        Weights start uniform in +-1 / sqrt(features), as in torch.

    Args:
        in_features: Number of inputs of a step; with tokens, size of the vocabulary.
        out_features: Number of outputs of a step.
        features: Size of each layer.
        num_layers: Number of recurrent layers.
        tokens: Whether inputs are tokens, which are embedded, instead of vectors.
        embedding_features: Size of the embedding of tokens.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        x (batch, seq, in_features), or tokens (batch, seq), int64 -> answer
        (batch, seq, out_features).

    Raises:
        UserError: For sizes below 1.

    Example:
        >>> model, x = StepLSTM(9, 8), torch.ones(2, 5, 9)
        >>> first = model(x[:, :2])
        >>> rest = model(x[:, 2:], state=first.state)
        >>> torch.equal(rest.answer, model(x).answer[:, 2:])
        True

    References:
        hochreiter1997
    """

    recurrent = True

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        features: int = 128,
        num_layers: int = 1,
        tokens: bool = False,
        embedding_features: int = 128,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        for name, size in {
            "in_features": in_features,
            "out_features": out_features,
            "features": features,
            "num_layers": num_layers,
            "embedding_features": embedding_features,
        }.items():
            require_at_least("StepLSTM", name, size, 1)
        self.in_features, self.out_features = in_features, out_features
        self.features, self.num_layers = features, num_layers
        self.weight = nn.Parameter(torch.empty(out_features, features, device=device, dtype=dtype))
        empty = self.weight.new_empty
        self.bias = nn.Parameter(empty(out_features))
        self.embedding = nn.Parameter(empty(in_features, embedding_features)) if tokens else None
        seen = embedding_features if tokens else in_features
        self.layer_weights = nn.ParameterList(
            nn.Parameter(empty(4 * features, (features if layer else seen) + features))
            for layer in range(num_layers)
        )
        self.layer_biases = nn.ParameterList(
            nn.Parameter(empty(4 * features)) for _ in range(num_layers)
        )
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        bound, size = 1 / math.sqrt(self.features), self.features
        for parameter in (self.weight, self.bias, *self.layer_weights, *self.layer_biases):
            fill_uniform(parameter, -bound, bound, generator)
        for bias in self.layer_biases:
            nn.init.ones_(bias[size : 2 * size])
        if self.embedding is not None:
            fill_normal(self.embedding, 0.0, 1.0, generator)

    def initial_state(self, rows: int) -> LSTMState:
        """Return the state before the first step: everything is 0."""
        layers = (self.weight.new_zeros(rows, self.features),) * self.num_layers
        return LSTMState(layers, layers)

    def inputs(self, x: Tensor) -> Tensor:
        """Return the vectors of all steps: the inputs, or the embeddings of tokens."""
        return step_inputs("StepLSTM", x, self.in_features, self.embedding)

    def step(self, x: Tensor, state: LSTMState) -> tuple[Tensor, LSTMState, dict[str, Tensor]]:
        """Do one step: the answer, the next state, and what the last layer said."""
        hidden, cells = [], []
        layers = zip(self.layer_weights, self.layer_biases, state.hidden, state.cells, strict=True)
        for weight, bias, own, cell in layers:
            x, memory = lstm_cell(F.linear(torch.cat((x, own), -1), weight, bias), cell)
            hidden.append(x)
            cells.append(memory)
        answer = F.linear(x, self.weight, self.bias)
        return answer, LSTMState(tuple(hidden), tuple(cells)), {"hidden": x}

    def forward(self, x: Tensor, *, state: LSTMState | None = None) -> Output:
        """Return the answer of every step, and the state after the last."""
        state = self.initial_state(len(x)) if state is None else state
        answers = []
        # Else strides would depend on the length, and a compiled step would be compiled for each.
        for one in self.inputs(x).transpose(0, 1).contiguous():
            answer, state, _ = self.step(one, state)
            answers.append(answer)
        return Output(torch.stack(answers, 1), state=state)

    def trace(self, x: Tensor, state: LSTMState | None = None) -> dict[str, Tensor]:
        """Return the last layer's outputs in every step, and the answers."""
        state = self.initial_state(len(x)) if state is None else state
        hidden, answers = [], []
        for one in self.inputs(x).unbind(1):
            answer, state, inside = self.step(one, state)
            hidden.append(inside["hidden"])
            answers.append(answer)
        return {"hidden": torch.stack(hidden, 1), "output": torch.stack(answers, 1)}
