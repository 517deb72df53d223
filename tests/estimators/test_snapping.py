"""Rounding only where the data allow it."""

import time
from collections.abc import Sequence

import numpy as np
import pytest

from wug.estimators import ArithmeticRegressor, search
from wug.estimators.candidate import Array, Candidate
from wug.estimators.data import Data, Limits
from wug.estimators.search import Search
from wug.estimators.snapping import allowance, round_constants, round_exponents, simple_numbers

RNG = np.random.default_rng(0)
X = RNG.uniform(1, 3, (200, 2))


def line(*coefficients: float) -> Candidate:
    return Candidate(exponents=np.eye(2), coefficients=np.array([coefficients]), powers=np.ones(1))


def rounded_line(coefficients: Sequence[float], target: Array) -> Candidate:
    return round_constants(line(*coefficients), Data(inputs=X, target=target))


def test_what_is_meant_is_found() -> None:
    target = X @ [0.5, 3.0]
    rounded = rounded_line((0.5 + 1e-15, 3.0 - 1e-15), target)
    assert rounded.coefficients.tolist() == [[0.5, 3.0]]


def test_what_the_data_contradict_stays() -> None:
    target = X @ [0.501, 3.0]
    assert rounded_line((0.501, 3.0), target).coefficients.tolist() == [[0.501, 3.0]]


def test_noise_decides_how_far_a_number_may_move() -> None:
    noise = RNG.normal(size=200)
    found, *_ = np.linalg.lstsq(X, X @ [1.0, 2.0] + 0.01 * noise, rcond=None)
    target = X @ [1.0, 2.0] + 0.01 * noise
    assert rounded_line(found, target).coefficients.tolist() == [[1.0, 2.0]]


def test_terms_that_do_nothing_go() -> None:
    rounded = rounded_line((1.0, 1e-17), X[:, 0])
    assert rounded.coefficients.tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize(
    ("value", "tolerance", "first"),
    [
        (0.3333333334, 1e-6, 1 / 3),
        (6.674 + 1e-13, 1e-12, 6.674),
        (-2.0000001, 1e-6, -2.0),
        (6.2832, 1e-4, 2 * np.pi),
    ],
)
def test_simple_numbers(value: float, tolerance: float, first: float) -> None:
    assert next(simple_numbers(value, tolerance)) == first


def test_exponents_respect_signs() -> None:
    free = np.array([[0.52, 1.4, 1.9]])
    odd = np.array([[0.0, 0.0, 1.0]])
    signs = np.array([1.0, -1.0, 0.0])  # positive, negative, both
    rounded = round_exponents(free, odd, signs, 2, largest=6)
    assert rounded is not None and rounded.tolist() == [[0.5, 1.0, 1.0]]
    assert round_exponents(free * 10, odd, signs, 2, largest=6) is None


def test_the_allowance_has_a_floor() -> None:
    assert allowance(0.0, 1e-16, 100) == 1e-16
    assert allowance(1.0, 1e-16, 100, slack=5.0) == pytest.approx(1.05)


def test_terms_that_are_tiny_beside_others_are_dropped() -> None:
    """What a search ends with for (2a + 3b)(c + d)/(e + 1)."""
    rows = np.random.default_rng(0).uniform(1, 5, (200, 5))
    a, b, c, d, e = rows.T
    rest = np.random.default_rng(1).normal(size=(3, 6))
    exponents = np.vstack((np.eye(5), np.zeros(5)))
    large = 1e12 * np.array([[2, 3, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1]])
    long = Candidate(
        exponents=exponents, coefficients=np.vstack((large + rest, [0, 0, 0, 0, 0, 1e-12])),
        powers=np.array([1.0, 1.0, -1.0, 1.0]),
    )  # fmt: skip
    target = (2 * a + 3 * b) * (c + d) / (e + 1)
    search = Search(inputs=rows, target=target, limits=Limits(), seconds=1, seed=0)
    search.add(long)
    assert search.best.exact
    assert str(search.best.candidate.expression(list("abcde"))) == "(2*a + 3*b)*(c + d)/(e + 1)"


@pytest.mark.slow
def test_a_product_of_sums_is_exact_with_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "CLOCK", time.process_time)
    rows = np.random.default_rng(0).uniform(1, 5, (300, 5))
    a, b, c, d, e = rows.T
    model = ArithmeticRegressor(random_state=0, time_budget=40)
    model.fit(rows, (a + b) * (c + d) / (e + 1))
    assert str(model.expression_) == "(x1 + x2)*(x3 + x4)/(x5 + 1)" and model.status_ == "exact"
