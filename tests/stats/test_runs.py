"""Summaries of a cell's runs."""

import math

from wug.stats.gamma import gamma_mean
from wug.stats.runs import summarise_runs
from wug.stats.wilson import wilson


def run(solved: bool, solved_at: int | None = None, sparsity: float | None = 0.0) -> dict:
    return {"solved": solved, "solved_at": solved_at, "sparsity_error": sparsity}


def test_only_solved_runs_count_for_speed_and_sparsity() -> None:
    runs = [run(True, 3000, 1e-6), run(True, 5000, 2e-6), run(False, None, 0.4)]
    summary = summarise_runs(runs)
    assert (summary.successes, summary.trials) == (2, 3)
    assert summary.success == wilson(2, 3)
    assert summary.solved_at == gamma_mean([3000.0, 5000.0])
    assert summary.sparsity.n == 2


def test_nothing_solved() -> None:
    summary = summarise_runs([run(False)] * 3)
    assert summary.solved_at.method == "none"
    assert math.isnan(summary.sparsity.value)


def test_sparsity_may_be_missing() -> None:
    assert summarise_runs([run(True, 1000, None)] * 3).sparsity.method == "none"


def test_errors_are_means_over_all_runs() -> None:
    runs = [{**run(False), "test_error": e, "validation_error": 2 * e} for e in (1.0, 2.0, 6.0)]
    summary = summarise_runs(runs)
    assert (summary.error.value, summary.iid_error.value) == (3.0, 6.0)
    assert 1.0 <= summary.error.low < 3.0 < summary.error.high <= 6.0


def test_a_diverged_run_makes_the_mean_infinite() -> None:
    for error in (math.nan, None):
        runs = [{**run(False), "test_error": e} for e in (1.0, error)]
        assert summarise_runs(runs).error.low == math.inf
    assert math.isnan(summarise_runs([run(False)]).error.value)
