import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.core.errors import UserError
from wug.core.schedules import After, Constant, Growth, Noam, Ramp, Trapezoid, WarmUp

STEPS = np.arange(0, 60_000, 500)


def test_constant():
    assert Constant(1e-3)(STEPS).tolist() == [1e-3] * len(STEPS)


@given(st.floats(0.001, 100), st.integers(0, 10_000), st.integers(1, 10_000))
def test_ramp_is_the_papers_equation(peak, start, length):
    """mistry2022, Eq. 16."""
    end = start + length
    steps = np.arange(0, 25_000, 97)
    expected = [peak * max(min((step - start) / (end - start), 1), 0) for step in steps]
    assert Ramp(peak, start, end)(steps).tolist() == pytest.approx(expected)


def test_ramp_of_the_benchmark():
    values = Ramp(10.0, 20_000, 35_000)(np.array([0, 20_000, 27_500, 35_000, 50_000]))
    assert values.tolist() == [0.0, 0.0, 5.0, 10.0, 10.0]


@pytest.mark.parametrize(("start", "limit"), [(1e-7, 1e-5), (1e-9, 1e-7), (1e-5, 1e-4)])
def test_growth_of_the_power_units(start, limit):
    """heim2020: ten times as much at 10,000, 20,000, ... until the limit."""
    steps = np.array([0, 9_999, 10_000, 19_999, 20_000, 29_999, 30_000, 50_000])
    factors = np.array([1, 1, 10, 10, 100, 100, 1000, 1000])
    expected = np.minimum(start * factors, limit)
    assert Growth(start, limit, 10, 10_000)(steps).tolist() == pytest.approx(expected, rel=1e-12)


def test_growth_hits_decades_exactly():
    assert Growth(1e-9, 1e-5, 10, 1)(np.arange(6)).tolist() == [1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-5]


def test_after_begins_past_its_start():
    values = After(2.0, 10)(np.array([0, 9, 10, 11, 99]))
    assert values.tolist() == [0.0, 0.0, 0.0, 2.0, 2.0]


def test_a_trapezoid_is_a_warm_up_until_it_falls():
    steps = np.arange(1_000)
    values, constant = Trapezoid(2.0, 30, 1_000, falling=0.2)(steps), WarmUp(2.0, 30)(steps)
    assert (values[:801] == constant[:801]).all()
    assert values[800:].tolist() == pytest.approx(np.linspace(2.0, 0.0, 201)[:-1].tolist())
    assert Trapezoid(2.0, 30, 1_000, falling=0.2)(np.array([1_000, 1_001])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("falling", [0.0, 1.1, float("nan")])
def test_a_trapezoid_falls_somewhere(falling):
    with pytest.raises(UserError, match="falling must be"):
        Trapezoid(1.0, 2, 10, falling)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Constant(1.0),
        lambda: Ramp(1.0, 0, 10),
        lambda: Growth(1e-7, 1e-5, 10, 100),
        lambda: After(1.0, 5),
        lambda: WarmUp(1.0, 5, 10),
        lambda: Trapezoid(1.0, 5, 100, falling=0.2),
    ],
)
def test_schedules_are_data(make):
    schedule = make()
    assert schedule == make() and hash(schedule) == hash(make())
    assert eval(repr(schedule)) == schedule
    values = schedule(STEPS)
    assert values.shape == STEPS.shape and values.dtype == np.float64


def test_noam_is_the_papers_equation():
    """vaswani2017, Eq. 3, with the step counted from 1."""
    steps = np.array([0, 9, 3_999, 39_999])
    expected = [2.0 * 512**-0.5 * min(t**-0.5, t * 4_000**-1.5) for t in (1, 10, 4_000, 40_000)]
    assert Noam(2.0, 512, 4_000)(steps).tolist() == pytest.approx(expected)
    with pytest.raises(UserError, match="warm_up"):
        Noam(1.0, 512, 0)
