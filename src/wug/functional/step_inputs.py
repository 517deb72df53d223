"""What networks with an answer in every step are given: vectors, or tokens to embed."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from wug.core.errors import UserError


def step_inputs(owner: str, x: Tensor, in_features: int, embedding: Tensor | None) -> Tensor:
    """Return the vectors of all steps.

    Args:
        owner: Who complains.
        x: Vectors, or tokens if there is an embedding.
        in_features: Size of the vectors, or of the vocabulary.
        embedding: A row for each token.

    Shape:
        (batch, seq, in_features), or (batch, seq), int64 -> (batch, seq, features).

    Raises:
        UserError: The inputs are of another kind or size, or there is no step.

    Example:
        >>> import torch
        >>> step_inputs("DNC", torch.tensor([[1, 0]]), 2, torch.tensor([[0.5], [0.7]]))
        tensor([[[0.7000],
                 [0.5000]]])
    """
    tokens = embedding is not None
    if x.dim() != (2 if tokens else 3) or x.is_floating_point() == tokens:
        wanted = "tokens (batch, seq), int64" if tokens else f"vectors (batch, seq, {in_features})"
        hint = "" if tokens else " For tokens, build it with tokens=True."
        raise UserError(f"{owner}: x must be {wanted}; got {tuple(x.shape)}, {x.dtype}.{hint}")
    if not tokens and x.shape[-1] != in_features:
        raise UserError(
            f"{owner}: x must have {in_features} features in its last axis; got {x.shape[-1]}."
        )
    if x.shape[1] < 1:
        raise UserError(f"{owner}: x must have at least 1 step; got {tuple(x.shape)}.")
    return x if embedding is None else F.embedding(x, embedding)
