"""Summaries of a cell's runs, measure by measure."""

import math

import numpy as np
import pytest
from scipy import stats

from wug.stats.gamma import gamma_mean
from wug.stats.interval import Estimate
from wug.stats.measures import INTERVALS, MEASURES, Measure
from wug.stats.runs import ESTIMATORS, RunSummary, estimate
from wug.stats.wilson import wilson


def run(solved: bool, solved_at: float = math.nan, sparsity: float | None = 0.0) -> dict:
    observed = {} if sparsity is None else {"sparsity": sparsity}
    return {"solved": solved, "solved_at": solved_at, "observed": observed}


def erring(error: float) -> dict:
    splits = {"test": {"error": error}, "validation": {"error": 2 * error}}
    return {**run(False), "selected": splits}


def test_only_solved_runs_count_for_speed_and_sparsity() -> None:
    summary = RunSummary([run(True, 3000, 1e-6), run(True, 5000, 2e-6), run(False, math.nan, 0.4)])
    assert (summary.successes, summary.trials) == (2, 3)
    assert summary["success"] == wilson(2, 3)
    assert summary["solved_at"] == gamma_mean([3000.0, 5000.0])
    assert summary["sparsity"].n == 2
    assert summary["solved_at_median"].value == 4000.0


def test_nothing_solved() -> None:
    summary = RunSummary([run(False)] * 3)
    assert summary["solved_at"].method == "none"
    assert math.isnan(summary["sparsity"].value)


def test_sparsity_may_be_missing() -> None:
    assert RunSummary([run(True, 1000, None)] * 3)["sparsity"].method == "none"


def test_errors_are_means_over_all_runs() -> None:
    summary = RunSummary([erring(e) for e in (1.0, 2.0, 6.0)])
    assert (summary["error"].value, summary["iid_error"].value) == (3.0, 6.0)
    assert 1.0 <= summary["error"].low < 3.0 < summary["error"].high <= 6.0


def test_a_diverged_run_makes_the_mean_infinite_and_answers_nothing() -> None:
    summary = RunSummary([erring(1.0), erring(math.nan)])
    assert summary["error"].low == math.inf and summary["error"].method == "diverged"
    assert math.isnan(RunSummary([run(False)])["error"].value)
    answers = [{**run(False), "selected": {"test": {"accuracy": a}}} for a in (1.0, math.nan)]
    assert RunSummary(answers)["accuracy"].value == 0.5


def test_values_are_multiplied_by_their_factor() -> None:
    summary = RunSummary([erring(e) for e in (1.0, 3.0)], factors={"error": 100.0})
    assert summary.of_runs("error") == (100.0, 300.0)
    assert (summary["error"].value, summary["iid_error"].value) == (200.0, 4.0)


def test_estimates_are_made_when_asked_for_and_once() -> None:
    summary = RunSummary([erring(1.0), erring(2.0)])
    assert set(summary) == set(MEASURES) and len(summary) == len(MEASURES)
    assert summary._made == {}
    assert summary["error"] is summary["error"]


def test_there_is_an_estimator_for_every_summary_and_interval() -> None:
    ways = {(summary, interval) for summary, names in INTERVALS.items() for interval in names}
    assert ways == set(ESTIMATORS)


def test_student_s_t_interval_is_scipys() -> None:
    values = [20.0, 21.5, 23.0, 19.0]
    found = estimate(MEASURES["perplexity"], values)
    mean, error = np.mean(values), stats.sem(values)
    expected = stats.t.interval(0.95, len(values) - 1, mean, error)
    assert (found.low, found.high) == pytest.approx(expected)
    assert estimate(MEASURES["perplexity"], [20.0]) == Estimate(
        20.0, math.nan, math.nan, "point", 1
    )
    assert estimate(MEASURES["perplexity"], []).method == "none"


def test_medians_with_their_deviation() -> None:
    measure = Measure(name="m", title="M", path="m", summary="median", interval="deviation")
    assert estimate(measure, [1.0, 2.0, 4.0, 100.0, 3.0]) == Estimate(3, 2, 4, "median-mad", 5)


def test_the_median_training_and_the_longest() -> None:
    summary = RunSummary([{**run(True), "training_seconds": s} for s in (60.0, 90.0, 1_286.0)])
    assert summary["training_seconds"].value == 90.0
    assert summary["longest_training_seconds"].value == 1_286.0
    assert RunSummary([run(True)])["longest_training_seconds"].method == "none"
