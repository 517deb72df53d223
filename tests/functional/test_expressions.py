import math

import pytest
import sympy
import torch

from wug.core.errors import UserError
from wug.functional.expressions import exact, input_symbols, numbers, polar_product, signed


def test_default_names_count_from_one():
    assert [str(symbol) for symbol in input_symbols(None, 3)] == ["x1", "x2", "x3"]


def test_given_names():
    assert [str(symbol) for symbol in input_symbols(["mass", "speed"], 2)] == ["mass", "speed"]


def test_symbols_are_real():
    (x,) = input_symbols(None, 1)
    assert x.is_real and sympy.Abs(x) ** 2 == x**2


def test_wrong_number_of_names():
    with pytest.raises(UserError, match="formula: names must have 2 entries; got 3."):
        input_symbols(["a", "b", "c"], 2)


def test_numbers_are_python_floats():
    values = numbers(torch.nn.Parameter(torch.tensor([[0.5, -1.0], [2.0, 0.0]])))
    assert values == [[0.5, -1.0], [2.0, 0.0]]
    assert all(type(value) is float for row in values for value in row)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(2.0, "2"), (-0.75, "-3/4"), (0.1, "0.1"), (1e9, "1000000000.0"), (0.0, "0")],
)
def test_exact(value, expected):
    assert str(exact(value)) == expected and float(exact(value)) == value


def test_exact_of_what_is_no_number():
    assert exact(math.inf) == math.inf and math.isnan(exact(math.nan))


@pytest.mark.parametrize("exponent", [-4, -3, -1, 1, 2, 3, 0.5, -1.5])
def test_signed_power(exponent):
    (x,) = input_symbols(None, 1)
    expression = signed(x, abs(x) ** exact(exponent), sympy.sign(x))
    assert (expression == x**exponent) == (exponent % 2 == 1)
    for value in (-2.5, 1.5):
        expected = math.copysign(abs(value) ** exponent, value)
        assert float(expression.subs(x, value)) == pytest.approx(expected)


@pytest.mark.parametrize("turns", [(1, 1), (2, -1), (0.5, 1), (0.3, 0.7), (0, 3)])
@pytest.mark.parametrize("exponents", [(1, 1), (2, -1), (0.5, 1.0), (-3, 0)])
def test_polar_product(exponents, turns):
    x = input_symbols(None, 2)
    expression = polar_product(x, [abs(x[0]), abs(x[1]) + 1], exponents, turns)
    for values in [(2.0, 3.0), (-2.0, 3.0), (2.0, -3.0), (-2.0, -3.0)]:
        size = abs(values[0]) ** exponents[0] * (abs(values[1]) + 1) ** exponents[1]
        turn = sum(t for t, value in zip(turns, values, strict=True) if value < 0)
        actual = float(expression.subs(dict(zip(x, values, strict=True))))
        assert actual == pytest.approx(size * math.cos(math.pi * turn), abs=1e-12)
