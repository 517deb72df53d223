"""Two spellings of one formula are the same, and a formula that differs is not."""

import signal
import time

import numpy as np
import pytest
import sympy
from formula_measures import (
    DUST,
    EXACT_TOLERANCE,
    NOISY_TOLERANCE,
    has_roots,
    quotient,
    relative_error,
    same_formula,
    terms,
    tidy,
    time_limit,
)
from formula_suite import SUITE, over, symbols

POSITIVE = over("x y z", (1, 5))
MIXED = over("x y z", (-2, 2), (2, 6))


def same(found, truth, *, inputs=POSITIVE, tolerance=EXACT_TOLERANCE):
    low, high = np.array([one.train for one in inputs]).T
    x = np.random.default_rng(0).uniform(low, high, (100, len(inputs)))
    found, truth = (sympy.sympify(one, locals=symbols(inputs)) for one in (found, truth))
    return same_formula(found, truth, inputs, x, tolerance)


@pytest.mark.parametrize(
    ("found", "truth"),
    [
        ("y + x", "x + y"),
        ("x*(y + z)", "z*x + x*y"),
        ("0.07957*x/y**2", "x*z/(4*pi*z*y**2)"),
        ("1.00004*x*y - 2e-7", "x*y"),
        ("31.4582901*(0.03241567*x)*(0.98064005*y)", "x*y"),
        ("x**1.0002*y**-0.4999", "x/sqrt(y)"),
        ("sqrt(x*y/z)", "sqrt(x)*sqrt(y)/sqrt(z)"),
        ("x*z/sqrt(z**2 - 0.01*y**2)", "x/sqrt(1 - 0.01*y**2/z**2)"),
        ("x*sqrt((z + 0.1*y)/(z - 0.1*y))", "(1 + 0.1*y/z)/sqrt(1 - 0.01*y**2/z**2)*x"),
        ("1/((x + y)/(x*y))", "1/(1/x + 1/y)"),
        ("3*x*y/(0.1*x - 1)", "30*x*y/(x - 10)"),
        ("x*y*(z + 5)/(z + 5)", "x*y"),
        ("(x**2 - y**2)/(x + y)", "x - y"),
        ("sqrt(Abs(x))*x", "x**1.5"),
    ],
)
def test_spellings_of_one_formula_are_the_same(found, truth):
    assert same(found, truth) and same(truth, found)


@pytest.mark.parametrize(
    ("found", "truth"),
    [
        ("x", "x + 0.01*y"),
        ("x + y + 0.01*z", "x + y"),
        ("x + y + 0.01", "x + y"),
        ("x**2*y", "x*y"),
        ("x**1.01*y", "x*y"),
        ("1.01*x*y", "x*y"),
        ("-x*y", "x*y"),
        ("-sqrt(x*y + z)", "sqrt(x*y + z)"),
        ("x*y/(z + 1)", "x*y/z"),
        ("x*y*(z + 5.1)/(z + 5)", "x*y"),
        ("x**y", "x*y"),
        ("zoo*x", "x*y"),
        ("0", "x*y"),
    ],
)
def test_other_formulas_are_not(found, truth):
    assert not same(found, truth)


def test_signs_matter_where_inputs_are_negative():
    assert same("sqrt(x**2)*y", "x*y")
    assert not same("sqrt(x**2)*y", "x*y", inputs=MIXED)
    assert same("sqrt(Abs(x**2 + y**2))", "sqrt(x**2 + y**2)", inputs=MIXED)
    assert not same("sqrt(x)*sqrt(y)", "sqrt(x*y)", inputs=MIXED)


def test_with_noise_constants_may_be_off_by_two_percent_and_nothing_else():
    assert same("1.015*x*y - 2.96*z", "x*y - 3*z", tolerance=NOISY_TOLERANCE)
    assert not same("1.03*x*y - 3*z", "x*y - 3*z", tolerance=NOISY_TOLERANCE)
    assert not same("x*y - 3*z + 0.05*x", "x*y - 3*z", tolerance=NOISY_TOLERANCE)
    assert not same("x*y*(z + 5.05)/(z + 5)", "x*y", tolerance=NOISY_TOLERANCE)


def test_a_small_constant_added_to_the_whole_is_forgiven():
    # The targets are about 10: 2 % are 0.2.
    assert same("x*y/(z + 1) + 0.01", "x*y/(z + 1)", tolerance=NOISY_TOLERANCE)
    assert same("x*y - 0.1", "x*y", tolerance=NOISY_TOLERANCE)
    assert not same("x*y - 0.5", "x*y", tolerance=NOISY_TOLERANCE)
    assert not same("x*y - 0.1", "x*y")
    assert not same("x*y", "x*y + 0.1", tolerance=NOISY_TOLERANCE)
    assert not same("x*y + 0.104", "x*y + 0.1", tolerance=NOISY_TOLERANCE)


@pytest.mark.parametrize("formula", SUITE, ids=lambda one: one.key)
def test_every_formula_is_comparable_and_none_of_its_terms_is_dust(formula):
    truth, x = formula.truth(), formula.train()[0][:256]
    assert same_formula(truth, truth, formula.inputs, x)
    power = tidy(truth, EXACT_TOLERANCE) ** (2 if has_roots(truth) else 1)
    written = sum(len(terms(part)) for part in sympy.fraction(sympy.together(power)))
    assert sum(map(len, quotient(power, formula.inputs, x))) == written


def test_a_missing_input_is_noticed_among_a_hundred():
    formula = next(one for one in SUITE if one.key == "sum-50-of-100-mixed")
    truth, x = formula.truth(), formula.train()[0]
    without = truth - symbols(formula.inputs)[formula.expression.split()[0]]
    assert not same_formula(without, truth, formula.inputs, x)
    dust = truth + DUST / 100 * sum(symbols(formula.inputs).values())
    assert same_formula(dust, truth, formula.inputs, x)


def test_relative_error():
    true = np.array([3.0, -4.0])
    assert relative_error(true, true) == 0
    assert relative_error(np.zeros(2), true) == 1
    assert relative_error(1.1 * true, true) == pytest.approx(0.1)
    assert np.isnan(relative_error(np.array([np.nan, 0.0]), true))


def test_time_limit():
    with pytest.raises(TimeoutError, match="no answer within 0.1 s"), time_limit(0.1):
        time.sleep(10)
    with time_limit(60.0):
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0  # nothing comes later
