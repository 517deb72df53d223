import pytest

from wug.core.errors import UserError
from wug.core.schedules import Ramp
from wug.experiments.madsen2020.input_range.claims import MODELS, RANGES
from wug.experiments.madsen2020.input_range.experiment import input_range
from wug.experiments.madsen2020.networks import SWEPT
from wug.study.experiment import RunOptions

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
    assert {v.penalty for v in lot.variants} == {Ramp(10.0, 40, 80)}
    assert lot.variants[0].config["test"] == ((-6, -2),)


def test_ranges_of_ones_own():
    own = "[3,4)>[4,8)"
    experiment = input_range(RunOptions(only=("nmu",), ranges=(own, "[0,1)")))
    (lot,) = experiment.lots
    assert [v.task.test for v in lot.variants] == [((4, 8),), ((1, 5),)]
    assert experiment.layout.column_order == (*RANGES, own)
    with pytest.raises(UserError, match="unknown range"):
        input_range(RunOptions(ranges=("[5,6)",)))
