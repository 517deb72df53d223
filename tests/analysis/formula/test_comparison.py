import pytest
import sympy

from wug.analysis.formula.comparison import (
    all_equal,
    difference_forms,
    equal,
    rational,
    split_powers,
)
from wug.analysis.formula.intervals import enclosures

X, Y = sympy.symbols("x y", real=True)
POINTS = [{X: sympy.Rational(3, 2), Y: sympy.Rational(-1, 3)}]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (X * (X + Y), X**2 + X * Y),
        (0.1 * X, X / 10),
        (X**0.5, sympy.sqrt(X)),
        (X * 0.3333333333333333, X / 3),
        ((X**2 - Y**2) / (X + Y), X - Y),
        (sympy.sin(X) ** 2 + sympy.cos(X) ** 2, sympy.Integer(1)),
    ],
    ids=str,
)
def test_equal(first, second):
    assert equal(first, second, POINTS) is True


@pytest.mark.parametrize(
    ("first", "second"),
    [(X, Y), (X * (1 + 1e-15), X), (X * 0.33333333, X / 3), (sympy.Integer(0), X - 1)],
    ids=str,
)
def test_not_equal(first, second):
    assert equal(first, second, POINTS) is False


def test_undecided():
    large = sum(sympy.sin(k * X) ** 2 + sympy.cos(k * X) ** 2 for k in range(1, 30))
    assert equal(large, sympy.Integer(29), POINTS) is None
    assert all_equal([X, large], [X, sympy.Integer(29)], POINTS) is None
    assert all_equal([X, large], [Y, sympy.Integer(29)], POINTS) is False
    assert all_equal([X, Y], [X, Y], POINTS) is True


def test_rational():
    assert rational(0.1) == sympy.Rational(1, 10)
    assert rational(0.1 + 2**-55) == sympy.Rational(0.1 + 2**-55) != sympy.Rational(1, 10)


def test_split_powers_is_the_same_expression():
    expression = (0.98 * X + 0.02) ** 1.01 * (Y + 1) ** 2
    point = {X: 3, Y: 5}
    split = split_powers(expression, [X])
    assert split.has(1 / X) and not split.has(1 / Y)
    assert abs(split.xreplace(point) - expression.xreplace(point)) < 1e-12


def width(form, box):
    [(low, high)] = enclosures([form], box)
    return high - low


@pytest.mark.parametrize(
    ("trained", "snapped"),
    [
        (0.999 * X * Y + 0.001, X * Y),
        ((0.999 * X + 0.001) * (0.998 * Y + 0.002), X * Y),
        ((0.99 * X + 0.01) ** 2.001 * Y**-0.999, X**2 / Y),
    ],
)
def test_some_form_is_tight(trained, snapped):
    box = {X: (1.0, 10.0), Y: (1.0, 10.0)}
    widths = [width(form, box) for form in difference_forms(trained, snapped, [X, Y])]
    assert min(widths) < width(snapped, box) / 20
