"""Derivatives, new fits and standard errors of numbers, against differences and SciPy."""

import numpy as np
import pytest
from scipy.optimize import curve_fit

from wug.estimators.candidate import Candidate, Function
from wug.estimators.constants import (
    amplification,
    coefficients_among,
    constants_of,
    errors_from_blocks,
    free_constants,
    gradient,
    refitted,
    settled,
    standard_errors,
    with_constants,
)

X = np.random.default_rng(0).uniform(0.5, 2, (40, 2))


SCALES = {"log": 5.0}  # all values positive


def wave() -> Candidate:
    """2.3 x1^1.7 sin(0.7 x1 x2 + 0.1) / (x2 + 0.3)."""
    inner = Candidate(
        exponents=np.array([[1.0, 1.0], [0.0, 0.0]]), coefficients=np.array([[0.7, 0.1]]),
        powers=np.ones(1),
    )  # fmt: skip
    return Candidate(
        exponents=np.array([[1.7, 0, 1], [0, 1, 0], [0, 0, 0.0]]),
        coefficients=np.array([[2.3, 0, 0], [0, 1.0, 0.3]]), powers=np.array([1.0, -1.0]),
        functions=(Function("sin", inner),),
    )  # fmt: skip


def test_values_are_those_of_the_formula() -> None:
    a, b = X.T
    expected = 2.3 * a**1.7 * np.sin(0.7 * a * b + 0.1) / (b + 0.3)
    np.testing.assert_allclose(wave().predict(X), expected, rtol=1e-13)


@pytest.mark.parametrize("name", ["exp", "log", "sin", "cos", "tanh", "arcsin"])
def test_gradients_are_those_of_differences(name: str) -> None:
    formula = wave()
    inner = with_constants(
        formula.functions[0].inner, np.array([SCALES.get(name, 0.15), 0.1, 1.0, 1.0, 1.0])
    )
    formula = Candidate(
        exponents=formula.exponents, coefficients=formula.coefficients, powers=formula.powers,
        functions=(Function(name, inner),),
    )  # fmt: skip
    values = constants_of(formula)
    found = gradient(formula, X)
    for index in range(len(values)):
        step = np.zeros(len(values))
        step[index] = 1e-6
        ahead, behind = (
            with_constants(formula, values + sign * step).predict(X) for sign in (1, -1)
        )
        np.testing.assert_allclose(found[:, index], (ahead - behind) / 2e-6, rtol=1e-6, atol=1e-8)


def test_a_new_fit_finds_the_numbers_again() -> None:
    formula = wave()
    target = formula.predict(X)
    moved = with_constants(formula, constants_of(formula) * 1.02)
    free = coefficients_among(formula)
    free[1] = False  # else the scale of the denominator is free
    start = with_constants(formula, np.where(free, constants_of(moved), constants_of(formula)))
    again = refitted(start, X, target, free, steps=20)
    np.testing.assert_allclose(constants_of(again), constants_of(formula), rtol=1e-9)


def test_a_long_valley_is_walked_to_its_end() -> None:
    """a - b exp(c x) with c x large: b and c make up for each other, as in NIST's Nelson."""
    generator = np.random.default_rng(3)
    x = generator.uniform(180, 280, (100, 1))
    target = 2.59 - 5.6e-9 * np.exp(0.072 * x[:, 0]) + 0.02 * generator.normal(size=100)
    inner = Candidate(exponents=np.ones((1, 1)), coefficients=np.array([[0.06]]), powers=np.ones(1))
    start = Candidate(
        exponents=np.array([[0.0, 0.0], [0.0, 1.0]]), coefficients=np.array([[2.6, -1e-7]]),
        powers=np.ones(1), functions=(Function("exp", inner),),
    )  # fmt: skip
    found = settled(start, x, target, coefficients_among(start))
    expected, _ = curve_fit(
        lambda x, a, b, c: a - np.exp(b + c * x), x[:, 0], target, p0=(2.6, -19.0, 0.072)
    )
    a, b, c = constants_of(found)[coefficients_among(found)]
    np.testing.assert_allclose((a, np.log(-b), c), expected, rtol=1e-4)


def test_standard_errors_are_those_of_scipy() -> None:
    noise = 0.05 * np.random.default_rng(1).normal(size=len(X))
    target = 2.37 * X[:, 0] + 0.713 * X[:, 1] + noise
    weight = np.random.default_rng(2).uniform(0.5, 2, len(X))
    found, covariance = curve_fit(
        lambda x, a, b: a * x[0] + b * x[1], X.T, target, sigma=1 / weight, p0=(1, 1)
    )
    plane = Candidate(exponents=np.eye(2), coefficients=found[None], powers=np.ones(1))
    errors = standard_errors(plane, X, target, weight)
    np.testing.assert_allclose(errors[free_constants(plane)], np.sqrt(np.diag(covariance)), 1e-6)


def test_cancellation_amplifies_rounding() -> None:
    square = Candidate(
        exponents=np.array([[2.0], [1.0], [0.0]]), coefficients=np.array([[1.0, -2.0, 1.0]]),
        powers=np.ones(1),
    )  # fmt: skip
    x = np.array([[1.0 + 1e-5]])
    assert abs(square.predict(x) - 1e-10)[0] < 2.2e-16 * amplification(square, x)[0]
    assert amplification(square, x)[0] > 4


def test_standard_errors_of_huge_columns_and_of_blocks() -> None:
    generator = np.random.default_rng(4)
    slopes, error = generator.normal(size=(60, 3)), generator.normal(size=60)
    covariance = np.linalg.inv(slopes.T @ slopes) * (error @ error) / 57
    expected = np.sqrt(np.diag(covariance))
    blocks = [(slopes[:2], error[:2]), (slopes[2:40], error[2:40]), (slopes[40:], error[40:])]
    np.testing.assert_allclose(errors_from_blocks(blocks), expected, rtol=1e-10)
    huge = np.array([1e198, 1.0, 1e-100])
    found = errors_from_blocks([(slopes * huge, error * 1e180)])
    np.testing.assert_allclose(found, expected / huge * 1e180, rtol=1e-10)
