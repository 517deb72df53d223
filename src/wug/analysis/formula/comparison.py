"""Whether two expressions are equal, and their difference in forms that intervals like."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import sympy

from wug.analysis.formula.reading import LARGEST_EXPANSION, num_nodes, num_terms, with_floats

LARGEST_DENOMINATOR = 1000
# Digits with which a difference is shown not to be 0, and how large it must be for that.
DIGITS, NOISE = 50, 1e-30
# Above this many nodes SymPy's simplification may take forever.
LARGEST_SIMPLIFICATION = 60


def rational(value: float) -> Any:
    """Return the small rational whose nearest float this is, else the binary fraction it is.

    Example:
        >>> rational(0.1), rational(1 / 3), rational(2.0**-20)
        (1/10, 1/3, 1/1048576)
    """
    fraction = Fraction(value).limit_denominator(LARGEST_DENOMINATOR)
    return sympy.Rational(fraction if float(fraction) == value else Fraction(value))


def equal(first: Any, second: Any, points: Iterable[Mapping[Any, Any]] = ()) -> bool | None:
    """Return whether two expressions are equal; None if that can't be told in time.

    Args:
        first: An expression; its floating-point numbers count as the rationals they stand for.
        second: Another one.
        points: Values of the symbols where a difference is looked for.

    Example:
        >>> x = sympy.Symbol("x", real=True)
        >>> equal((x + 1) ** 2, x**2 + 2.0 * x + 1), equal(x, 1.1 * x, [{x: 2}])
        (True, False)
    """
    first, second = (with_floats(e, rational) for e in (first, second))
    difference = first - second
    if num_terms(difference) <= LARGEST_EXPANSION:
        difference = sympy.expand(difference)
    if difference == 0:
        return True
    for point in points:
        value, size = (sympy.N(e, DIGITS, subs=point) for e in (difference, first))
        if value.is_Float and size.is_Number and abs(value) > NOISE * max(1, abs(size)):
            return False
    small = num_nodes(difference) <= LARGEST_SIMPLIFICATION
    return True if small and sympy.simplify(difference) == 0 else None


def all_equal(first: Iterable[Any], second: Iterable[Any], points: list[Any]) -> bool | None:
    """Return whether all pairs are equal: False if one is not, None if one can't be told."""
    verdicts = {equal(a, b, points) for a, b in zip(first, second, strict=True)}
    return False if False in verdicts else None if None in verdicts else True


def difference_forms(first: Any, second: Any, positive: Collection[Any]) -> Iterator[Any]:
    """Yield forms of the difference of two expressions, for intervals want terms to cancel.

    Args:
        first: An expression.
        second: Another one.
        positive: Symbols that are positive where the forms are used.
    """
    first, second = (with_floats(e, sympy.Rational) for e in (first, second))
    yield first - second
    if num_terms(first) + num_terms(second) > LARGEST_EXPANSION:
        return
    yield sympy.expand(first - second)
    if second != 0:
        ratio = split_powers(first, positive) / split_powers(second, positive)
        yield second * (sympy.expand_mul(ratio) - 1)


def split_powers(expression: Any, positive: Collection[Any]) -> Any:
    """Write powers ``(a x + b)**w`` as ``x**w (a + b / x)**w`` for positive symbols x.

    Example:
        >>> x = sympy.Symbol("x", real=True)
        >>> split_powers((2 * x + 1) ** 3, [x]) / x**2
        x*(2 + 1/x)**3
    """

    def fits(node: Any) -> bool:
        inputs = node.free_symbols
        return bool(node.is_Pow and node.base.is_Add and len(inputs) == 1 and inputs <= {*positive})

    def split(node: Any) -> Any:
        (x,) = node.free_symbols
        return x**node.exp * sympy.expand(node.base / x) ** node.exp

    return expression.replace(fits, split)
