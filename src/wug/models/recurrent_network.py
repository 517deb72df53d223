"""Plain recurrent networks: LSTM, GRU, UGRNN, and the vanilla network with tanh or ReLU.

The baselines for tasks over time. torch's own are one fused kernel each, which `vmap` can't stack;
these are written in products and loops, and agree with them.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.functional.initialise import fill_uniform
from wug.functional.lstm_cell import lstm_cell
from wug.functional.weighted_sum import weighted_sum

State = tuple[Tensor, ...]


def lstm_step(x: Tensor, recurrent: Tensor, state: State) -> State:
    """Return the next output and memory of an LSTM.

    Args:
        x: What the four gates see of the input.
        recurrent: What they see of the last output.
        state: The last output and memory.
    """
    return lstm_cell(x + recurrent, state[1])


def gru_step(x: Tensor, recurrent: Tensor, state: State) -> State:
    """Return the next output of a GRU; the arguments are those of `lstm_step`."""
    (reset_x, update_x, new_x), (reset, update, new) = x.chunk(3, -1), recurrent.chunk(3, -1)
    keep = (update_x + update).sigmoid()
    proposal = (new_x + (reset_x + reset).sigmoid() * new).tanh()
    return ((1 - keep) * proposal + keep * state[0],)


def ugrnn_step(x: Tensor, recurrent: Tensor, state: State) -> State:
    """Return the next output of an update-gate network (collins2017): g h + (1 - g) tanh(c)."""
    gate, new = (x + recurrent).chunk(2, -1)
    keep = gate.sigmoid()
    return (keep * state[0] + (1 - keep) * new.tanh(),)


def tanh_step(x: Tensor, recurrent: Tensor, state: State) -> State:
    """Return the next output of a vanilla network with tanh."""
    return ((x + recurrent).tanh(),)


def relu_step(x: Tensor, recurrent: Tensor, state: State) -> State:
    """Return the next output of a vanilla network with ReLU."""
    return ((x + recurrent).relu(),)


# Cell -> its step, and how often the hidden width its gates and its state have.
CELLS: dict[str, tuple[Callable[[Tensor, Tensor, State], State], int, int]] = {
    "lstm": (lstm_step, 4, 2),
    "gru": (gru_step, 3, 1),
    "ugrnn": (ugrnn_step, 2, 1),
    "tanh": (tanh_step, 1, 1),
    "relu": (relu_step, 1, 1),
}


@register(
    "model",
    name="Recurrent network",
    interface="numbers",
    references=("trask2018", "collins2017"),
    equation=r"h_t = f(W x_t + b,\; U h_{t-1} + c,\; h_{t-1}), \qquad y = V h_T + d",
    failure_modes=(
        "Gates and tanh bound the state: sums over sequences that are much longer than those of "
        "training stay in the range of training (trask2018, table 9).",
    ),
)
class RecurrentNetwork(nn.Module):
    """One recurrent layer and a linear read-out of its last output.

    Equation (trask2018, appendix B names them): h_t = f(W x_t + b, U h_{t-1} + c, h_{t-1}),
    y = V h_T + d.

    Notation:
        W -> weight_ih, b -> bias_ih, U -> weight_hh, c -> bias_hh, V -> weight, d -> bias; f is
        the step of the cell.

    Departures:
        The paper does not say how the last state becomes an answer; here it is a linear layer.
        Weights start uniform in +-1 / sqrt(hidden_features), as in torch.

    Args:
        in_features: Number of inputs of a step.
        out_features: Number of outputs.
        cell: ``"lstm"``, ``"gru"``, ``"ugrnn"``, ``"tanh"`` or ``"relu"``.
        hidden_features: Size of the state.
        readout: Whether a linear layer reads the state; without, the state is the answer.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., seq, in_features) -> (..., out_features).

    Raises:
        UserError: For an unknown cell or a size below 1.

    Example:
        >>> RecurrentNetwork(10, 1, cell="gru")(torch.ones(5, 7, 10)).shape
        torch.Size([5, 1])

    References:
        trask2018, collins2017
    """

    unrolled = True

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        cell: str = "lstm",
        hidden_features: int = 2,
        readout: bool = True,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("RecurrentNetwork", "in_features", in_features, 1)
        require_at_least("RecurrentNetwork", "out_features", out_features, 1)
        require_at_least("RecurrentNetwork", "hidden_features", hidden_features, 1)
        require_choice("RecurrentNetwork", "cell", cell, CELLS)
        if not readout and hidden_features != out_features:
            raise UserError(
                "RecurrentNetwork: without a read-out hidden_features must be out_features; "
                f"got {hidden_features} and {out_features}."
            )
        self.in_features, self.out_features = in_features, out_features
        self.cell, self.hidden_features = cell, hidden_features
        _, num_gates, _ = CELLS[cell]
        empty = torch.empty(num_gates * hidden_features, in_features, device=device, dtype=dtype)
        self.weight_ih = nn.Parameter(empty)
        self.weight_hh = nn.Parameter(empty.new_empty(len(empty), hidden_features))
        self.bias_ih = nn.Parameter(empty.new_empty(len(empty)))
        self.bias_hh = nn.Parameter(empty.new_empty(len(empty)))
        self.weight = self.bias = None
        if readout:
            self.weight = nn.Parameter(empty.new_empty(out_features, hidden_features))
            self.bias = nn.Parameter(empty.new_empty(out_features))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        bound = 1 / math.sqrt(self.hidden_features)
        for parameter in self.parameters():
            fill_uniform(parameter, -bound, bound, generator)

    def outputs(self, sequence: Tensor) -> Iterator[Tensor]:
        """Yield the output of the recurrent layer after every step."""
        require_at_least("RecurrentNetwork", "the number of steps", sequence.shape[-2], 1)
        step, _, num_states = CELLS[self.cell]
        start = sequence.new_zeros(*sequence.shape[:-2], self.hidden_features)
        state: State = (start,) * num_states
        for x in sequence.unbind(-2):
            gates = weighted_sum(x, self.weight_ih) + self.bias_ih
            state = step(gates, weighted_sum(state[0], self.weight_hh) + self.bias_hh, state)
            yield state[0]

    def read(self, hidden: Tensor) -> Tensor:
        """Return the answers that are read off outputs."""
        if self.weight is None or self.bias is None:
            return hidden
        return weighted_sum(hidden, self.weight) + self.bias

    def forward(self, x: Tensor) -> Tensor:
        """Read the answer off the last output."""
        return self.read(deque(self.outputs(x), maxlen=1).pop())

    def run(self, x: Tensor) -> Tensor:
        """Return the answers after every step.

        Shape:
            (..., seq, in_features) -> (..., seq, out_features).
        """
        return self.read(torch.stack(list(self.outputs(x)), -2))

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return the recurrent layer's outputs after every step, and the answer."""
        return {"hidden": torch.stack(list(self.outputs(x)), -2), "output": self(x)}
