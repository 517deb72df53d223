import math

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from wug.training.plan import Restart
from wug.training.restarts import NEVER, next_restarts

# Sums of such numbers are exact, so that equal means are equal in any order of additions.
errors = st.integers(0, 64).map(lambda n: n / 16) | st.sampled_from([1e6, math.nan, math.inf])
every = st.sampled_from([1, 7, 10, 20])


@st.composite
def curves(draw: st.DrawFn) -> list[list[float]]:
    num_rows = draw(st.integers(1, 25))
    return draw(
        st.lists(st.lists(errors, min_size=num_rows, max_size=num_rows), min_size=1, max_size=4)
    )


def step_by_step(curve: list[float], every: int, steps: int, rule: Restart) -> list[int]:
    """Give the steps of all restarts, by the reference's loop: one stored error per step."""
    stored: list[float] = []
    restarts = []
    for step in range(steps):
        stored.append(curve[step // every])
        if step % rule.check_every == 0 and step > 0 and len(stored) > rule.min_stored:
            half = len(stored) // 2
            with np.errstate(invalid="ignore"):
                first, second = np.mean(stored[:half]), np.mean(stored[half:])
                deviation = np.std(stored[half:])
            if deviation > 0 and math.isclose(first, second + deviation, rel_tol=1e-6):
                reject()  # either answer may be right
            if first <= second + deviation and second > rule.threshold:
                restarts.append(step)
                stored = []
    return restarts


def by_interval(
    all_curves: list[list[float]], every: int, steps: int, rule: Restart
) -> list[list[int]]:
    """Give the same with one call per evaluation, which knows the past of the curves alone."""
    started = np.zeros(len(all_curves), np.int64)
    restarts: list[list[int]] = [[] for _ in all_curves]
    for now in range(0, steps, every):
        seen = np.array(all_curves).T[: now // every + 1]
        found = next_restarts(seen, every, started, now, min(now + every, steps), rule)
        for replica in np.flatnonzero(found != NEVER):
            restarts[replica].append(int(found[replica]))
            started[replica] = found[replica] + 1
    return restarts


@given(
    all_curves=curves(),
    every=every,
    check_every=st.sampled_from([1, 3, 10]),
    extra=st.integers(0, 60),
    cut=st.integers(0, 19),
)
def test_replicas_restart_where_the_reference_does(
    all_curves: list[list[float]], every: int, check_every: int, extra: int, cut: int
) -> None:
    rule = Restart(check_every=check_every, min_stored=every + extra)
    steps = max(1, len(all_curves[0]) * every - cut)
    expected = [step_by_step(curve, every, steps, rule) for curve in all_curves]
    assert by_interval(all_curves, every, steps, rule) == expected


@given(level=st.floats(1.0625, 1e6, width=32), every=every, extra=st.integers(0, 60))
def test_a_flat_curve_above_the_threshold_restarts_at_once(
    level: float, every: int, extra: int
) -> None:
    rule = Restart(check_every=1, min_stored=every + extra)
    period = rule.min_stored + 1
    steps = 5 * period
    curve = [level] * math.ceil(steps / every)
    assert by_interval([curve], every, steps, rule) == [list(range(period - 1, steps, period))]


def test_the_check_waits_for_more_than_the_stored_minimum() -> None:
    rule = Restart(check_every=10, min_stored=50)
    # 51 errors are stored after step 50; the next 51 are those of steps 51 to 101.
    assert by_interval([[2.0] * 10], 20, 200, rule) == [[50, 110, 170]]


@pytest.mark.parametrize("error", [0.5, 1.0, math.nan, math.inf])
def test_an_error_that_is_not_above_the_threshold_never_restarts(error: float) -> None:
    assert by_interval([[error] * 10], 20, 200, Restart(min_stored=50)) == [[]]


def test_an_error_that_falls_steadily_never_restarts() -> None:
    curve = [100.0 - step for step in range(50)]
    assert by_interval([curve], 1, 50, Restart(check_every=1, min_stored=10)) == [[]]
