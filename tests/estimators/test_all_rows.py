"""The last fit is that of all rows, and its error that of fits without each row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wug.estimators.all_rows import fitted_on_all_rows, with_ones
from wug.estimators.candidate import Candidate
from wug.estimators.constants import refitted
from wug.estimators.scoring import Scored

LINE = Candidate(
    exponents=np.array([[1.0], [0.0]]), coefficients=np.array([[1.23, 0.37]]), powers=np.ones(1)
)


def test_numbers_and_error_are_those_of_least_squares() -> None:
    generator = np.random.default_rng(0)
    x = generator.uniform(0, 5, 30)
    y = 1.5123 * x + 0.71 + generator.normal(size=30)
    scored = Scored(
        candidate=LINE, complexity=7, error=9.0, relative_error=9.0, criterion=0.0, seconds=0.0,
        met=False, exact=False,
    )  # fmt: skip
    fitted = fitted_on_all_rows(scored, x[:, None], y, np.ones(30), 2.0)
    assert np.allclose(fitted.candidate.coefficients[0], np.polyfit(x, y, 1))
    missed = []
    for row in range(30):
        others = np.arange(30) != row
        missed.append(y[row] - np.polyval(np.polyfit(x[others], y[others], 1), x[row]))
    assert np.isclose(fitted.error, np.sqrt(np.mean(np.square(missed))))
    assert np.isclose(fitted.relative_error, fitted.error / 2)


def test_simple_numbers_stay() -> None:
    x = np.linspace(1, 2, 20)
    scored = Scored(
        candidate=replace(LINE, coefficients=np.array([[2.0, 0.5]])), complexity=7, error=9.0,
        relative_error=9.0, criterion=0.0, seconds=0.0, met=False, exact=False,
    )  # fmt: skip
    fitted = fitted_on_all_rows(scored, x[:, None], 2.01 * x + 0.5, np.ones(20), 1.0)
    assert fitted.candidate.coefficients.tolist() == [[2.0, 0.5]]


@pytest.mark.parametrize(("factor", "expected"), [(1.0, 1.0), (-1.0, -1.0), (1.01, None)])
def test_a_factor_that_the_rows_cannot_tell_from_one_is_one(
    factor: float, expected: float | None
) -> None:
    rows = np.random.default_rng(7).uniform(1, 5, (80, 2))
    noise = np.tile([1e-3, -1e-3], 40)
    target = factor * rows[:, 0] * rows[:, 1] + noise
    product = Candidate(
        exponents=np.ones((1, 2)), coefficients=np.array([[0.97 * factor]]), powers=np.ones(1)
    )
    free = np.array([True, False, False, False])
    fitted = refitted(product, rows, target, free, steps=12)
    assert fitted.coefficients[0, 0] != expected
    plain = with_ones(fitted, rows, target, free, np.ones(80)).coefficients[0, 0]
    assert plain == (fitted.coefficients[0, 0] if expected is None else expected)
