"""The bounds hold at every point; where they are attained they are tight."""

import math

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from wug.analysis.formula.intervals import NotProven, enclosures, endpoints, number_interval

X, Y = sympy.symbols("x y", real=True)
numbers = st.floats(-50, 50).map(lambda value: round(value, 3))
shares = st.floats(0, 1)

FORMULAS = [
    X * Y + 3,
    X**2 - 2 * X * Y,
    X**3 * Y,
    (X + Y) ** 2 / (1 + Y**2),
    abs(X) ** sympy.Rational(1, 3) - 0.1 * Y,
    sympy.sqrt(abs(X) + 1) * sympy.sign(Y),
    sympy.Max(X, Y, 1) - sympy.Min(X, 2),
    sympy.cos(sympy.pi * X) * sympy.Heaviside(-Y, 0),
    sympy.exp(X / 10) + sympy.sin(Y),
    sympy.log(X**2 + 1) * sympy.tanh(Y),
    1 / (1 + sympy.GoldenRatio ** (-Y)),
    (abs(X) + 0.5) ** -1.25,
]


@settings(max_examples=30)
@given(ends=st.tuples(numbers, numbers, numbers, numbers), places=st.tuples(shares, shares))
@pytest.mark.parametrize("expression", FORMULAS, ids=str)
def test_bounds_hold_inside(expression, ends, places):
    box = {X: tuple(sorted(ends[:2])), Y: tuple(sorted(ends[2:]))}
    [(low, high)] = enclosures([expression], box)
    point = {
        symbol: sympy.Rational(min(max(a + share * (b - a), a), b))
        for (symbol, (a, b)), share in zip(box.items(), places, strict=True)
    }
    value = sympy.N(expression.xreplace(point), 30)
    assert low <= value <= high


@pytest.mark.parametrize(
    ("expression", "low", "high"),
    [
        (X * Y, -3, 6), (X / Y, -1, 2), (X**2, 0, 4), (X + Y, 0, 5), (abs(X), 0, 2),
        (sympy.sign(X), -1, 1), (sympy.sign(Y), 1, 1), (sympy.Heaviside(Y, 0), 1, 1),
        (sympy.Max(X, 1), 1, 2), (sympy.Min(X, 1), -1, 1), (X - X, 0, 0), (sympy.Integer(7), 7, 7),
        (Y ** sympy.Rational(1, 2), 1, math.sqrt(3)), (sympy.log(Y), 0, math.log(3)),
    ],
)  # fmt: skip
def test_tight_where_each_input_stands_once(expression, low, high):
    [(a, b)] = enclosures([expression], {X: (-1.0, 2.0), Y: (1.0, 3.0)})
    assert a <= low <= b >= high and a == pytest.approx(low) and b == pytest.approx(high)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        (1 / X, "a denominator may be 0"),
        (X**-2, "a denominator may be 0"),
        (abs(X) ** -0.5, "a denominator may be 0"),
        (sympy.sqrt(X), "may meet a negative number"),
        (sympy.log(X), "not positive"),
        (sympy.log(abs(X)), "not positive"),
        (sympy.exp(sympy.exp(9 * X)), "beyond floating point"),
        (sympy.gamma(X), "gamma has no interval version"),
    ],
)
def test_not_proven(expression, reason):
    with pytest.raises(NotProven, match=reason):
        enclosures([expression], {X: (-1.0, 2.0)})


def test_numbers_are_enclosed():
    for number in (sympy.pi, sympy.GoldenRatio, sympy.sqrt(2) * sympy.E, sympy.Rational(1, 3)):
        low, high = (sympy.Rational(end) for end in endpoints(number_interval(number)))
        assert low < number < high and high - low < 1e-14
    assert endpoints(number_interval(sympy.Float(0.1))) == (0.1, 0.1)


def test_tiny_numbers_are_rounded_outwards():
    [(low, high)] = enclosures([sympy.exp(X)], {X: (-2000.0, -1000.0)})
    assert low == 0 < high < 1e-300
