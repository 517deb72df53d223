"""Exact is said of what is exact, and of nothing else."""

from collections.abc import Callable

import numpy as np
import pytest

from wug.estimators import ArithmeticRegressor
from wug.estimators.candidate import Candidate
from wug.estimators.exactness import (
    has_enough_rows,
    is_exact,
    meets,
    meets_outermost,
    num_distinct,
    numbers_are_known,
    written_rounding,
)
from wug.estimators.polynomial import whole_exponents

RNG = np.random.default_rng(0)


def line(low: float, high: float, num: int = 80) -> np.ndarray:
    return np.linspace(low, high, num)[:, None]


def box(num: int, *ranges: tuple[float, float]) -> np.ndarray:
    low, high = np.array(ranges).T
    return np.random.default_rng(1).uniform(low, high, (num, len(ranges)))


# No formula of arithmetic meets these. Narrow ranges, on which short series come close.
NARROW: dict[str, tuple[Callable[..., np.ndarray], np.ndarray]] = {
    "sin": (np.sin, line(-0.3, 0.3)),
    "cos": (np.cos, line(-0.3, 0.3)),
    "tan": (np.tan, line(-0.2, 0.2)),
    "exp": (np.exp, line(0, 0.5)),
    "exp, narrower": (np.exp, line(0, 0.2)),
    "log": (np.log, line(1, 1.2)),
    "tanh": (np.tanh, line(-0.2, 0.2)),
    "arctan": (np.arctan, line(-0.2, 0.2)),
    "arcsin": (np.arcsin, line(-0.2, 0.2)),
    "sinh": (np.sinh, line(-0.3, 0.3)),
    "cosh": (np.cosh, line(-0.3, 0.3)),
    "logistic": (lambda x: 1 / (1 + np.exp(-x)), line(-0.4, 0.4)),
    "bell": (lambda x: np.exp(-(x**2)), line(-0.2, 0.2)),
    "Misra": (lambda x: 338 * (1 - (1 + x / 5128) ** -2.1), line(77, 760)),
    "energy": (lambda m, v: m * (1 - v**2) ** -0.45, box(100, (1, 2), (0.01, 0.1))),
    "sum of roots": (lambda a, b: np.sqrt(a) + np.sqrt(b + 1), box(100, (1, 1.1), (1, 1.1))),
    "log of a sum": (lambda a, b: np.log(a + b), box(100, (1, 1.05), (1, 1.05))),
    "a to the b": (lambda a, b: a**b, box(100, (1, 1.1), (1, 1.1))),
    "wave": (lambda a, b: np.sin(a * b), box(100, (0.1, 0.3), (0.1, 0.3))),
    "large and small": (lambda a, b: 1e9 * a + np.sin(9 * b), box(100, (1, 2), (1, 5))),
}


def levels(num: int) -> np.ndarray:
    return np.resize(np.arange(1.0, num + 1), 200)[:, None]


# Any values on few levels, and few rows.
FEW: dict[str, tuple[np.ndarray, np.ndarray]] = {
    **{
        f"{num} levels": (levels(num), RNG.normal(size=num)[levels(num)[:, 0].astype(int) - 1])
        for num in (2, 3, 4, 5, 7)
    },
    **{f"{num} rows": (RNG.uniform(1, 5, (num, 2)), RNG.normal(size=num)) for num in (2, 3, 5, 8)},
    "three rows of a product": ((x := RNG.uniform(1, 5, (3, 2))), x[:, 0] * x[:, 1]),
}


def status_of(x: np.ndarray, y: np.ndarray) -> str:
    model = ArithmeticRegressor(functions=(), time_budget=2, random_state=0)
    return str(model.fit(x, y).status_)


@pytest.mark.slow
@pytest.mark.parametrize("name", NARROW)
def test_series_are_not_exact(name: str) -> None:
    function, x = NARROW[name]
    assert status_of(x, function(*x.T)) in ("approximate", "noisy", "incomplete")


@pytest.mark.parametrize("name", ["sin", "log", "energy"])
def test_some_series_are_not_exact(name: str) -> None:
    function, x = NARROW[name]
    assert status_of(x, function(*x.T)) == "approximate"


@pytest.mark.parametrize("name", FEW)
def test_few_rows_are_not_exact(name: str) -> None:
    assert status_of(*FEW[name]) in ("undecided", "none", "noisy", "incomplete")


def test_there_are_thirty_of_them() -> None:
    assert len(NARROW) + len(FEW) == 30


def polynomial(x: np.ndarray, y: np.ndarray, degree: int) -> Candidate:
    exponents = whole_exponents(1, degree, False, 99)
    assert exponents is not None
    found = np.polynomial.polynomial.polyfit(x[:, 0], y, degree)
    return Candidate(exponents=exponents, coefficients=found[None], powers=np.ones(1))


def test_a_series_that_meets_its_rows_does_not_meet_the_outermost() -> None:
    """On so narrow a range a quintic is a sine up to rounding, but not when it carries on."""
    x = line(-0.06, 0.06, 400)
    series = polynomial(x, np.sin(x[:, 0]), 5)
    assert not meets_outermost(series, x, np.sin(x[:, 0]))


def test_a_polynomial_is_exact_whatever_its_numbers() -> None:
    x = line(-1, 2, 100)
    y = 0.1234567 * x[:, 0] ** 3 - 2.718281828 * x[:, 0] + 0.577
    assert is_exact(polynomial(x, y, 3), x, y)


