"""The thresholds against the published tables, their simulation, quadrature and their own laws."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.functional.thresholds import (
    NAMED_THRESHOLDS,
    OPERATIONS,
    adt_threshold,
    check_intervals,
    named_threshold,
    pre_regularisation_threshold,
    simulate_threshold,
    threshold,
)

TWO_TO_SIX = ((2, 6),)
MIRRORED = ((-6, -2), (2, 6))
RANGES = [TWO_TO_SIX, MIRRORED, ((-6.1, -1.2),), ((0.2, 2),), ((-3, -2), (1, 2))]

# mistry2022 with eps = 1e-5: (test range, add and sub, mul, div), of |x| ~ U[a, b):
# eps^2 E[(|x1| + |x2|)^2], (2 eps - eps^2)^2 E[x^2]^2, (2 eps / (1 + eps))^2 E[x^2] / (a b).
PRIMER = [
    (((20, 40),), 3.667e-7, 3.484e-4, 4.667e-10),
    (((-40, -20),), 3.667e-7, 3.484e-4, 4.667e-10),
    (TWO_TO_SIX, 6.667e-9, 1.202e-7, 5.778e-10),
    (((-6, -2),), 6.667e-9, 1.202e-7, 5.778e-10),
    (MIRRORED, 6.667e-9, 1.202e-7, 5.778e-10),
    (((1.2, 6),), 5.568e-9, 8.856e-8, 8.267e-10),
    (((-6.1, -1.2),), 5.729e-9, 9.392e-8, 8.373e-10),
    (((0.2, 2),), 5.380e-10, 8.762e-10, 1.480e-9),
    (((-2, -0.2),), 5.380e-10, 8.762e-10, 1.480e-9),
]
# madsen2020 on [2, 6): as committed, and with the subsets of its data.
TWO_LAYER = [
    ("add", 1.478e-5, 1.605e-5),
    ("sub", 1.385e-8, 1.39e-8),
    ("mul", 0.1600, 0.1607),
    ("div", 4.95e-12, 5.81e-12),
    ("square", 0.1595, 0.1601),
    ("sqrt", 8.95e-9, 1.01e-8),
]

epsilons = st.floats(1e-6, 0.4)
positive = st.tuples(st.floats(0.1, 5), st.floats(0.1, 5)).map(lambda p: ((p[0], p[0] + p[1]),))


@pytest.mark.parametrize(("intervals", "additive", "mul", "div"), PRIMER)
def test_primer_table(intervals, additive, mul, div):
    expected = {"add": additive, "sub": additive, "mul": mul, "div": div}
    for operation, value in expected.items():
        assert float(f"{named_threshold('smt-1e-5', operation, intervals):.3e}") == value


@pytest.mark.parametrize("num_inputs", [2, 10])
@pytest.mark.parametrize("intervals", RANGES)
@pytest.mark.parametrize(
    ("operation", "model"),
    [*((operation, "linear") for operation in OPERATIONS), ("mul", "log"), ("div", "log")],
)
def test_closed_form_is_what_simulation_tends_to(operation, model, intervals, num_inputs):
    for epsilon, metric in [(1e-5, "mse"), (0.1, "mse"), (1e-3, "pcc")]:
        options = {
            "num_inputs": num_inputs,
            "epsilon": epsilon,
            "model": model,
            "metric": metric,
        }
        exact = threshold(operation, intervals, **options)
        estimate = simulate_threshold(operation, intervals, **options, samples=100_000, seed=1)
        assert estimate == pytest.approx(exact, rel=0.03, abs=1e-15)


@pytest.mark.parametrize("operation", ["mul", "add", "sub"])
def test_ranges_across_zero(operation):
    for intervals in [((-2, 2),), ((0, 1),), ((-1, 0), (0, 1))]:
        exact = threshold(operation, intervals, num_inputs=3)
        estimate = simulate_threshold(operation, intervals, num_inputs=3, samples=400_000, seed=2)
        assert estimate == pytest.approx(exact, rel=0.02)


def test_log_model_by_hand():
    e = 0.125
    assert threshold("mul", [(0, 1)], epsilon=e, model="log") == pytest.approx(
        1 / 9 - 2 / (3 - e) ** 2 + 1 / (3 - 2 * e) ** 2, rel=1e-12
    )
    # eps = 1/2 meets the integral of 1 / x.
    three_halves = (2**2.5 - 1) / 2.5 * (2 - math.sqrt(2))
    assert threshold("div", [(1, 2)], epsilon=0.5, model="log") == pytest.approx(
        7 / 3 / 2 - 2 * three_halves + 1.5 * math.log(2), rel=1e-12
    )


def test_small_epsilons_lose_no_digits():
    for model in ("linear", "log"):
        larger = threshold("mul", TWO_TO_SIX, num_inputs=10, epsilon=1e-11, model=model)
        smaller = threshold("mul", TWO_TO_SIX, num_inputs=10, epsilon=1e-12, model=model)
        assert larger / smaller == pytest.approx(100, rel=1e-8)


@given(epsilons, positive)
def test_mape_closed_forms(epsilon, intervals):
    def mape(operation):
        return threshold(operation, intervals, epsilon=epsilon, metric="mape")

    assert mape("add") == pytest.approx(epsilon)
    assert mape("mul") == pytest.approx(2 * epsilon - epsilon**2)
    assert mape("div") == pytest.approx(2 * epsilon / (1 + epsilon))


@pytest.mark.parametrize(
    ("operation", "intervals", "num_inputs"),
    [
        ("add", ((-6, -2),), 2),
        ("mul", MIRRORED, 10),
        ("div", ((0, 1),), 3),
        ("mul", ((-1, 1),), 5),
    ],
)
def test_mape_matches_simulation(operation, intervals, num_inputs):
    options = {"num_inputs": num_inputs, "epsilon": 1e-3, "metric": "mape"}
    exact = threshold(operation, intervals, **options)
    estimate = simulate_threshold(operation, intervals, **options, samples=200_000, seed=3)
    assert estimate == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize(
    ("operation", "intervals", "num_inputs", "model", "epsilon"),
    [
        ("add", TWO_TO_SIX, 3, "linear", 1e-5),
        ("add", ((-3, -2), (5, 6)), 2, "linear", 1e-5),
        ("mul", ((0.5, 2),), 2, "log", 1e-5),
        ("div", TWO_TO_SIX, 2, "log", 1e-5),
        ("mul", ((20, 40),), 4, "linear", 0.49),
    ],
)
def test_mape_without_closed_form_points_to_simulation(
    operation, intervals, num_inputs, model, epsilon
):
    options = {
        "num_inputs": num_inputs,
        "model": model,
        "metric": "mape",
        "epsilon": epsilon,
    }
    with pytest.raises(ValueError, match="use simulate_threshold"):
        threshold(operation, intervals, **options)
    assert simulate_threshold(operation, intervals, **options, samples=1_000, seed=4) > 0


def test_correlation_is_blind_to_scale():
    assert threshold("mul", MIRRORED, metric="pcc") == 0
    assert threshold("div", TWO_TO_SIX, metric="pcc", epsilon=0.4) == 0
    assert threshold("add", TWO_TO_SIX, metric="pcc") == 0
    assert threshold("sub", TWO_TO_SIX, metric="pcc") > 0


@given(epsilons, epsilons, positive, st.sampled_from(OPERATIONS), st.integers(2, 12))
def test_positive_and_monotone_in_epsilon(first, second, intervals, operation, num_inputs):
    # Beyond 1 / |x| the factor of an irrelevant input turns negative, and the law ends.
    low, high = sorted(epsilon / max(1, intervals[0][1]) for epsilon in (first, second))
    small, large = (
        threshold(operation, intervals, num_inputs=num_inputs, epsilon=epsilon)
        for epsilon in (low, high)
    )
    assert 0 < small <= large


@given(epsilons, st.sampled_from([0.25, 0.5, 2.0, 8.0]), positive)
def test_scaling_laws(epsilon, scale, intervals):
    scaled = tuple((scale * lower, scale * upper) for lower, upper in intervals)
    for operation, power in [("add", 2), ("sub", 2), ("mul", 4), ("div", 0)]:
        expected = scale**power * threshold(operation, intervals, epsilon=epsilon)
        assert threshold(operation, scaled, epsilon=epsilon) == pytest.approx(expected)


@given(epsilons, positive, st.sampled_from(OPERATIONS), st.integers(2, 12))
def test_mirroring_changes_nothing(epsilon, intervals, operation, num_inputs):
    def compute(intervals):
        return threshold(operation, intervals, num_inputs=num_inputs, epsilon=epsilon)

    negative = tuple((-upper, -lower) for lower, upper in intervals)
    assert compute(negative) == pytest.approx(compute(intervals))
    assert compute(negative + intervals) == pytest.approx(compute(intervals))


def test_pre_regularisation_threshold():
    assert pre_regularisation_threshold("mul", TWO_TO_SIX) == pytest.approx(
        (2 * 0.49 - 0.49**2) ** 2 * (52 / 3) ** 2
    )
    assert pre_regularisation_threshold("add", TWO_TO_SIX, epsilon=0.25) == pytest.approx(
        0.25**2 * 200 / 3
    )
    for epsilon in (0, 0.5):
        with pytest.raises(ValueError, match="epsilon must be between 0 and 0.5"):
            pre_regularisation_threshold("mul", TWO_TO_SIX, epsilon=epsilon)


@pytest.mark.parametrize(("operation", "committed", "corrected"), TWO_LAYER)
def test_two_layer_table(operation, committed, corrected):
    samples = 100_000 if operation in ("div", "sqrt") else None
    for size, overlap, value in [(26, 13, committed), (25, 12, corrected)]:
        result = adt_threshold(
            operation, TWO_TO_SIX, subsets=(size, size), overlap=overlap, samples=samples
        )
        assert result == pytest.approx(value, rel=0.01)


@pytest.mark.parametrize(
    ("intervals", "num_inputs", "value"),
    [
        (((20, 40),), None, 505.5),
        (((0.2, 2),), None, 9.20e-4),
        (((1.2, 6),), None, 0.1053),
        (((1, 5),), None, 0.0508),
        (MIRRORED, None, 2.31e-4),
        (TWO_TO_SIX, 4, 7.10e-8),
        (TWO_TO_SIX, 10, 1.51e-5),
        (TWO_TO_SIX, 50, 0.0100),
        (TWO_TO_SIX, 200, 2.56),
        (TWO_TO_SIX, 300, 12.97),
    ],
)
def test_committed_products(intervals, num_inputs, value):
    result = named_threshold("adt-committed", "mul", intervals, num_inputs)
    assert result == pytest.approx(value, rel=0.005)


def test_named_thresholds():
    assert set(NAMED_THRESHOLDS) == {
        *("smt-1e-5", "smt-1e-4", "flat-1e-5", "adt-corrected", "adt-committed", "adt-simple")
    }
    assert named_threshold("smt-1e-4", "add", TWO_TO_SIX) == pytest.approx(200 / 3 * 1e-8)
    assert named_threshold("smt-1e-5", "sub", TWO_TO_SIX, 10) == pytest.approx(
        1e-10 * (40**2 + 10 * 4 / 3)
    )
    assert named_threshold("flat-1e-5", "div", ((-2, 2),)) == 1e-5
    assert named_threshold("adt-simple", "sqrt", TWO_TO_SIX) == pytest.approx(
        16 * (1 - math.sqrt(1 - 1e-5)) ** 2, rel=0.002
    )
    assert named_threshold("adt-corrected", "sub", TWO_TO_SIX) == pytest.approx(
        4e-10 * 26 * 4 / 3, rel=1e-9
    )
    assert named_threshold("adt-simple", "add", TWO_TO_SIX) == pytest.approx(2.67e-8, rel=0.002)
    assert named_threshold("adt-simple", "mul", TWO_TO_SIX) == pytest.approx(2.16e-6, rel=0.002)


@pytest.mark.parametrize("operation", ["add", "sub", "mul", "square"])
@pytest.mark.parametrize(("subsets", "overlap"), [((2, 2), 1), ((1, 2), 0), ((3, 1), 1)])
def test_two_layer_expectation_by_quadrature(operation, subsets, overlap):
    intervals, epsilon = ((0, 1), (1, 2), (5, 6)), 0.125
    nodes, weights = np.polynomial.legendre.leggauss(3)
    points = np.concatenate(
        [(upper - lower) / 2 * nodes + (lower + upper) / 2 for lower, upper in intervals]
    )
    chances = np.tile(weights / 2 / len(intervals), len(intervals))
    inputs = np.array(list(itertools.product(points, repeat=3)))
    probability = np.array([math.prod(row) for row in itertools.product(chances, repeat=3)])
    target = np.zeros((3, 2))
    target[: subsets[0], 0] = 1
    target[subsets[0] - overlap :, 1][: subsets[1]] = 1

    def evaluate(matrix):
        first, second = (inputs @ matrix).T
        values = {"add": first + second, "sub": first - second, "mul": first * second}
        return values.get(operation, first**2)

    near = np.where(target == 1, 1 - epsilon, epsilon)
    expected = probability @ (evaluate(near) - evaluate(target)) ** 2
    options = {"num_inputs": 3, "subsets": subsets, "overlap": overlap, "epsilon": epsilon}
    assert adt_threshold(operation, intervals, **options) == pytest.approx(expected, rel=1e-10)
    assert adt_threshold(operation, intervals, **options, samples=200_000, seed=5) == pytest.approx(
        expected, rel=0.03
    )


@pytest.mark.parametrize(
    ("intervals", "message"),
    [
        ([(2, 1)], r"range \[2, 1\): the lower end must be below the upper; swap them\."),
        ([(2, 2)], r"range \[2, 2\): the lower end must be below the upper; widen it\."),
        ([(0, math.inf)], "write finite"),
        ([(0, 1), (2, 4)], r"range \[0, 1\) and \[2, 4\): its intervals must be equally wide"),
        ((2, 6), r"range \(2, 6\): write finite \(lower, upper\), such as \(\(2, 6\),\)"),
        ([], "write"),
    ],
)
def test_bad_ranges(intervals, message):
    with pytest.raises(ValueError, match=message):
        check_intervals(intervals)
    with pytest.raises(ValueError, match=message):
        threshold("add", intervals)


@pytest.mark.parametrize(
    ("operation", "options", "message"),
    [
        ("pow", {}, "operation must be one of add, sub, mul, div; got 'pow'"),
        ("mul", {"model": "cubic"}, "model must be one of linear, log; got 'cubic'"),
        ("mul", {"metric": "mae"}, "metric must be one of mse, mape, pcc; got 'mae'"),
        ("mul", {"num_inputs": 1}, "num_inputs must be at least 2; got 1"),
        ("mul", {"epsilon": 0}, "epsilon must be between 0 and 1; got 0"),
        ("mul", {"epsilon": math.nan}, "epsilon must be between 0 and 1; got nan"),
        ("add", {"model": "log"}, "model 'log' knows only mul and div; got 'add'"),
        ("sub", {"metric": "mape"}, r"mape of sub on \[-2, 2\) has an infinite expectation"),
        ("add", {"metric": "mape"}, r"mape of add on \[-2, 2\) has an infinite expectation"),
        ("div", {}, r"mse of div on \[-2, 2\) has an infinite expectation"),
        ("div", {"metric": "pcc", "model": "log"}, "pcc of div .* infinite"),
    ],
)
def test_bad_problems(operation, options, message):
    with pytest.raises(ValueError, match=message):
        threshold(operation, ((-2, 2),), **options)
    with pytest.raises(ValueError, match=message):
        simulate_threshold(operation, ((-2, 2),), **options, samples=10, seed=0)


@pytest.mark.parametrize(
    ("operation", "intervals", "options", "message"),
    [
        ("pow", TWO_TO_SIX, {}, "one of add, sub, mul, div, square, sqrt; got 'pow'"),
        ("mul", TWO_TO_SIX, {"epsilon": 0.5}, "epsilon must be between 0 and 0.5; got 0.5"),
        (
            "mul",
            TWO_TO_SIX,
            {"overlap": 26},
            "share 26 inputs must .* fit into num_inputs; got 100",
        ),
        ("mul", TWO_TO_SIX, {"num_inputs": 30}, "fit into num_inputs; got 30"),
        ("mul", TWO_TO_SIX, {"subsets": (0, 0), "overlap": 0}, "at least 1 "),
        ("div", MIRRORED, {}, r"div needs a range above 0; got \[-6, -2\) and \[2, 6\)"),
        ("sqrt", ((-6, -2),), {}, "sqrt needs a range above 0"),
        ("mul", TWO_TO_SIX, {"samples": 0}, "samples must be at least 2; got 0"),
    ],
)
def test_bad_two_layer_problems(operation, intervals, options, message):
    with pytest.raises(ValueError, match=message):
        adt_threshold(operation, intervals, **options)


def test_bad_names():
    with pytest.raises(ValueError, match="name must be one of smt-1e-5, .*; got 'smt'"):
        named_threshold("smt", "add", TWO_TO_SIX)
    with pytest.raises(ValueError, match="operation must be one of add, sub, mul, div"):
        named_threshold("flat-1e-5", "sqrt", TWO_TO_SIX)
