"""The constants of a fit are those of the printed formula."""

import numpy as np
import sympy
from scipy.optimize import curve_fit

from wug.estimators import ArithmeticRegressor
from wug.estimators.printed_constants import MOST_NUMBERS, printed_constants

S = np.array([0.1, 0.2, 0.5, 1, 2, 3, 5, 8, 12, 20, 35, 50])
V = 7.3 * S / (2.4 + S) * (1 + 0.02 * np.random.default_rng(1).normal(size=len(S)))


def test_saturation_as_scipy_fits_it() -> None:
    x = sympy.Symbol("x", real=True)
    values, covariance = curve_fit(lambda s, v, k: v * s / (k + s), S, V, (7, 2))
    expression = values[0] * x / (values[1] + x)
    found = printed_constants(expression, ["x"], S[:, None], V, np.ones(len(S)))
    np.testing.assert_allclose(sorted(one.value for one in found), sorted(values))
    errors = {one.value: one.standard_error for one in found}
    wanted = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose([errors[value] for value in values], wanted, rtol=1e-4)


def test_the_regressor_gives_the_numbers_that_it_prints() -> None:
    model = ArithmeticRegressor(time_budget=4, random_state=0, functions=()).fit(S[:, None], V)
    printed = {float(number) for number in model.expression_.atoms(sympy.Float)}
    assert {abs(one.value) for one in model.constants_} == {abs(value) for value in printed}
    assert len(printed) == 2
    assert all(0 < one.standard_error < 0.2 for one in model.constants_)


def test_a_number_in_two_places_is_one() -> None:
    x = sympy.Symbol("x", real=True)
    expression = x**2.3 / (5.5 + x**2.3) - 5.5
    inputs = np.linspace(1, 4, 30)[:, None]
    target = inputs[:, 0] ** 2.3 / (5.5 + inputs[:, 0] ** 2.3) - 5.5
    found = printed_constants(expression, ["x"], inputs, target, np.ones(30))
    assert sorted(abs(one.value) for one in found) == [2.3, 5.5]


def test_nothing_to_know() -> None:
    x = sympy.Symbol("x", real=True)
    assert printed_constants(x / 2, ["x"], np.ones((3, 1)), np.ones(3), np.ones(3)) == []
    many = sum((i + 0.37) * x**i for i in range(MOST_NUMBERS + 1))
    found = printed_constants(many, ["x"], np.ones((3, 1)), np.ones(3), np.ones(3))
    assert len(found) > MOST_NUMBERS and np.isinf([one.standard_error for one in found]).all()
