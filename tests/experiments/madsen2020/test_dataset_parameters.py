from itertools import product

import pytest

from wug.core.errors import UserError
from wug.core.schedules import Ramp
from wug.experiments.madsen2020._training import SWEPT
from wug.experiments.madsen2020.dataset_parameters import (
    CLAIMS,
    MODELS,
    PARAMETERS,
    dataset_parameters,
)
from wug.stats.interval import Estimate
from wug.study.claims import Cell, Table
from wug.study.experiment import RunOptions
from wug.study.judgements import Verdict

FAST = {"solved_at": 1.0, "sparsity": 0.01}
SLOW = {"solved_at": 2.0, "sparsity": 0.1}


def verdicts(nmu: dict, nac: dict) -> dict[str, Verdict]:
    cells = {
        (model, parameter, value): Cell(
            numbers["successes"],
            50,
            {name: Estimate.given(*[numbers[name]] * 3) for name in ("solved_at", "sparsity")},
        )
        for model, numbers in (("nmu", nmu), ("nac_mul", nac))
        for parameter, values in PARAMETERS.items()
        for value in values
    }
    return {claim.key: claim.evaluate(Table(cells)).verdict for claim in CLAIMS}


def test_sweeps_are_those_of_the_scripts():
    sizes = [int(size) for size in PARAMETERS["num_inputs"]]
    assert sizes == [4, 10, 25, 50, 75, 100, 125, 150, 175, 200, 225, 250, 275, 300]


@pytest.mark.parametrize("successes", [0, 15])
def test_as_the_conclusion_has_it(successes):
    ours = verdicts({"successes": 49, **FAST}, {"successes": successes, **SLOW})
    assert set(ours.values()) == {Verdict.HELD}


def test_otherwise():
    ours = verdicts({"successes": 15, **SLOW}, {"successes": 49, **FAST})
    assert set(ours.values()) == {Verdict.BROKEN}


MILLION = 1_000_000


def cells(experiment) -> list[tuple[str, ...]]:
    return [tuple(v.labels.values()) for lot in experiment.lots for v in lot.variants]


def test_cells():
    every = [
        (model, parameter, value)
        for model, parameter in product(SWEPT, PARAMETERS)
        for value in PARAMETERS[parameter]
    ]
    assert sorted(cells(dataset_parameters(RunOptions(scale="paper")))) == sorted(every)
    for scale in ("smoke", "laptop"):
        fewer = cells(dataset_parameters(RunOptions(scale=scale)))
        assert set(product(MODELS, PARAMETERS)) == {cell[:2] for cell in fewer}
        assert set(fewer) < set(every)


def test_more_inputs_are_trained_longer_on_the_same_ramp():
    lots = dataset_parameters(RunOptions(scale="paper", only=("nmu:num_inputs",))).lots
    steps = {int(lot.variants[0].labels["value"]): lot.plan.steps for lot in lots}
    assert steps == {
        **dict.fromkeys((4, 10, 25, 50, 75, 100), 5 * MILLION),
        **dict.fromkeys((125, 150, 175, 200), 10 * MILLION),
        **dict.fromkeys((225, 250, 275, 300), 15 * MILLION),
    }
    ramp = {"penalty": Ramp(10.0, MILLION, 2 * MILLION)}
    assert all(lot.variants[0].terms == ramp for lot in lots)


def test_one_parameter_changes_at_a_time():
    for lot in dataset_parameters(RunOptions(only=("nmu",))).lots:
        for variant in lot.variants:
            task = variant.task
            expected = {"num_inputs": 100, "overlap_ratio": 0.5, "subset_ratio": 0.25}
            expected[variant.labels["parameter"]] = float(variant.labels["value"])
            assert {name: getattr(task, name) for name in expected} == expected
            assert task.operation == "mul"


def test_what_has_one_shape_is_one_lot():
    lots = dataset_parameters(RunOptions(scale="smoke", only=("nmu",))).lots
    assert [(lot.name, len(lot.variants)) for lot in lots] == [
        ("nmu.125", 1),
        ("nmu.100", 10),
    ]


def test_values_can_be_chosen():
    options = RunOptions(only=("nmu:num_inputs", "nac_mul:overlap_ratio"), ranges=("300", "0.1"))
    assert cells(dataset_parameters(options)) == [
        ("nmu", "num_inputs", "300"),
        ("nac_mul", "overlap_ratio", "0.1"),
    ]
    with pytest.raises(UserError, match="must be one of 0, 0.1, 0.25, 0.5, 0.75, 1; got '300'"):
        dataset_parameters(RunOptions(only=("nmu:overlap_ratio",), ranges=("300",)))
