import pytest
import sympy
import torch

from wug.core.errors import UserError
from wug.functional.expressions import input_symbols, numbers


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
