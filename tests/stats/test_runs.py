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
