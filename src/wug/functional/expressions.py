"""SymPy helpers for reading a formula off weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from wug.core.errors import UserError


def input_symbols(names: Sequence[str] | None, in_features: int) -> list[Any]:
    """Return one real SymPy symbol per input, named ``x1, x2, ...`` by default.

    Example:
        >>> input_symbols(None, 2)
        [x1, x2]
    """
    import sympy

    if names is None:
        names = [f"x{i + 1}" for i in range(in_features)]
    if len(names) != in_features:
        raise UserError(f"formula: names must have {in_features} entries; got {len(names)}.")
    return [sympy.Symbol(name, real=True) for name in names]


def numbers(tensor: Tensor) -> Any:
    """Return a tensor's values as nested lists of Python floats."""
    return tensor.detach().tolist()
