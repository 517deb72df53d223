"""The numbers of a formula as it is printed, with their standard errors.

A formula is printed in the form that reads best, v S / (k + S) instead of S / (a + b S). What a
person asks for are v and k, and how well these are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wug.analysis.formula import Formula
from wug.estimators.candidate import Array
from wug.estimators.constants import errors_from_blocks

# Of more numbers no errors are given: nobody reads them.
MOST_NUMBERS = 40
ROWS_OF_A_BLOCK = 50_000


@dataclass(frozen=True)
class Constant:
    """A number of a formula that was taken from the data.

    Args:
        value: The number.
        standard_error: By how much it may be off, one standard deviation.
    """

    value: float
    standard_error: float


def printed_constants(
    expression: Any, names: Sequence[str], inputs: Array, target: Array, weight: Array
) -> list[Constant]:
    """Return the decimal numbers of an expression in their order, with standard errors.

    A number that stands in two places, perhaps with another sign, is one number.

    Args:
        expression: In SymPy.
        names: Of the inputs.
        inputs: (row, in).
        target: (row,).
        weight: Of each row's error; rows of weight 0 do not count.

    Example:
        >>> import sympy
        >>> x = np.arange(1.0, 6.0)
        >>> line = 2.5 * sympy.Symbol("x", real=True)
        >>> noise = np.array([0.1, -0.1, 0.1, -0.1, 0.0])
        >>> [one] = printed_constants(line, ["x"], x[:, None], 2.5 * x + noise, np.ones(5))
        >>> one.value, round(one.standard_error, 4)
        (2.5, 0.0135)
    """
    import sympy

    found: dict[Any, Any] = {}
    for part in sympy.preorder_traversal(expression):
        if part.is_Float:
            found.setdefault(abs(part), part)
    if not found:
        return []
    values = [float(number) for number in found.values()]
    if len(found) > MOST_NUMBERS:
        return [Constant(value, np.inf) for value in values]
    letters = {number: sympy.Dummy(real=True) for number in found.values()}
    places = {
        number: sympy.sign(number) * sympy.sign(first) * letters[first]
        for number in expression.atoms(sympy.Float)
        for first in [found[abs(number)]]
    }
    general = expression.xreplace(places)
    back = {letter: number for number, letter in letters.items()}
    slopes = tuple(sympy.diff(general, letter).xreplace(back) for letter in letters.values())
    slope = Formula(slopes, tuple(names)).python()
    value = Formula((expression,), tuple(names)).python()

    def parts() -> Iterator[tuple[Array, Array]]:
        for start in range(0, len(target), ROWS_OF_A_BLOCK):
            rows = np.arange(len(target))[start : start + ROWS_OF_A_BLOCK]
            rows = rows[weight[rows] > 0]
            with np.errstate(all="ignore"):
                jacobian, error = slope(inputs[rows]), target[rows] - value(inputs[rows])[:, 0]
            yield weight[rows, None] * jacobian, weight[rows] * error

    errors = errors_from_blocks(parts())
    return [Constant(*pair) for pair in zip(values, errors.tolist(), strict=True)]
