from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.stats.interval import Estimate
from wug.study.claims import Cell, Entry, Table
from wug.study.judgements import Verdict, negate
from wug.study.predicates import (
    better,
    error_above,
    error_below,
    exceeds,
    full_success,
    hardly_any_succeed,
    larger_lead,
    leads_by,
    less_sparse,
    lower_error,
    most_succeed,
    no_success,
    rate_at_least,
    rate_at_most,
    same_rate,
    slower,
    some_success,
    sparsity_at_most,
)

HELD, BROKEN, UNDECIDED = Verdict.HELD, Verdict.BROKEN, Verdict.UNDECIDED


def ours(successes: int, trials: int = 25, name: str = "ours") -> Entry:
    return Entry(name, Cell(successes, trials), exact=False)


def theirs(successes: int, trials: int = 25, name: str = "theirs") -> Entry:
    return Entry(name, Cell(successes, trials), exact=True)


def test_one_measure_above_another():
    def entry(**measures):
        found = {n: Estimate(*numbers, "by hand", 5) for n, numbers in measures.items()}
        return Entry("fnn", Cell(1, 1, found), exact=False)

    apart = entry(early=(0.3, 0.2, 0.4), late=(0.1, 0.0, 0.15))
    assert exceeds(apart, "early", "late").verdict is HELD
    assert exceeds(apart, "late", "early").verdict is BROKEN
    near = entry(early=(0.3, 0.2, 0.4), late=(0.1, 0.0, 0.25))
    assert exceeds(near, "early", "late").verdict is UNDECIDED
    assert exceeds(MISSING, "early", "late").verdict is UNDECIDED


MISSING = Entry("missing", None, exact=False)


@pytest.mark.parametrize(
    ("entry", "full", "none"),
    [
        (theirs(25), HELD, BROKEN),
        (theirs(24), BROKEN, BROKEN),
        (theirs(0), BROKEN, HELD),
        (theirs(1, 1), HELD, BROKEN),
        (ours(20, 20), HELD, BROKEN),
        (ours(19, 19), UNDECIDED, BROKEN),
        (ours(4, 5), BROKEN, BROKEN),
        (ours(0, 20), BROKEN, HELD),
        (ours(0, 5), BROKEN, UNDECIDED),
        (MISSING, UNDECIDED, UNDECIDED),
    ],
)
def test_full_and_no_success(entry, full, none):
    assert full_success(entry).verdict is full
    assert no_success(entry).verdict is none
    assert some_success(entry).verdict is negate(no_success(entry)).verdict


# Wilson, 95 %: 10/25 is [0.234, 0.593], 0/25 is [0, 0.133], 24/25 is [0.805, 0.993].
@pytest.mark.parametrize(
    ("entry", "bound", "at_least", "at_most"),
    [
        (theirs(10), 0.4, HELD, HELD),
        (theirs(10), 0.41, BROKEN, HELD),
        (ours(10), 0.23, HELD, BROKEN),
        (ours(10), 0.4, UNDECIDED, UNDECIDED),
        (ours(10), 0.6, BROKEN, HELD),
        (ours(0), 0.13, UNDECIDED, UNDECIDED),
        (ours(0), 0.14, BROKEN, HELD),
        (ours(24), 0.8, HELD, BROKEN),
        (MISSING, 0.5, UNDECIDED, UNDECIDED),
    ],
)
def test_rate_bounds(entry, bound, at_least, at_most):
    assert rate_at_least(entry, bound).verdict is at_least
    assert rate_at_most(entry, bound).verdict is at_most


# Wilson, 95 %: 20/25 is [0.609, 0.911], 2/100 is [0.006, 0.070], 9/100 is [0.048, 0.162].
@pytest.mark.parametrize(
    ("entry", "most", "hardly_any"),
    [
        (theirs(13), HELD, BROKEN),
        (theirs(12), BROKEN, BROKEN),
        (theirs(3), BROKEN, HELD),
        (ours(20), HELD, BROKEN),
        (ours(12), UNDECIDED, BROKEN),
        (ours(2, 100), BROKEN, HELD),
        (ours(9, 100), BROKEN, UNDECIDED),
        (MISSING, UNDECIDED, UNDECIDED),
    ],
)
def test_most_and_hardly_any(entry, most, hardly_any):
    assert most_succeed(entry).verdict is most
    assert hardly_any_succeed(entry).verdict is hardly_any


