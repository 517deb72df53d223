"""A class of a person's own as one more row of a table: trained like its neighbours, and ranked."""

from pathlib import Path

import pytest
import torch

from wug.core.errors import UserError
from wug.experiments.csordas2023.cogs import cogs
from wug.experiments.csordas2023.ctl import ctl
from wug.experiments.mistry2022.redundancy import redundancy
from wug.experiments.mistry2022.single_module import single_module
from wug.records import Record
from wug.stats.wilson import wilson
from wug.study.experiment import RunOptions
from wug.study.own_network import try_own
from wug.study.own_standing import standings

EXAMPLES = Path(__file__).parents[2] / "examples"
UNIT, MODEL = f"{EXAMPLES / 'my_unit.py'}:Powers", f"{EXAMPLES / 'my_model.py'}:BagOfPairs"
RANGE = "[1,2)"


def unit_options(**chosen):
    return RunOptions(scale="smoke", unit=UNIT, **chosen)


def test_it_is_one_more_row_on_the_same_streams():
    mine = single_module(unit_options())
    theirs = single_module(RunOptions(scale="smoke"))
    (lot,) = mine.lots
    assert {v.labels["unit"] for v in lot.variants} == {"powers"} and len(lot.variants) == 4 * 9
    assert mine.settings == theirs.settings  # the folder is the same
    added = set(mine.layout.row_order) - set(theirs.layout.row_order)
    assert added == {("powers", o) for o in ("add", "sub", "mul", "div")}
    places = [row[1] for row in mine.layout.row_order]
    assert places == sorted(places, key=("add", "sub", "mul", "div").index)
    (nmu,) = single_module(RunOptions(scale="smoke", only=("nmu",))).lots
    data = {(v.labels["range"], tuple(v.labels[name] for name in v.stream)) for v in nmu.variants}
    own = {(v.labels["range"], tuple(v.labels[name] for name in v.stream)) for v in lot.variants}
    assert data <= own
    assert any("has the training of nalu" in departure for departure in mine.departures)


def test_it_is_trained_like_the_row_that_is_named():
    (lot,) = single_module(unit_options(like="npu", ranges=(RANGE,))).lots
    assert [v.labels["operation"] for v in lot.variants] == ["mul", "div"]
    assert lot.variants[0].learning_rate.value == 5e-3
    assert lot.variants[0].terms is None  # the class has no penalty
    lots = redundancy(unit_options()).lots
    assert {lot.name for lot in lots} == {"powers.add", "powers.sub"}
    assert [lot.build(torch.Generator()).weight.shape[1] for lot in lots] == [10, 100]


def test_other_rows_come_along_if_they_are_named():
    lots = single_module(unit_options(only=("nmu",), ranges=(RANGE,))).lots
    assert {lot.name for lot in lots} == {"nmu", "powers"}
    (lot,) = single_module(unit_options(only=("powers:mul",), ranges=(RANGE,))).lots
    assert [v.labels["operation"] for v in lot.variants] == ["mul"]


def test_in_tables_of_sequences():
    options = RunOptions(scale="smoke", model=MODEL)
    experiment = ctl(options)
    assert {lot.name for lot in experiment.lots} == {
        "bagofpairs-forward-0",
        "bagofpairs-backward-0",
    }
    assert experiment.settings == ctl(RunOptions(scale="smoke")).settings
    try_own(experiment, options)
    # Where networks are columns, it is one more column.
    columns = cogs(RunOptions(scale="smoke", model=MODEL)).layout.column_order
    assert columns[-1] == "bagofpairs"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"unit": UNIT, "model": MODEL}, "two names for one more row"),
        ({"unit": "my.py"}, "names a class in a file, as my.py:MyClass"),
        ({"like": "nmu"}, "--like is for a network of your own"),
    ],
)
def test_options_that_do_not_go_together(options, sentence):
    with pytest.raises(UserError, match=sentence):
        RunOptions(**options)


def test_what_a_table_does_not_take():
    with pytest.raises(UserError, match="compares no models; say --unit"):
        single_module(RunOptions(scale="smoke", model=MODEL))
    with pytest.raises(UserError, match="unknown unit 'nmuu'; did you mean nmu"):
        single_module(unit_options(like="nmuu"))
    with pytest.raises(UserError, match="nmu is a unit of this table; call your class otherwise"):
        single_module(RunOptions(scale="smoke", unit="wug.units.nmu:NMU"))


def test_a_class_that_fails_is_named_before_anything_is_trained(tmp_path):
    wrong = RunOptions(scale="smoke", unit=MODEL)
    with pytest.raises(UserError, match="bagofpairs fails on two rows of 2 numbers"):
        try_own(single_module(wrong), wrong)
    text = "from torch import nn\nclass Wide(nn.Linear):\n    def forward(self, x): return x\n"
    (tmp_path / "wide_unit.py").write_text(text, encoding="utf-8")
    wide = RunOptions(scale="smoke", unit=f"{tmp_path / 'wide_unit.py'}:Wide")
    with pytest.raises(UserError, match=r"numbers of shape .* = \(2, 1\) .* got \(2, 2\)"):
        try_own(single_module(wide), wide)


def records(solved, num_seeds=10):
    return [
        Record(
            experiment="mistry2022.single_module", kind="scalar", config={}, seed=seed,
            key={"unit": "powers", "operation": "mul", "range": RANGE, "seed": seed},
            outcome={"solved": seed < solved, "solved_at": 100}, seconds=1.0, versions={},
        )
        for seed in range(num_seeds)
    ]  # fmt: skip


def test_it_is_ranked_among_the_published_ones_with_intervals():
    options = unit_options(ranges=(RANGE,))
    (standing,) = standings(single_module(options), records(9), options)
    # Table 11 on [1,2): iNALU, NMU, NPU and Real NPU 100 %, NALU 8 %, NAC and G-NALU 0 %.
    assert standing.contest == "mul" and standing.rank == 5 and len(standing.scores) == 8
    assert (standing.best, standing.worst) == (1, 5)
    assert standing.scores["powers"] == wilson(9, 10)
    assert standing.scores["nalu"] == wilson(2, 25)
    assert standing.ours == ("powers",)
    (best,) = standings(single_module(options), records(10), options)
    assert best.rank == 1
    assert standings(single_module(RunOptions(scale="smoke")), records(10), RunOptions()) == []
