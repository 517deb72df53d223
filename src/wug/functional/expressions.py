"""SymPy helpers for reading a formula off weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from wug.core.errors import UserError

LARGEST_DENOMINATOR = 64
LARGEST_NUMERATOR = 1e6


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


def exact(value: float) -> Any:
    """Return a number as SymPy's rational if that is short and the same number, else as it is.

    Example:
        >>> exact(2.0), exact(-0.5), exact(0.1)
        (2, -1/2, 0.1)
    """
    import sympy

    if not math.isfinite(value):
        return value
    numerator, denominator = float(value).as_integer_ratio()
    if denominator > LARGEST_DENOMINATOR or abs(numerator) > LARGEST_NUMERATOR:
        return value
    return sympy.Rational(numerator, denominator)


def signed(x: Any, power: Any, sign: Any) -> Any:
    """Return ``sign * power``, which is ``x**n`` if the power is ``|x|**n`` with odd n.

    Example:
        >>> import sympy
        >>> (x,) = input_symbols(None, 1)
        >>> signed(x, abs(x) ** -3, sympy.sign(x)), signed(x, abs(x) + 1, sympy.sign(x))
        (x1**(-3), (Abs(x1) + 1)*sign(x1))
    """
    rest = power / abs(x)
    base, exponent = rest.as_base_exp()
    odd = rest == 1 or (base == x and exponent.is_even)
    return x * rest if odd else sign * power


def polar_product(
    x: Sequence[Any], sizes: Sequence[Any], exponents: Sequence[float], turns: Sequence[float]
) -> Any:
    """Return ``prod_i sizes_i**exponents_i * cos(pi sum_i turns_i [x_i < 0])``.

    A whole number of half turns is a sign: cos(a + pi n) = (-1)^n cos(a). So products of whole
    powers come out as such, without a cosine.

    Example:
        >>> a, b = input_symbols(["a", "b"], 2)
        >>> polar_product([a, b], [abs(a), abs(b)], [2.0, -1.0], [2.0, -1.0])
        a**2/b
    """
    import sympy

    product, angle = sympy.Integer(1), sympy.Integer(0)
    for x_i, size, exponent, turn in zip(x, sizes, exponents, turns, strict=True):
        power, negative = size ** exact(exponent), sympy.Heaviside(-x_i, 0)
        if not float(turn).is_integer():
            product, angle = product * power, angle + sympy.pi * exact(turn) * negative
        elif turn % 2 == 0:
            product = product * power
        else:
            product = product * signed(x_i, power, 1 - 2 * negative)
    return product * sympy.cos(angle)
