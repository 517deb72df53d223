import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.interfaces.numbers import NUMBERS
from wug.training.outcome import (
    by_group,
    finished,
    first_solved,
    make_outcome,
    selected_row,
    steps_to_share,
    values,
)

NAN, INF = math.nan, math.inf
errors = st.lists(st.sampled_from([0.25, 0.5, 1.0, 2.0, NAN, INF]), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("validation", "row"),
    [
        ([3.0, 2.0, 1.0], 2),
        ([3.0, 1.0, 1.0, 2.0], 1),
        ([1.0, 1.0], 0),
        ([NAN, 2.0, NAN, 1.0, NAN], 3),
        ([INF, NAN], 0),
        ([NAN, INF], 1),
        ([NAN, NAN, NAN], 2),
        ([5.0], 0),
    ],
)
def test_the_first_lowest_row_is_selected(validation: list[float], row: int) -> None:
    assert selected_row(np.array(validation)) == row


@given(rows=errors)
def test_the_last_lowest_row_is_selected_by_a_walk(rows: list[float]) -> None:
    selected, lowest = len(rows) - 1, None
    for row, error in enumerate(rows):
        if not math.isnan(error) and (lowest is None or error <= lowest):
            selected, lowest = row, error
    assert selected_row(np.array(rows), "last") == selected


@given(rows=errors)
def test_the_threshold_itself_is_solved(rows: list[float]) -> None:
    steps = np.arange(len(rows)) * 1000.0
    below = [1000 * row for row, error in enumerate(rows) if error <= 1.0]
    assert first_solved(steps, np.array(rows), 1.0) == (below[0] if below else None)


def outcome_of(test_error: float, *, finite: bool = True, solved_at: int | None = 0) -> Any:
    measures = {"test": {"error": test_error, "loss": test_error}}
    return make_outcome(
        interface=NUMBERS, engine="stacked", threshold=1.0, steps=10, selected_step=5,
        solved_at=solved_at, selected=measures, final=measures, groups={},
        observed={"finite": float(finite), "sparsity": 0.5}, notes={"restarts": 0},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("error", "finite", "status"),
    [
        (0.5, True, "solved"),
        (1.0, True, "solved"),
        (0.5, False, "solved"),  # solved before it diverged
        (1.5, True, "unsolved"),
        (NAN, False, "diverged"),
    ],
)
def test_status(error: float, finite: bool, status: str) -> None:
    outcome = outcome_of(error, finite=finite)
    assert outcome["status"] == status and outcome["diverged"] is not finite
    assert outcome["solved_at"] == (0 if status == "solved" else None)
    assert outcome["observed"] == {"sparsity": 0.5} and outcome["restarts"] == 0


def test_solved_on_the_test_alone_was_solved_at_the_selected_step() -> None:
    assert outcome_of(0.5, solved_at=None)["solved_at"] == 5
    assert outcome_of(1.5, solved_at=None)["solved_at"] is None


def test_counts_become_numbers() -> None:
    counts = {"test": {"error": np.array([[[1.0, 10.0], [4.0, 10.0], [0.0, 0.0]]])}}
    assert values(counts, 0) == {"test": {"error": 0.25}}
    groups = {"test": ("9", "10", "11")}
    assert by_group(counts, 0, groups) == {"test": {"error": {"9": 0.1, "10": 0.4}}}
    assert by_group({"test": {"error": np.ones((1, 1, 2))}}, 0, {"test": ("",)}) == {}
    assert math.isnan(finished(np.zeros((2, 2)), "error"))


def test_perplexity_is_the_exponential_of_the_mean_over_all_groups() -> None:
    counts = np.array([[[2.0, 4.0], [9.0, 6.0]]])
    (found,) = finished(counts, "perplexity")
    assert found == pytest.approx(math.exp(11 / 10))
    assert finished(counts, "loss").tolist() == [1.1]
    evaluation = {"test": {"perplexity": counts}}
    assert values(evaluation, 0)["test"]["perplexity"] == found
    groups = by_group(evaluation, 0, {"test": ("a", "b")})["test"]["perplexity"]
    assert groups == pytest.approx({"a": math.exp(0.5), "b": math.exp(1.5)})
    assert finished(np.array([[1e6, 1.0]]), "perplexity") == math.inf


def test_steps_to_most_of_the_final_accuracy() -> None:
    assert steps_to_share(np.array([]), np.array([])) is None
    assert steps_to_share(np.array([5]), np.array([1.0])) is None
    steps = np.array([1, 2, 3])
    assert steps_to_share(steps, np.array([0.1, 0.0, 0.0])) == 1
    assert steps_to_share(steps, np.array([1.0, 1.0, 0.5])) == 3
    assert steps_to_share(steps, np.array([1.0, 0.6, 0.5])) == 2