# newcombe1998, table II, method 10: the printed 95 % intervals of six differences of rates.
@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((6, 7), (2, 7), 0.0582, 0.8062),
        ((5, 56), (0, 29), -0.0381, 0.1926),
        ((0, 10), (0, 20), -0.1611, 0.2775),
        ((10, 10), (0, 20), 0.6791, 1.0000),
    ],
)
def test_leads_follow_newcombe(first, second, low, high):
    one, two = ours(*first), ours(*second)
    assert better(one, two).verdict is (HELD if low > 0 else UNDECIDED)
    for edge, outward in ((low, -1), (high, 1)):
        # leads_by allows for rounding to whole per cent on top of the interval.
        inside, outside = edge + outward * 0.0045, edge + outward * 0.0055
        assert leads_by(one, two, inside).verdict is not BROKEN
        assert leads_by(one, two, outside).verdict is BROKEN


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        (theirs(22), theirs(21), HELD),
        (theirs(21), theirs(21), BROKEN),
        (theirs(20), theirs(21), BROKEN),
        (ours(25), ours(10), HELD),
        (ours(10), ours(25), BROKEN),
        (ours(12), ours(10), UNDECIDED),
        (ours(0), ours(0), BROKEN),
        (ours(0, 5), ours(0, 5), UNDECIDED),
        (ours(1), ours(0), UNDECIDED),
        (ours(25), MISSING, UNDECIDED),
        (MISSING, ours(0), UNDECIDED),
    ],
)
def test_better(first, second, verdict):
    assert better(first, second).verdict is verdict


runs = st.integers(1, 60).flatmap(
    lambda trials: st.integers(0, trials).map(lambda successes: (successes, trials))
)


@given(runs, runs, st.sampled_from([ours, theirs]))
def test_better_is_asymmetric(first, second, make):
    one, two = make(*first), make(*second)
    if better(one, two).verdict is HELD:
        assert better(two, one).verdict is BROKEN
        assert same_rate(one, two).verdict is BROKEN


@given(runs, runs)
def test_ours_never_contradicts_the_point_comparison(first, second):
    verdict = better(ours(*first), ours(*second)).verdict
    assert verdict in (UNDECIDED, better(theirs(*first), theirs(*second)).verdict)


def test_same_rate():
    assert same_rate(theirs(7), theirs(7)).verdict is HELD
    assert same_rate(theirs(7), theirs(8)).verdict is BROKEN
    assert same_rate(ours(0), ours(0)).verdict is HELD
    assert same_rate(ours(21), ours(21)).verdict is UNDECIDED
    assert same_rate(ours(25), ours(0)).verdict is BROKEN


def test_leads_by_takes_printed_gaps_to_a_whole_per_cent():
    assert leads_by(theirs(10), theirs(2), 0.32).verdict is HELD
    assert leads_by(theirs(10), theirs(2), 0.31).verdict is BROKEN
    assert leads_by(MISSING, ours(2), 0.32).verdict is UNDECIDED


def test_larger_lead():
    assert larger_lead((theirs(9), theirs(4)), (theirs(5), theirs(1))).verdict is HELD
    assert larger_lead((theirs(9), theirs(4)), (theirs(6), theirs(1))).verdict is BROKEN
    assert larger_lead((ours(9), ours(4)), (ours(5), ours(1))).verdict is UNDECIDED
    far, near = (ours(225, 225), ours(0, 225)), (ours(10, 225), ours(10, 225))
    assert larger_lead(far, near).verdict is HELD
    assert larger_lead(near, far).verdict is BROKEN
    assert larger_lead(far, (MISSING, MISSING)).verdict is UNDECIDED


Interval = tuple[float, float]


def timed(solved_at: float | None, interval: Interval = (nan, nan), exact: bool = False) -> Entry:
    known = {} if solved_at is None else {"solved_at": Estimate.given(solved_at, *interval)}
    return Entry("timed", Cell(25, 25, known), exact)


