"""Padding in attention: sources that are not read, in a form that compilers are fast with."""

from __future__ import annotations

import torch
from torch import Tensor

# Sequences that are long enough for a compiler's detours to cost more than a call.
LONG = 20


def apart(x: Tensor) -> bool:
    """Say whether a compiler should find something ready instead of inlining it into its loops.

    A mask would be read and a place computed anew for every number: half the time of such a loop.

    Args:
        x: Has the sources in its last axis.
    """
    return torch.compiler.is_compiling() and x.shape[-1] > LONG


def _bias(valid: Tensor, dtype: torch.dtype) -> Tensor:
    # Half of what there is: still finite with a logit, so that nothing is NaN.
    bias = torch.zeros_like(valid, dtype=dtype)
    return bias.masked_fill(~valid, torch.finfo(dtype).min / 2)


@torch.library.custom_op("wug::padding_bias", mutates_args=())
def _bias_apart(valid: Tensor, dtype: torch.dtype) -> Tensor:
    return _bias(valid, dtype)


@_bias_apart.register_fake
def _(valid: Tensor, dtype: torch.dtype) -> Tensor:
    return valid.new_empty(valid.shape, dtype=dtype)


def mask_padding(logits: Tensor, valid: Tensor | None) -> Tensor:
    """Lower the logits of padding so far that it is not read.

    Shape:
        logits (batch, head, target, source), valid (batch, source) -> as logits.

    Example:
        >>> mask_padding(torch.zeros(1, 1, 1, 2), torch.tensor([[True, False]])).exp()
        tensor([[[[1., 0.]]]])
    """
    if valid is None:
        return logits
    make = _bias_apart if apart(valid) else _bias
    return logits + make(valid, logits.dtype)[:, None, None, :]
