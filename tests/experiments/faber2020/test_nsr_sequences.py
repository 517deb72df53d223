"""The claims on sequences, judged on tables made by hand."""

import math
from dataclasses import replace

import pytest
import torch

from wug.experiments.faber2020.nsr_sequences import (
    CLAIMS,
    LENGTHS,
    LONGER,
    cells_by_length,
    nsr_sequences,
)
from wug.stats.interval import Estimate
from wug.study.claims import Cell, Table
from wug.study.experiment import RunOptions
from wug.training.engine import initial_module
from wug.training.loop import Training
from wug.training.lots import make_record


def verdicts(minimum, counting):
    cells = {}
    for task, errors in (("minimum", minimum), ("counting", counting)):
        for length, e in zip(LENGTHS, errors, strict=False):
            cells["nsr", task, str(length)] = Cell(
                None, 10, {"error": Estimate.given(e, 0.9 * e, 1.1 * e)}
            )
    return [claim.evaluate(Table(cells)).verdict.value for claim in CLAIMS]


def test_held_as_the_primer_says():
    assert verdicts([0.0, 0.1, 0.1, 0.2], [0.1, 0.2, 0.4, 1.0]) == ["held", "held"]


def test_broken_by_one_length_and_by_a_steady_count():
    assert verdicts([0.0, 0.1, 0.1, 2.0], [0.1, 0.1, 0.1, 0.05]) == ["broken", "broken"]


def test_undecided_without_runs():
    assert verdicts([], []) == ["undecided"] * 2


@pytest.fixture(params=["minimum", "counting"])
def experiment(request):
    return nsr_sequences(RunOptions(scale="smoke", only=(f"nsr:{request.param}",)))


@torch.no_grad()
def test_errors_are_observed_at_every_length(experiment):
    (lot,) = experiment.lots
    module = initial_module(lot, seed=0)
    task = lot.variants[0].task
    observed = lot.observe(module, task)
    assert set(observed) == {f"error_{length}" for length in (*LENGTHS, *LONGER)}
    x = replace(task, test_length=20).evaluation_inputs("test")
    expected = (module(x) - task.targets({}, x)).abs().mean()
    assert observed["error_20"] == pytest.approx(expected.item(), rel=1e-12)


def test_trains_and_makes_cells_by_length(experiment):
    (lot,) = experiment.lots
    plan = replace(lot.plan, steps=2, batch_size=8, evaluate_every=2)
    training = Training(replace(lot, plan=plan), device=torch.device("cpu"), compiled=False)
    records = [make_record(experiment.name, result, seconds=1.0) for result in training.train()]
    cells = cells_by_length(records)
    name = lot.variants[0].labels["task"]
    assert set(cells) == {("nsr", name, str(length)) for length in (*LENGTHS, *LONGER)}
    errors = [record.outcome["observed"]["error_50"] for record in records]
    assert cells["nsr", name, "50"]["error"].value == pytest.approx(sum(errors) / len(errors))
    # The test set has sequences of 50.
    assert errors == pytest.approx(
        [record.outcome["selected"]["test"]["error"] for record in records]
    )


def test_a_diverged_run_is_an_infinite_error(experiment):
    (lot,) = experiment.lots
    task = lot.variants[0].labels["task"]
    observed = {f"error_{length}": math.nan for length in (*LENGTHS, *LONGER)}

    class Run:
        key = {"unit": "nsr", "task": task}

    run = Run()
    run.outcome = {"solved": False, "observed": observed}
    assert cells_by_length([run])["nsr", task, "5"]["error"].value == math.inf
