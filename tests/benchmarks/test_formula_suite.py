"""The suite is what it says it is, and its data are the same everywhere."""

import numpy as np
import pytest
import sympy
from formula_suite import (
    CATEGORIES,
    DRAWN,
    FEYNMAN_FORMS,
    NOISY,
    OUT_OF_REACH,
    REPEATED,
    SUITE,
    TWICE,
)

each = pytest.mark.parametrize("formula", SUITE, ids=lambda one: one.key)


@each
def test_expression_is_arithmetic_in_its_inputs(formula):
    truth = formula.truth()
    assert {str(symbol) for symbol in truth.free_symbols} <= set(formula.names)
    assert not truth.atoms(sympy.Function)
    assert all(power.exp.is_number for power in truth.atoms(sympy.Pow))


@each
def test_data_are_finite_and_within_their_ranges(formula):
    for split, (x, y) in {"train": formula.train(), "test": formula.test()}.items():
        low, high = np.array([getattr(one, split) for one in formula.inputs]).T
        assert x.shape == (len(y), len(formula.inputs))
        assert np.all((low <= x) & (x < high)) and np.isfinite(y).all()
    assert len(formula.train()[1]) == formula.rows


@each
def test_test_range_is_outside(formula):
    for one in formula.inputs:
        assert one.test[0] >= one.train[1] or one.test[1] <= one.train[0]
        assert one.test[1] - one.test[0] > 0


@each
def test_data_are_those_of_every_run(formula):
    for first, again in zip(formula.train(), formula.train(), strict=True):
        assert np.array_equal(first, again)


def test_data_do_not_depend_on_the_machine():
    # PCG64 seeded with the CRC-32 of "sum-2-of-2-narrow train", which zlib gives as below.
    formula = SUITE[0]
    expected = np.random.default_rng(4275530602).uniform(1.1, 1.2, (64, 2))
    x, y = formula.train()
    assert np.array_equal(x, expected)
    assert np.array_equal(y, expected[:, 0] + expected[:, 1])


def test_size_and_spread():
    assert len({one.key for one in SUITE}) == len(SUITE) >= 60
    assert {one.category for one in SUITE} == set(CATEGORIES)
    assert sum(one.source != "own" for one in SUITE) >= 30
    assert {one.rows for one in SUITE} >= {64, 10_000}
    assert min(one.rows for one in SUITE) == 64 and max(one.rows for one in SUITE) == 10_000
    assert max(len(one.inputs) for one in SUITE) == 100
    assert any(one.inputs[0].train == (1.1, 1.2) for one in SUITE)
    assert any(len(one.truth().free_symbols) < len(one.inputs) for one in SUITE)


def test_noisy_copies_have_the_same_rows():
    clean = {one.key: one for one in SUITE}
    for share, formulas in NOISY.items():
        assert len(formulas) >= 20
        for one in formulas:
            (x, y), (rows, targets) = one.train(), clean[one.key].train()
            assert np.array_equal(x, rows)
            assert np.array_equal(one.test()[1], clean[one.key].test()[1])
            # The sample deviation of 64 or more draws, five sigma wide.
            measured = (y - targets).std() / targets.std()
            assert measured == pytest.approx(share, rel=5 / np.sqrt(2 * one.rows))
            assert one.digest != clean[one.key].digest


def test_the_feynman_formulas_are_those_that_the_lot_drew():
    here = {one.source.removeprefix("feynman ") for one in SUITE if "feynman" in one.source}
    out = {key.removeprefix("feynman ") for key in OUT_OF_REACH if "feynman" in key}
    assert here == set(DRAWN) <= set(FEYNMAN_FORMS)
    assert set(REPEATED.values()) <= set(FEYNMAN_FORMS)
    assert len({*FEYNMAN_FORMS, *REPEATED, *out}) == 100


@pytest.mark.parametrize(("name", "count"), [("nguyen", 12), ("keijzer", 15)])
def test_every_formula_of_the_short_lists_is_accounted_for(name, count):
    here = {one.source for one in SUITE if one.source.startswith(name)}
    left_out = {key for key in (*OUT_OF_REACH, *TWICE) if key.startswith(name)}
    assert here | left_out == {f"{name}-{i + 1}" for i in range(count)}
    assert not here & left_out
