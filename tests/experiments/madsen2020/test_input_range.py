from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.core.errors import UserError
from wug.core.schedules import Ramp
from wug.experiments.madsen2020._training import SWEPT
from wug.experiments.madsen2020.input_range import CLAIMS, MODELS, NARROW, RANGES, input_range
from wug.study.claims import Cell, Table
from wug.study.experiment import RunOptions
from wug.study.judgements import Verdict

SUPPORTS, FAILS = "nmu_supports_all_ranges", "no_model_learns_the_narrow_range"


def verdicts(successes: dict[tuple[str, str], int], runs: int = 50) -> dict[str, Verdict]:
    table = Table({key: Cell(count, runs) for key, count in successes.items()})
    return {claim.key: claim.evaluate(table).verdict for claim in CLAIMS}


def grid(nmu: int, others: int, narrow: int) -> dict[tuple[str, str], int]:
    cells = {key: nmu if key[0] == "nmu" else others for key in product(MODELS, RANGES)}
    cells |= {("nac_mul", span): 0 for span in RANGES}
    return cells | {(model, NARROW): narrow for model in MODELS}


def test_as_section_4_has_it():
    ours = verdicts(grid(nmu=50, others=30, narrow=0))
    assert {key for key, verdict in ours.items() if verdict is not Verdict.HELD} == {SUPPORTS}
    assert ours[SUPPORTS] is Verdict.BROKEN


def test_as_the_conclusion_has_it():
    ours = verdicts(grid(nmu=50, others=30, narrow=50))
    assert {key for key, verdict in ours.items() if verdict is not Verdict.HELD} == {FAILS}
    assert ours[FAILS] is Verdict.BROKEN


def test_otherwise():
    ours = verdicts(grid(nmu=0, others=0, narrow=0))
    assert {key for key, verdict in ours.items() if verdict is Verdict.HELD} == {FAILS}


@given(st.integers(1, 100).flatmap(lambda runs: st.tuples(st.integers(0, runs), st.just(runs))))
def test_section_4_and_conclusion_exclude_each_other(narrow):
    count, runs = narrow
    ours = verdicts({key: count for key in product(MODELS, RANGES)}, runs)
    assert [ours[SUPPORTS], ours[FAILS]].count(Verdict.HELD) < 2
    assert ours[FAILS] is not Verdict.HELD or ours[SUPPORTS] is Verdict.BROKEN


# Section C.4: training and test range.
TASKS = {
    "[-2,-1)": (((-2, -1),), ((-6, -2),)),
    "[-2,2)": (((-2, 2),), ((-6, -2), (2, 6))),
    "[0,1)": (((0, 1),), ((1, 5),)),
    "[0.1,0.2)": (((0.1, 0.2),), ((0.2, 2),)),
    "[1.1,1.2)": (((1.1, 1.2),), ((1.2, 6),)),
    "[1,2)": (((1, 2),), ((2, 6),)),
    "[10,20)": (((10, 20),), ((20, 40),)),
}


@pytest.mark.parametrize(("scale", "models"), [("smoke", MODELS), ("paper", SWEPT)])
def test_a_model_is_a_lot_of_all_ranges(scale, models):
    lots = input_range(RunOptions(scale=scale)).lots
    assert [lot.name for lot in lots] == list(models)
    for lot in lots:
        assert [v.labels for v in lot.variants] == [
            {"model": lot.name, "range": name} for name in RANGES
        ]


def test_tasks():
    lot = input_range(RunOptions(scale="smoke", only=("nmu",))).lots[0]
    tasks = {v.labels["range"]: (v.task.train, v.task.test) for v in lot.variants}
    assert tasks == TASKS
    assert {v.task.operation for v in lot.variants} == {"mul"}
    assert all(v.terms == {"penalty": Ramp(10.0, 40, 80)} for v in lot.variants)
    assert lot.variants[0].config["test"] == [[-6, -2]]


def test_ranges_of_ones_own():
    own = "[3,4)>[4,8)"
    experiment = input_range(RunOptions(only=("nmu",), ranges=(own, "[0,1)")))
    (lot,) = experiment.lots
    assert [v.task.test for v in lot.variants] == [((4, 8),), ((1, 5),)]
    assert experiment.layout.column_order == (*RANGES, own)
    with pytest.raises(UserError, match="unknown range"):
        input_range(RunOptions(ranges=("[5,6)",)))
