"""Formulas as weights: values, size and print."""

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from wug.estimators.candidate import Candidate, as_fraction, real_power

WHOLE = st.integers(-2, 3).map(float)


def make(exponents: list, coefficients: list, powers: list) -> Candidate:
    return Candidate(
        exponents=np.array(exponents, float), coefficients=np.array(coefficients, float),
        powers=np.array(powers, float),
    )  # fmt: skip


@given(
    st.lists(st.tuples(WHOLE, WHOLE), min_size=2, max_size=2, unique=True),
    st.lists(st.sampled_from([-2.0, 0.5, 1.0, 9.81]), min_size=4, max_size=4),
    st.sampled_from([(1, 1), (1, -1), (2, 1)]),
)
def test_values_equal_those_of_the_expression(exponents, coefficients, powers) -> None:
    candidate = make(exponents, np.reshape(coefficients, (2, 2)), powers)
    x = np.array([[1.5137, -2.0411], [0.7171, 3.0193], [-1.1259, -0.4317]])
    expression = candidate.expression(["a", "b"])
    names = sympy.symbols("a b", real=True)
    expected = [complex(expression.subs(dict(zip(names, row, strict=True)))) for row in x]
    np.testing.assert_allclose(candidate.predict(x), np.real(expected), rtol=1e-7)


def test_roots_of_negative_numbers_are_not_numbers() -> None:
    assert np.isnan(real_power(np.array([-1.0]), 0.5)).all()
    assert real_power(np.array([-2.0]), 3).tolist() == [-8.0]


def test_a_pole_of_an_unused_term_is_harmless() -> None:
    candidate = make([[1, 0], [0, -1]], [[1, 0]], [1])
    assert candidate.predict(np.array([[2.0, 0.0]])).tolist() == [2.0]
    assert candidate.used_terms().exponents.tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("candidate", "size"),
    [
        (make([[1, 1]], [[1]], [1]), 3),  # x1*x2
        (make([[1, 0], [0, 1]], [[1, -1]], [1]), 4),  # x1 - x2
        (make([[2, 0]], [[0.5]], [1]), 4),  # x1**2/2
        (make([[2, 0]], [[0.1234]], [1]), 5),
    ],
)
def test_complexity(candidate: Candidate, size: int) -> None:
    assert candidate.complexity == size


def test_fractions() -> None:
    assert as_fraction(-2.5) == -2.5
    assert as_fraction(0.3333333) is None
    assert make([[1, 0]], [[1 / 3]], [1]).expression(["a", "b"]) == sympy.Symbol("a", real=True) / 3
