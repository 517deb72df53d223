"""A formula whose rows are not met is noisy only if noise is all that could be left."""

import numpy as np
import pytest
from scipy import special

from wug.estimators import ArithmeticRegressor
from wug.estimators.verdict import is_in_few_rows, is_rounding


def fitted(x: np.ndarray, y: np.ndarray, seconds: float = 2) -> ArithmeticRegressor:
    return ArithmeticRegressor(time_budget=seconds, random_state=0).fit(x, y)


def box(num: int, *ranges: tuple[float, float]) -> np.ndarray:
    low, high = np.array(ranges).T
    return np.random.default_rng(100).uniform(low, high, (num, len(ranges)))


OUTSIDE = {
    "angle": (lambda a, b: np.arctan2(a, b), ((1, 5), (1, 5))),
    "steps": (lambda a, b: np.floor(a) * b, ((0, 9), (1, 5))),
    "root of a sum": (lambda a, b, c: np.sqrt(a + b) + c, ((1, 5), (1, 5), (1, 5))),
    "error function": (lambda a, b: special.erf(a) * b, ((-2, 2), (1, 5))),
    "elliptic": (lambda a, b: special.ellipk(a) * b, ((0, 0.95), (1, 5))),
    "whole": (lambda a, b: np.round(a * b), ((1, 5), (1, 5))),
}


@pytest.mark.slow
@pytest.mark.parametrize("num", [15, 30, 60, 150, 300])
@pytest.mark.parametrize("name", OUTSIDE)
def test_what_no_formula_meets_is_not_noise(name: str, num: int) -> None:
    function, ranges = OUTSIDE[name]
    x = box(num, *ranges)
    assert fitted(x, function(*x.T)).status_ in ("approximate", "incomplete", "undecided")


@pytest.mark.parametrize(("name", "num"), [("steps", 30), ("steps", 60), ("angle", 15)])
def test_some_of_what_no_formula_meets_is_not_noise(name: str, num: int) -> None:
    function, ranges = OUTSIDE[name]
    x = box(num, *ranges)
    assert fitted(x, function(*x.T)).status_ in ("approximate", "incomplete", "undecided")


@pytest.mark.parametrize(
    ("num", "level"),
    [
        (50, 0.01),
        (50, 0.1),
        *(pytest.param(100, level, marks=pytest.mark.slow) for level in (0.01, 0.1)),
    ],
)
def test_noise_is_called_noise(num: int, level: float) -> None:
    x = box(num, (1, 5), (1, 5), (1, 5))
    law = 2.3 * x[:, 0] * x[:, 1] / x[:, 2]
    noise = np.random.default_rng(num).normal(size=num)
    model = ArithmeticRegressor(functions=(), time_budget=2, random_state=0)
    assert model.fit(x, law + level * law.std() * noise).status_ == "noisy"


def test_rows_that_are_met_as_well_as_they_were_written_do_not_show_noise() -> None:
    x = box(100, (1, 5), (1, 5))
    law = 2.345 * x[:, 0] ** 2 / x[:, 1]
    assert fitted(x, law.round(1)).status_ == "approximate"


def test_decimals_and_digits_are_rounding() -> None:
    values = np.array([0.0, 123.456, 98.7654, 1.23456])
    assert is_rounding(values - values.round(3), values.round(3))
    assert not is_rounding(values - values.round(2), values.round(3))
    three = np.array([float(f"{value:.3g}") for value in values])
    assert is_rounding(values - three, three)
    assert not is_rounding(1.01 * values - three, three)
    assert not is_rounding(np.full(4, 1e-9), values / 3)


def test_few_rows_that_hold_almost_all() -> None:
    assert is_in_few_rows(np.array([0.0, 0.01, -0.01, 0.02, 5.0]))
    assert not is_in_few_rows(np.array([1.0, -1.2, 0.3, -0.4, 0.8]))
