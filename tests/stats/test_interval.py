import dataclasses
import math
import subprocess
import sys

import pytest

from wug.stats.interval import Estimate, check_confidence


def test_plus_and_minus_are_distances_to_the_limits():
    estimate = Estimate(10.0, 7.0, 15.0, "wilson", 4)
    assert (estimate.plus, estimate.minus) == (5.0, 3.0)
    assert estimate.has_interval


def test_nothing_observed():
    estimate = Estimate.none()
    assert (estimate.method, estimate.n) == ("none", 0)
    assert math.isnan(estimate.value)
    assert not estimate.has_interval
    assert not estimate.low < 0.5
    assert not estimate.low >= 0.5


def test_one_observation_has_no_interval():
    estimate = Estimate.point(3.0)
    assert (estimate.value, estimate.method, estimate.n) == (3.0, "point", 1)
    assert not estimate.has_interval
    assert math.isnan(estimate.plus)


def test_estimates_do_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Estimate.none().value = 1.0  # type: ignore[misc]


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0, -0.5, math.nan])
def test_confidence_is_a_fraction(confidence):
    with pytest.raises(ValueError, match="wilson: confidence must lie strictly between 0 and 1"):
        check_confidence("wilson", confidence)


def test_wilson_needs_no_numpy():
    code = (
        f"import sys; sys.path[:0] = {sys.path!r}; import wug.stats.wilson; "
        "print({'numpy', 'scipy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