@pytest.mark.parametrize(
    ("first", "second", "factor", "verdict"),
    [
        (timed(16e3, exact=True), timed(5e3, exact=True), 1, HELD),
        (timed(5e3, exact=True), timed(5e3, exact=True), 1, BROKEN),
        (timed(16e3, exact=True), timed(6.1e3, exact=True), 2, HELD),
        (timed(12e3, exact=True), timed(6.1e3, exact=True), 2, BROKEN),
        (timed(None, exact=True), timed(5e3, exact=True), 1, UNDECIDED),
        (timed(16e3, (15e3, 17e3)), timed(5e3, (4e3, 6e3)), 1, HELD),
        (timed(16e3, (15e3, 17e3)), timed(5e3, (4e3, 6e3)), 3, UNDECIDED),
        (timed(5e3, (4e3, 6e3)), timed(16e3, (15e3, 17e3)), 1, BROKEN),
        (timed(16e3, (nan, nan)), timed(5e3, (4e3, 6e3)), 1, UNDECIDED),
        (timed(16e3), timed(5e3), 1, UNDECIDED),
        (MISSING, timed(5e3, (4e3, 6e3)), 1, UNDECIDED),
    ],
)
def test_slower(first, second, factor, verdict):
    assert slower(first, second, factor).verdict is verdict


def test_significance_needs_the_interval():
    late, early = timed(16e3, (9e3, 23e3), exact=True), timed(5e3, (4e3, 14e3), exact=True)
    assert slower(late, early).verdict is HELD
    assert slower(late.uncertain(), early.uncertain()).verdict is UNDECIDED
    apart = timed(16e3, (15e3, 17e3), exact=True)
    assert slower(apart.uncertain(), timed(5e3, (4e3, 6e3)).uncertain()).verdict is HELD


def sparse(error: float | None, interval: Interval = (nan, nan), exact: bool = False) -> Entry:
    known = {} if error is None else {"sparsity": Estimate.given(error, *interval)}
    return Entry("sparse", Cell(25, 25, known), exact)


def test_sparsity():
    assert less_sparse(sparse(2e-6, exact=True), sparse(1e-16, exact=True)).verdict is HELD
    assert less_sparse(sparse(0.0, (0.0, 0.0)), sparse(0.0, (0.0, 0.0))).verdict is BROKEN
    assert less_sparse(sparse(2e-6), sparse(1e-6)).verdict is UNDECIDED
    assert sparsity_at_most(sparse(1e-5, exact=True), 1e-5).verdict is HELD
    assert sparsity_at_most(sparse(1e-5, (0.5e-5, 2e-5)), 1e-5).verdict is UNDECIDED
    assert sparsity_at_most(sparse(1e-5, (0.5e-5, 2e-5)), 1e-6).verdict is BROKEN
    assert sparsity_at_most(sparse(None), 1e-5).verdict is UNDECIDED
    assert sparsity_at_most(MISSING, 1e-5).evidence == ("missing: sparsity error unknown",)


def erring(error: float, interval: Interval = (nan, nan), exact: bool = False) -> Entry:
    values = {"error": Estimate.given(error, *interval), "iid_error": Estimate.given(1.0)}
    return Entry("erring", Cell(None, 10, values), exact)


def test_errors():
    small, large = erring(2.0, (1.0, 3.0)), erring(8.0, (6.0, 9.0))
    assert lower_error(small, large).verdict is HELD
    assert lower_error(large, small).verdict is BROKEN
    assert lower_error(small, large, factor=0.25).verdict is UNDECIDED
    assert lower_error(small, erring(inf, (inf, inf))).verdict is HELD
    assert error_below(small, 4.0).verdict is error_above(large, 4.0).verdict is HELD
    assert error_below(large, 4.0).verdict is error_above(small, 4.0).verdict is BROKEN
    assert error_below(erring(2.0), 4.0).verdict is UNDECIDED
    assert error_below(erring(2.0, exact=True), 4.0).evidence == ("erring: error 2",)
    assert error_below(erring(9.0, exact=True), 4.0, iid=True).verdict is HELD
    assert error_below(MISSING, 4.0).verdict is UNDECIDED


def test_a_cell_that_counts_no_successes_decides_nothing_about_them():
    uncounted = erring(1.0, exact=True)
    assert full_success(uncounted).verdict is no_success(uncounted).verdict is UNDECIDED
    assert str(uncounted) == "erring: successes not counted"
    table = Table({("a",): Cell(None, 5), ("b",): Cell(1, 5)})
    assert table.pooled("both", [("a",), ("b",)]).cell is None
