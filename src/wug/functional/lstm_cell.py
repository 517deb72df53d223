"""One step of an LSTM (Hochreiter and Schmidhuber, 1997), in operations that `vmap` can stack."""

from __future__ import annotations

from torch import Tensor


def lstm_cell(gates: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    """Return the next output and memory.

    Equation (hochreiter1997, with forget gates): c = sigmoid(f) c + sigmoid(i) tanh(g), h =
    sigmoid(o) tanh(c).

    Args:
        gates: What input and last output tell the gates i, f, g and o, beside each other.
        memory: The last memory.

    Shape:
        gates (..., 4 * features), memory (..., features) -> twice (..., features).

    Example:
        >>> import torch
        >>> output, memory = lstm_cell(torch.zeros(1, 8), torch.ones(1, 2))
        >>> memory
        tensor([[0.5000, 0.5000]])
    """
    write, keep, new, read = gates.chunk(4, -1)
    memory = keep.sigmoid() * memory + write.sigmoid() * new.tanh()
    return read.sigmoid() * memory.tanh(), memory
