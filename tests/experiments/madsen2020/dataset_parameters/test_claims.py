import pytest

from wug.experiments.madsen2020.dataset_parameters.claims import CLAIMS, PARAMETERS
from wug.stats.interval import Estimate
from wug.study.claims import Cell, Table
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
