"""What a table makes of rows, columns and what a person chooses."""

import pytest

from wug.core import registry
from wug.core.errors import UserError
from wug.core.index import build, import_file
from wug.stats.interval import Estimate
from wug.study.claims import Cell, Table
from wug.study.experiment import RunOptions, Size
from wug.study.paper_table import PaperTable, below_paper, experiment_key
from wug.study.trainings import Training, registered
from wug.tasks.extrapolation.single_module import SingleModule
from wug.tasks.productivity.ctl import CTL
from wug.training.plan import Plan
from wug.units.nau import NAU

ABOUT = {
    "name": "Test", "title": "A test", "references": (), "source": "none", "claims": (),
    "departures": (),
}  # fmt: skip
SCALES = {
    "smoke": Size(seeds=1, steps=5),
    "laptop": Size(seeds=3, steps=10),
    "paper": Size(seeds=9, steps=99, streams="independent"),
}
SIZES = ("2", "3", "10")
MODELS = ("nau", "nmu")


@pytest.fixture(autouse=True)
def own_register(monkeypatch):
    build()  # what is first imported in a test would be registered here alone
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))


def training(run, lot, **config):
    task = SingleModule(operation="add", train=((1, 2),), test=((2, 6),))
    plan = Plan(steps=run.steps)
    build = lambda generator: NAU(2, 1, generator=generator)  # noqa: E731
    return Training(lot=lot, build=build, task=task, plan=plan, config=config)


def sweep(**changes):
    """Return a table of models by size."""

    def cell(run, model, size):
        """Train a model."""
        return training(run, model, number=int(size)) if (model, size) != ("nmu", "3") else None

    table = {"labels": ("model", "size"), "rows": MODELS, "columns": SIZES, "scales": SCALES}
    return PaperTable(**{**ABOUT, **table, "ranges": "columns", "stream": ("size",), **changes})(
        cell
    )


def cells(experiment):
    return [tuple(v.labels.values()) for lot in experiment.lots for v in lot.variants]


def test_what_a_person_chooses_comes_before_the_scale():
    experiment = sweep()(RunOptions())
    assert experiment.settings.items() >= {"steps": 10, "streams": "shared"}.items()
    assert {lot.seeds for lot in experiment.lots} == {(0, 1, 2)}
    asked = sweep()(RunOptions(seeds=1, streams="independent"))
    assert asked.settings.items() >= {"steps": 10, "streams": "independent"}.items()
    assert {(lot.seeds, lot.streams, lot.plan.steps) for lot in asked.lots} == {
        ((0,), "independent", 10)
    }


def test_all_cells_that_there_are():
    experiment = sweep()(RunOptions())
    assert cells(experiment) == [("nau", size) for size in SIZES] + [("nmu", "2"), ("nmu", "10")]
    assert [lot.name for lot in experiment.lots] == ["nau", "nmu"]
    assert experiment.layout.row_order == (("nau",), ("nmu",))
    assert experiment.layout.column_order == SIZES


def test_usual_cells_can_be_overruled():
    table = sweep(usual={"smoke": {"size": ("10",)}, "laptop": {"model": ("nmu",)}})
    assert cells(table(RunOptions(scale="smoke"))) == [("nau", "10"), ("nmu", "10")]
    assert cells(table(RunOptions(scale="smoke", ranges=("2",)))) == [("nau", "2"), ("nmu", "2")]
    assert cells(table(RunOptions(scale="smoke", only=("nau",)))) == [("nau", "10")]
    assert cells(table(RunOptions())) == [("nmu", "2"), ("nmu", "10")]
    assert cells(table(RunOptions(only=("nau",)))) == [("nau", size) for size in SIZES]
    assert len(cells(table(RunOptions(scale="paper")))) == 5
    assert below_paper(size=SIZES) == dict.fromkeys(("smoke", "laptop"), {"size": SIZES})


def test_columns_are_trained_in_the_order_asked_for():
    options = RunOptions(only=("nmu", "nau"), ranges=("10", "2"))
    expected = [("nmu", "10"), ("nmu", "2"), ("nau", "10"), ("nau", "2")]
    assert cells(sweep()(options)) == expected


def test_columns_that_rows_do_not_have_are_refused():
    with pytest.raises(UserError, match="ranges must be one of 2, 3, 10; got '4'"):
        sweep()(RunOptions(ranges=("4",)))
    with pytest.raises(UserError, match="ranges must be one of 2, 10; got '3'"):
        sweep()(RunOptions(only=("nmu",), ranges=("3",)))
    with pytest.raises(UserError, match="has one range"):
        sweep(ranges="none")(RunOptions(ranges=("2",)))
    with pytest.raises(UserError, match="nothing is left"):
        usual = {"laptop": {"size": ("2",)}}
        sweep(usual=usual)(RunOptions(only=("nau:3",)))


