"""Compositions of functions that are tables: made, looked up, written as tokens and read again.

The symbols are the first tokens of the vocabulary, the functions those after them. A problem is
written from the symbol outwards (``3 a b``, for b(a(3))) or as the formula is (``b a 3``).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from string import ascii_letters

import numpy as np
import torch
from numpy.typing import NDArray

from wug.core.errors import UserError, require_at_least
from wug.sources.sequences import SequenceSet

FUNCTION_NAMES = tuple(ascii_letters)
# Tokens are single bytes.
MOST_SYMBOLS = 256 - len(FUNCTION_NAMES)


def require_tables(owner: str, num_functions: int, num_symbols: int) -> None:
    """Raise unless there are as many different functions, a letter for each, and few symbols."""
    require_at_least(owner, "num_symbols", num_symbols, 2)
    require_at_least(owner, "num_functions", num_functions, 1)
    if num_symbols > MOST_SYMBOLS:
        raise UserError(f"{owner}: num_symbols must be at most {MOST_SYMBOLS}; got {num_symbols}.")
    most = min(len(FUNCTION_NAMES), factorial(num_symbols))
    if num_functions > most:
        raise UserError(
            f"{owner}: num_functions must be at most {most}, of {num_symbols} symbols; "
            f"got {num_functions}."
        )


def bijections(num_functions: int, num_symbols: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw different permutations of the symbols.

    Shape:
        (function, symbol).
    """
    tables: dict[tuple[int, ...], None] = {}
    while len(tables) < num_functions:
        tables[tuple(rng.permutation(num_symbols).tolist())] = None
    return np.array(list(tables), dtype=np.int64)


def look_up(tables: NDArray[np.int64], problems: NDArray[np.int64]) -> NDArray[np.int64]:
    """Apply functions one after the other.

    Args:
        tables: What each function makes of each symbol.
        problems: Symbols, each with its functions as applied.

    Shape:
        tables (function, symbol), problems (item, 1 + function) -> (item,).

    Example:
        >>> look_up(np.array([[1, 2, 0], [0, 2, 1]]), np.array([[0, 0, 1]])).tolist()
        [2]
    """
    symbols = problems[:, 0]
    for functions in problems[:, 1:].T:
        symbols = tables[functions, symbols]
    return symbols


def write_problems(
    tables: NDArray[np.int64], parts: Sequence[NDArray[np.int64]], *, symbol_first: bool
) -> SequenceSet:
    """Write problems as tokens, with their answers; their level is the number of functions.

    Args:
        tables: What each function makes of each symbol.
        parts: Problems of one length each.
        symbol_first: Whether the symbol stands first, else last.
    """
    levels = np.repeat([part.shape[1] - 1 for part in parts], [len(part) for part in parts])
    tokens = np.zeros((len(levels), 1 + levels.max()), dtype=np.uint8)
    start = 0
    for part in parts:
        written = np.hstack((part[:, :1], part[:, 1:] + tables.shape[1]))
        rows = tokens[start : start + len(part), : part.shape[1]]
        rows[:] = written if symbol_first else written[:, ::-1]
        start += len(part)
    return SequenceSet(
        tokens=torch.from_numpy(tokens),
        lengths=torch.from_numpy(levels + 1),
        labels=torch.from_numpy(np.concatenate([look_up(tables, part) for part in parts])),
        levels=torch.from_numpy(levels),
    )


def read_problem(
    owner: str, tables: NDArray[np.int64], tokens: Sequence[int], *, symbol_first: bool
) -> NDArray[np.int64]:
    """Read a problem that was written as tokens.

    Shape:
        tokens (seq,) -> (1, seq): the symbol, then the functions as applied.

    Raises:
        UserError: It is not one symbol, in its place, and at least one function.

    Example:
        >>> read_problem("CTL", np.array([[1, 0], [0, 1]]), [3, 2, 0], symbol_first=False)
        array([[0, 0, 1]])
    """
    num_functions, num_symbols = tables.shape
    ordered = list(tokens if symbol_first else reversed(tokens))
    functions = [token - num_symbols for token in ordered[1:]]
    known = functions and min(functions) >= 0 and max(functions) < num_functions
    if not known or ordered[0] >= num_symbols:
        raise UserError(
            f"{owner}: a problem is one or more functions and one symbol, which stands "
            f"{'first' if symbol_first else 'last'}; mend the order or what is missing."
        )
    return np.array([[ordered[0], *functions]])


def chain(num_tokens: int, *, symbol_first: bool) -> list[tuple[int, ...]]:
    """Return for each token the place of its neighbour on the symbol's side; the symbol has none.

    Example:
        >>> chain(3, symbol_first=True), chain(3, symbol_first=False)
        ([(), (0,), (1,)], [(1,), (2,), ()])
    """
    if symbol_first:
        return [(), *((place,) for place in range(num_tokens - 1))]
    return [*((place,) for place in range(1, num_tokens)), ()]
