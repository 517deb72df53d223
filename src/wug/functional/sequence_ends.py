"""From tokens to the columns of an encoder and from its columns to an answer."""

from __future__ import annotations

import torch
from torch import Tensor

# Ids of the two tokens that an encoder adds, counted from the end of the vocabulary.
END, BEGIN = 0, 1
NUM_ENDS = 2


def add_ends(tokens: Tensor, lengths: Tensor, num_tokens: int) -> tuple[Tensor, Tensor]:
    """Put a token before every sequence and one behind it.

    Args:
        tokens: Sequences, with anything behind their ends.
        lengths: Number of tokens of each sequence.
        num_tokens: Size of the vocabulary; the new tokens come after it.

    Shape:
        tokens (batch, seq), lengths (batch,) -> tokens and valid (batch, seq + 2).

    Example:
        >>> add_ends(torch.tensor([[1, 2], [3, 0]]), torch.tensor([2, 1]), 5)[0]
        tensor([[6, 1, 2, 5],
                [6, 3, 5, 0]])
    """
    place = torch.arange(tokens.shape[1] + NUM_ENDS, device=tokens.device)
    last = (lengths + 1).unsqueeze(-1)
    inside = torch.nn.functional.pad(tokens, (1, 1), value=num_tokens + BEGIN)
    columns = torch.where(place < last, inside, torch.where(place == last, num_tokens + END, 0))
    return columns, place <= last


def column_at(columns: Tensor, place: Tensor) -> Tensor:
    """Return one column of every sequence.

    Shape:
        columns (batch, seq, features), place (batch,) -> (batch, features).

    Example:
        >>> column_at(torch.arange(6).view(2, 3, 1), torch.tensor([2, 0])).tolist()
        [[2], [3]]
    """
    chosen = place.view(-1, 1, 1).expand(-1, 1, columns.shape[-1])
    return columns.gather(1, chosen).squeeze(1)
