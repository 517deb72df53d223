"""Interval arithmetic on formulas: bounds that hold for every point of a box.

mpmath's intervals round outwards; what is here maps the operations of a program to them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mpmath import iv  # type: ignore[import-untyped]
from mpmath.libmp import ComplexResult  # type: ignore[import-untyped]

from wug.analysis.formula.program import compile_expressions, product, total

# Digits to which constants such as pi are computed, and the width that they get.
DIGITS = 30
WIDENING = 2.0**-52

Box = Mapping[Any, tuple[float, float]]


class NotProven(ArithmeticError):
    """There is no finite bound; the message says why."""


def hull(*intervals: Any) -> Any:
    """Return the smallest interval that holds all of these."""
    return iv.mpf([min(i.a for i in intervals), max(i.b for i in intervals)])


def power(base: Any, exponent: Any) -> Any:
    """Return the power; bases of fractional powers must not be negative."""
    whole = exponent.delta == 0 and float(exponent.mid).is_integer()
    if not whole and base.a < 0:
        raise NotProven("a power that is not whole may meet a negative number")
    if (base.a <= 0 <= base.b) and exponent.a < 0:
        raise NotProven("a denominator may be 0")
    return base ** (int(exponent.mid) if whole else exponent)


def logarithm(x: Any) -> Any:
    """Return the logarithm of a positive interval."""
    if x.a <= 0:
        raise NotProven("a logarithm may meet a number that is not positive")
    return iv.log(x)


def steps(x: Any, below: Any, at: Any, above: Any) -> Any:
    """Return the hull of the values that a step function takes."""
    taken = [(x.a < 0, below), (x.a <= 0 <= x.b, at), (x.b > 0, above)]
    return hull(*(iv.mpf(value) for met, value in taken if met))


INTERVAL: dict[str, Callable[..., Any]] = {
    "Add": total,
    "Mul": product,
    "Pow": power,
    "Abs": abs,
    "Max": lambda *values: iv.mpf([max(v.a for v in values), max(v.b for v in values)]),
    "Min": lambda *values: iv.mpf([min(v.a for v in values), min(v.b for v in values)]),
    "sign": lambda x: steps(x, -1, 0, 1),
    "Heaviside": lambda x, at_zero: steps(x, 0, at_zero, 1),
    "exp": iv.exp,
    "log": logarithm,
    "cos": iv.cos,
    "sin": iv.sin,
    "tanh": lambda x: 1 - 2 / (iv.exp(2 * x) + 1),
}


def number_interval(number: Any) -> Any:
    """Return an interval that holds a SymPy number."""
    if number.is_Rational:
        return iv.mpf(int(number.p)) / int(number.q)
    if number.is_Float:
        return iv.mpf(float(number))
    value = iv.mpf(str(number.evalf(DIGITS)))
    return value * iv.mpf([1 - WIDENING, 1 + WIDENING])


def endpoints(interval: Any) -> tuple[float, float]:
    """Return floats that enclose an interval."""
    low, high = float(interval.a), float(interval.b)
    if iv.mpf(low) > interval.a:
        low = math.nextafter(low, -math.inf)
    if iv.mpf(high) < interval.b:
        high = math.nextafter(high, math.inf)
    return low, high


def enclosures(expressions: Sequence[Any], box: Box) -> list[tuple[float, float]]:
    """Return, for each expression, two numbers between which it stays on the box.

    Args:
        expressions: SymPy expressions.
        box: Lowest and highest value of every symbol.

    Raises:
        NotProven: If there may be a pole, or an operation has no interval version.

    Example:
        >>> import sympy
        >>> x, y = sympy.symbols("x y", real=True)
        >>> enclosures([x * y, x / y], {x: (-1.0, 2.0), y: (1.0, 3.0)})
        [(-3.0, 6.0), (-1.0, 2.0)]
    """
    program = compile_expressions(expressions, list(box))
    for name, _ in program.steps:
        if name not in INTERVAL:
            raise NotProven(f"{name} has no interval version")
    try:
        found = program.run(
            (iv.mpf([low, high]) for low, high in box.values()), INTERVAL, number_interval
        )
        bounds = [endpoints(interval) for interval in found]
    except (ComplexResult, OverflowError, ZeroDivisionError) as error:
        raise NotProven(str(error)) from error
    if not all(math.isfinite(end) for bound in bounds for end in bound):
        raise NotProven("the bound is beyond floating point")
    return bounds
