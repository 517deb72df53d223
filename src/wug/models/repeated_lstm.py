"""LSTM that sees the same input for some steps before it answers (Csordás et al., 2021).

It may schedule its work freely; or pairs are shown and answered one after the other.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import UserError, require_at_least
from wug.core.registry import register
from wug.functional.initialise import fill_normal
from wug.functional.lstm_cell import lstm_cell

# Of Glorot's weights before a tanh.
TANH_GAIN = 5 / 3


@register(
    "model",
    name="Repeated LSTM",
    references=("csordas2023", "hochreiter1997"),
    equation=r"h_t, c_t = \mathrm{LSTM}(x, h_{t-1}, c_{t-1}), \qquad y = V h_T + d",
    failure_modes=("Its work has to fit into the steps that it is given.",),
    interface="numbers",
)
class RepeatedLSTM(nn.Module):
    """Recurrent layers over one input that is repeated, and a linear read-out.

    Equation (csordas2023, appendices B.3.4 and B.3.5): h_t, c_t = LSTM(x, h_(t-1), c_(t-1)), y = V
    h_T + d.

    Notation:
        V -> weight, d -> bias; what the gates see of input and output ->
        input_weights and recurrent_weights.

    Departures:
        One bias for each gate. As in the authors' code, forget gates start with 1, gates with
        Gaussian weights, and what the candidate sees of the last output with an orthogonal matrix.

    Args:
        in_features: Number of inputs.
        out_features: Number of outputs.
        features: Size of each layer.
        num_layers: Number of recurrent layers.
        num_steps: How often the input is shown, for each turn.
        turns: 1: everything at once. 2: the first half of the inputs for ``num_steps``, the rest
            being 0, then the second half, without resetting the state; the outputs' first half is
            read after the first turn, the second half after the second.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Raises:
        UserError: A size is below 1, or halves of odd sizes are asked for.

    Example:
        >>> RepeatedLSTM(4, 2, features=8, turns=2)(torch.ones(5, 4)).shape
        torch.Size([5, 2])

    References:
        csordas2023, hochreiter1997
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        features: int = 256,
        num_layers: int = 2,
        num_steps: int = 3,
        turns: int = 1,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        for name, size in {
            "in_features": in_features, "out_features": out_features, "features": features,
            "num_layers": num_layers, "num_steps": num_steps, "turns": turns,
        }.items():  # fmt: skip
            require_at_least("RepeatedLSTM", name, size, 1)
        if turns > 1 and (in_features % turns or out_features % turns):
            raise UserError(
                f"RepeatedLSTM: inputs and outputs must be divisible into {turns} turns; got "
                f"{in_features} and {out_features}."
            )
        self.in_features, self.out_features, self.features = in_features, out_features, features
        self.num_steps, self.turns = num_steps, turns
        self.weight = nn.Parameter(torch.empty(out_features, features, device=device, dtype=dtype))
        empty = self.weight.new_empty
        self.bias = nn.Parameter(empty(out_features))
        fans_in = [in_features, *[features] * (num_layers - 1)]
        self.input_weights = nn.ParameterList(empty(4 * features, fan) for fan in fans_in)
        self.recurrent_weights = nn.ParameterList(empty(4 * features, features) for _ in fans_in)
        self.biases = nn.ParameterList(empty(4 * features) for _ in fans_in)
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        for name, weight in self.named_parameters():
            if "bias" in name:
                nn.init.zeros_(weight)
            else:
                out = self.out_features if name == "weight" else self.features
                fill_normal(weight, 0.0, math.sqrt(2 / (weight.shape[1] + out)), generator)
        for bias in self.biases:
            nn.init.ones_(bias[self.features : 2 * self.features])
        with torch.no_grad():
            for weight in (*self.input_weights, *self.recurrent_weights):
                weight[2 * self.features : 3 * self.features] *= TANH_GAIN
            for weight in self.recurrent_weights:
                candidate = weight[2 * self.features : 3 * self.features]
                nn.init.orthogonal_(candidate, TANH_GAIN / math.sqrt(2), generator=generator)

    def inputs(self, x: Tensor) -> list[Tensor]:
        """Return what is seen in each turn."""
        if self.turns == 1:
            return [x]
        size = self.in_features // self.turns
        index = torch.arange(self.in_features, device=x.device) // size
        return [x * (index == turn) for turn in range(self.turns)]

    def outputs(self, x: Tensor) -> list[Tensor]:
        """Return what the last layer says at the end of each turn."""
        zeros = x.new_zeros(*x.shape[:-1], self.features)
        hidden, cells = [zeros] * len(self.biases), [zeros] * len(self.biases)
        found = []
        for seen in self.inputs(x):
            always = F.linear(seen, self.input_weights[0], self.biases[0])
            for _ in range(self.num_steps):
                value = seen
                for i, bias in enumerate(self.biases):
                    gates = F.linear(value, self.input_weights[i], bias) if i else always
                    gates = gates + F.linear(hidden[i], self.recurrent_weights[i])
                    value, cells[i] = lstm_cell(gates, cells[i])
                    hidden[i] = value
            found.append(value)
        return found

    def forward(self, x: Tensor) -> Tensor:
        """Return the answers."""
        size = self.out_features // self.turns
        answers = [
            F.linear(value, self.weight, self.bias)[..., turn * size : (turn + 1) * size]
            for turn, value in enumerate(self.outputs(x))
        ]
        return torch.cat(answers, -1)

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return what the last layer says at the end of each turn, and the answers."""
        return {"hidden": torch.stack(self.outputs(x), -2), "output": self(x)}