def test_any_range_becomes_a_column():
    experiment = sweep(ranges="any")(RunOptions(only=("nau",), ranges=("7", "2")))
    assert cells(experiment) == [("nau", "7"), ("nau", "2")]
    assert experiment.layout.column_order == (*SIZES, "7")


def test_configurations_repeat_labels():
    variant = sweep()(RunOptions(scale="smoke")).lots[0].variants[0]
    assert variant.stream == ("size",)
    assert variant.config.items() >= {"model": "nau", "size": "2", "number": 2}.items()
    assert variant.config["plan"]["steps"] == 5 and variant.config["streams"] == "shared"
    (first, *_) = sweep(repeated=("model",))(RunOptions(scale="smoke")).lots
    assert "size" not in first.variants[0].config


def test_what_only_may_name():
    def rows(**changes):
        return registry.find("experiment", experiment_key(sweep(**changes)), registry.registered())

    assert rows().details["rows"] == ["nau", "nmu"]
    assert rows().details["scales"]["paper"] == {"seeds": 9, "steps": 99, "streams": "independent"}
    assert rows().summary == "Train a model."
    pairs = ["nau:2", "nau:3", "nau:10", "nmu:2", "nmu:10"]
    assert rows(ranges="none").details["rows"] == pairs
    named = rows(ranges="none", choice=lambda model, size: (f"{model}_{size}", "add"))
    assert named.details["rows"] == [pair.replace(":", "_") for pair in pairs]
    assert rows(columns=("2",)).details["rows"] == ["nau", "nmu"]


def test_settings_can_be_added_and_changed():
    table = sweep(settings=lambda run: {"dtype": "float64", "twice": 2 * run.steps})
    settings = table(RunOptions()).settings
    assert (settings["dtype"], settings["twice"]) == ("float64", 20)


def sequences():
    def cell(run, model, order):
        """Train a network."""
        steps = 4 if run.scale == "smoke" else 8
        task, plan = CTL(order=order), Plan(steps=steps, batch_size=16)
        return Training(build=registered(model, task, features=8), task=task, plan=plan, seeds=2)

    table = {"labels": ("model", "order"), "rows": ("lstm", "ndr"), "columns": ("forward",)}
    return PaperTable(**ABOUT, **table)(cell)


def test_sequences_have_a_lot_per_seed():
    experiment = sequences()(RunOptions(only=("ndr",)))
    assert [lot.name for lot in experiment.lots] == ["ndr-forward-0", "ndr-forward-1"]
    assert [lot.seeds for lot in sequences()(RunOptions(only=("ndr",), seeds=1)).lots] == [(0,)]
    assert experiment.row_units == {"lstm": "lstm", "ndr": "ndr"}
    with pytest.raises(UserError, match="its own batches"):
        sequences()(RunOptions(streams="shared"))


def test_settings_of_sequences_are_those_of_all_rows():
    some, every, other = (
        sequences()(options).settings
        for options in (RunOptions(only=("ndr",)), RunOptions(), RunOptions(scale="smoke"))
    )
    assert some == every != other
    entry = registry.find("experiment", experiment_key(sequences()), registry.registered())
    assert entry.details["scales"]["smoke"] == {"seeds": 2, "steps": 4}


OWN_TABLE = '''
from wug.study.experiment import Size
from wug.study.paper_table import PaperTable
from wug.study.trainings import Training
from wug.tasks.extrapolation.identity import Identity
from wug.training.plan import Plan
from wug.units.nau import NAU


@PaperTable(
    name="Mine", title="Mine", references=(), source="none", claims=(), departures=("none",),
    labels=("model", "operation"), rows=("a",), columns=("add",), trials=4,
    scales=dict.fromkeys(("smoke", "laptop", "paper"), Size(seeds=1, steps=2)),
    successes={("a", "add"): 1},
)
def own_table(run, model, operation):
    """Train a unit."""
    build = lambda generator: NAU(1, 1, generator=generator)
    return Training(lot=model, build=build, task=Identity(), plan=Plan(steps=run.steps))
'''


def test_published_numbers_stand_beside_the_file(tmp_path):
    (tmp_path / "own_table.py").write_text(OWN_TABLE)
    rows = "model,operation,error,source\na,add,0.25,Table 1\n"
    (tmp_path / "own_table.csv").write_text(rows)
    experiment = import_file(tmp_path / "own_table.py").own_table(RunOptions(scale="smoke"))
    assert experiment.name == "own_table"
    (cell,) = experiment.published
    assert (cell["model"], cell["error"]["value"], cell["source"]) == ("a", 0.25, "Table 1")
    # Successes that the text gives count for claims, and are no part of the table.
    assert "success" not in cell
    known = Cell(1, 4, {"error": Estimate.given(0.25)})
    assert experiment.published_table == Table({("a", "add"): known}, exact=True)
