import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.training.outcome import judge, selected_row

NAN, INF = math.nan, math.inf
THRESHOLD = 1.0

errors = st.sampled_from([0.25, 0.5, 1.0, 2.0, NAN, INF])
rows = st.lists(st.tuples(errors, errors), min_size=1, max_size=8)


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


def outcome_of(table: list[tuple[float, float]], finite: bool = True) -> dict[str, object]:
    validation, test = (np.array(column, np.float64) for column in zip(*table, strict=True))
    steps = np.arange(len(table), dtype=np.float64) * 1000
    return judge(steps, {"validation": validation, "test": test}, THRESHOLD, finite)


def test_solved_counts_at_the_selected_row_and_solved_at_is_the_first_below() -> None:
    outcome = outcome_of([(3.0, 0.5), (2.0, 2.0), (1.0, 0.25)])
    assert outcome["status"] == "solved" and outcome["solved"] is True
    assert (outcome["selected_step"], outcome["solved_at"]) == (2000, 0)
    assert (outcome["validation_error"], outcome["test_error"]) == (1.0, 0.25)


def test_a_row_below_the_threshold_that_is_not_selected_solves_nothing() -> None:
    outcome = outcome_of([(3.0, 0.5), (2.0, 2.0)])
    assert outcome["status"] == "unsolved" and outcome["solved"] is False
    assert outcome["solved_at"] is None


def test_the_threshold_itself_is_not_below() -> None:
    assert outcome_of([(1.0, THRESHOLD)])["status"] == "unsolved"


def test_a_training_that_solved_before_it_diverged_is_solved() -> None:
    outcome = outcome_of([(1.0, 0.5), (NAN, NAN)], finite=False)
    assert outcome["status"] == "solved" and outcome["diverged"] is True


def test_without_any_number_the_last_row_is_selected_and_failed() -> None:
    outcome = outcome_of([(NAN, 0.5), (NAN, NAN)], finite=False)
    assert outcome["status"] == "diverged" and outcome["selected_step"] == 1000


@given(table=rows, finite=st.booleans())
def test_it_agrees_with_a_walk_through_the_rows(
    table: list[tuple[float, float]], finite: bool
) -> None:
    selected, lowest, first_below = len(table) - 1, None, None
    for row, (validation, test) in enumerate(table):
        if not math.isnan(validation) and (lowest is None or validation < lowest):
            selected, lowest = row, validation
        if test < THRESHOLD and first_below is None:
            first_below = 1000 * row
    outcome = outcome_of(table, finite)
    solved = table[selected][1] < THRESHOLD
    assert outcome["selected_step"] == 1000 * selected
    assert outcome["solved"] is solved
    assert outcome["solved_at"] == (first_below if solved else None)
    assert outcome["diverged"] is not finite