def test_distinct_rows_are_counted_in_the_inputs_that_matter() -> None:
    x = np.column_stack((np.resize([1.0, 2.0, 3.0], 90), np.arange(90.0)))
    square = Candidate(
        exponents=np.array([[2.0, 0.0]]), coefficients=np.ones((1, 1)), powers=np.ones(1)
    )
    assert meets(square, x, x[:, 0] ** 2) and not has_enough_rows(square, x)
    assert num_distinct(x[:, :1], 5) == 3 and num_distinct(x, 5) == 90


def test_every_row_is_checked() -> None:
    x = np.random.default_rng(2).uniform(1, 5, (100_000, 2))
    y = x[:, 0] * x[:, 1]
    product = Candidate(exponents=np.ones((1, 2)), coefficients=np.ones((1, 1)), powers=np.ones(1))
    assert is_exact(product, x, y)
    y[[7, 30_000, 60_000, 99_999]] += 1e-6
    assert not is_exact(product, x, y)
    model = ArithmeticRegressor(functions=(), time_budget=4, random_state=0).fit(x, y)
    assert model.status_ != "exact"


def test_a_small_summand_beside_a_large_one_is_seen() -> None:
    x = np.random.default_rng(3).uniform(1, 5, (200, 2)) * [1e12, 1]
    model = ArithmeticRegressor(time_budget=10, random_state=0).fit(x, x[:, 0] + x[:, 1])
    assert str(model.expression_) == "x1 + x2" and model.status_ == "exact"


def test_single_precision_is_rounded_as_such() -> None:
    x = np.random.default_rng(4).uniform(1, 5, (100, 2)).astype(np.float32)
    model = ArithmeticRegressor(time_budget=10, random_state=0).fit(x, x[:, 0] * x[:, 1])
    assert str(model.expression_) == "x1*x2" and model.status_ == "exact"


def test_a_series_that_is_cut_off_below_rounding_is_not_exact() -> None:
    x = line(1, 1.1, 60)
    series = polynomial(x, np.sin(x[:, 0]), 6)
    assert meets(series, x, np.sin(x[:, 0])) and has_enough_rows(series, x)
    assert not numbers_are_known(series, x, np.sin(x[:, 0]))
    model = ArithmeticRegressor(time_budget=10, random_state=0).fit(x, np.sin(x[:, 0]))
    assert str(model.expression_) == "sin(x1)" and model.status_ == "exact"
    model = ArithmeticRegressor(functions=(), time_budget=3, random_state=0)
    assert model.fit(x, np.sin(x[:, 0])).status_ == "approximate"


def test_numbers_that_make_up_for_each_other_are_known() -> None:
    x = box(50, (1, 5), (1, 5))
    factors = Candidate(
        exponents=np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]),
        coefficients=np.array([[2.53, 0.0, 3.7], [0.0, 1.71, 0.93]]), powers=np.array([1.0, -1.0]),
    )  # fmt: skip
    assert numbers_are_known(factors, x, factors.predict(x))


@pytest.mark.parametrize("digits", [12, 13, 14, 15, 16, 17])
def test_a_table_is_as_exact_as_it_was_written(digits: int) -> None:
    x = box(58, (1, 9), (1, 9))
    y = x[:, 0] ** 2 / x[:, 1]
    x, y = (np.vectorize(lambda v: float(f"{v:.{digits}g}"))(one) for one in (x, y))
    assert written_rounding(x) == (0.0 if digits == 17 else 0.5 * 10.0 ** (1 - digits))
    model = ArithmeticRegressor(time_budget=5, random_state=0).fit(x, y)
    assert str(model.expression_) == "x1**2/x2" and model.status_ == "exact"


@pytest.mark.parametrize("rounded", [2, 0])
def test_only_columns_of_the_formula_loosen_its_rounding(rounded: int) -> None:
    x = box(58, (1, 9), (1, 9), (1, 9))
    y = x[:, 0] ** 2 / x[:, 1] * (1 + 2e-12 * np.sin(9 * x[:, 2]))
    x[:, rounded] = [float(f"{value:.12g}") for value in x[:, rounded]]
    model = ArithmeticRegressor(time_budget=3, random_state=0).fit(x, y)
    assert (model.status_ == "exact") == (rounded == 0)


def test_cents_are_not_rounded() -> None:
    prices = np.random.default_rng(5).integers(10**9, 10**11, (50, 2)) / 100
    assert written_rounding(prices) == 0


def test_few_rows_hold_what_noise_would_spread() -> None:
    x = box(60, (1, 5), (1, 5))
    y = x[:, 0] * x[:, 1]
    y[[3, 17, 40]] += [1.0, -2.0, 1.5]
    model = ArithmeticRegressor(functions=(), time_budget=2, random_state=0).fit(x, y)
    assert model.status_ in ("approximate", "incomplete")


def test_the_choice_is_beaten_by_no_smaller_formula() -> None:
    force = np.linspace(0.5, 10, 25)
    extension = force / 24.5 + 0.002 * np.random.default_rng(6).normal(size=25)
    extension[5] *= 10
    extension[18] /= 10
    model = ArithmeticRegressor(time_budget=3, random_state=0).fit(force[:, None], extension)
    chosen = model.equations_[model.equations_.chosen]
    smaller = [one for one in model.equations_ if one.complexity < chosen.complexity]
    assert all(one.error > chosen.error for one in smaller)
