"""Claims and published numbers of the tables on memory."""

import pytest
import torch

from wug.core import index
from wug.experiments.csordas2023._dnc import VARIANTS, switches, with_learning
from wug.experiments.csordas2023.babi import CLAIMS as BABI_CLAIMS
from wug.experiments.csordas2023.dnc_copy import CLAIMS, COLUMN
from wug.lab.answers import answer
from wug.records import Record
from wug.stats.interval import Estimate
from wug.study.catalog import make_catalog, measured_table
from wug.study.claims import Cell, Table
from wug.study.experiment import RunOptions
from wug.study.traces import routing_traces
from wug.study.undecided import why_undecided
from wug.training.engine import initial_module

TABLES = ("dnc_copy", "dnc_links", "dnc_recall", "dnc_key_value")


def claim(claims, key):
    return next(one for one in claims if one.key == key)


def test_eight_variants_have_the_switches_of_their_names():
    assert len({tuple(switches(name).values()) for name in VARIANTS}) == 8
    assert switches("dnc") == dict.fromkeys(switches("dnc"), False)
    for name, title in VARIANTS.items():
        letters = title.partition("-")[2].lower()
        assert "".join(name.partition("_")[2]) == letters


@pytest.mark.parametrize("table", TABLES)
def test_paper_scale_is_the_code_and_appendix_a(table):
    experiment = index.get("experiment", f"csordas2023.{table}")(RunOptions(scale="paper"))
    sizes = {
        "dnc_copy": (32, 16, 16), "dnc_links": (32, 16, 16), "dnc_recall": (128, 64, 32),
        "dnc_key_value": (32, 16, 32),
    }  # fmt: skip
    for lot in experiment.lots:
        options = lot.build.options
        found = tuple(
            options[name] for name in ("controller_features", "num_cells", "word_features")
        )
        assert found == sizes[table] and options["version"] == "as_published"
        assert lot.task.version == "as_published" and lot.plan.batch_size == 16
        assert len(lot.seeds) == 12 and lot.plan.optimiser.momentum == 0.9
        assert options.get("mask_floor", 0.0) == (0.1 if table == "dnc_recall" else 0.0)


def curve_record(model, seed, losses):
    outcome = {
        "solved": False, "solved_at": None, "selected": {"test": {"error": 0.5}},
        "final": {"validation": {"loss": losses[-1]}}, "observed": {"num_parameters": 100.0},
    }  # fmt: skip
    key = {"model": model, "task": COLUMN, "seed": seed}
    return Record(
        experiment="test", key=key, config={}, seed=seed, outcome=outcome, seconds=2.0,
        curves={"validation": losses},
    )  # fmt: skip


def test_who_learns_faster_has_the_smaller_loss_over_the_training():
    records = [
        *(curve_record("dnc", seed, [4.0, 3.0, 2.0 + 0.1 * seed]) for seed in range(8)),
        *(curve_record("dnc_d", seed, [4.0, 1.0, 0.01 + 0.001 * seed]) for seed in range(8)),
    ]
    cells = with_learning(records, "model", "task")
    assert cells["dnc_d", COLUMN]["mean_loss"].value == pytest.approx(5.0135 / 3, abs=1e-3)
    assert cells["dnc", COLUMN]["training_seconds"].value == 2.0
    table = Table(dict(cells))
    assert claim(CLAIMS, "dnc_fails").evaluate(table).verdict.value == "held"
    assert claim(CLAIMS, "erasing_speeds_up").evaluate(table).verdict.value == "held"
    assert claim(CLAIMS, "sharpening_speeds_up").evaluate(table).verdict.value == "undecided"


def test_masking_hardly_matters_within_a_fifth():
    def verdict(other):
        values = {"mean_loss": Estimate.given(1.0, 0.99, 1.01)}
        others = {"mean_loss": Estimate.given(other, other - 0.01, other + 0.01)}
        cells = {("dnc_ds", COLUMN): Cell(0, 8, values), ("dnc_mds", COLUMN): Cell(0, 8, others)}
        judged = claim(CLAIMS, "masking_hardly_matters").evaluate(Table(cells))
        return judged.verdict.value

    assert (verdict(1.1), verdict(0.9), verdict(1.4), verdict(0.6)) == (
        "held", "held", "broken", "broken",
    )  # fmt: skip


def test_the_printed_table_of_babi_and_its_contradiction():
    experiment = index.get("experiment", "csordas2023.babi")(RunOptions())
    assert len(experiment.published) == 6
    printed = {cell["model"]: cell for cell in experiment.published}
    assert printed["dnc_md"]["mean_error"]["value"] == 0.095
    assert printed["dnc"]["task_19"]["value"] == 0.676
    verdicts = {c.key: c.evaluate(experiment.published_table) for c in BABI_CLAIMS}
    broken = {key for key, judged in verdicts.items() if judged.verdict.value == "broken"}
    # The column of DNC averages 17.5 where 16.9 is printed; all else agrees with the prose.
    assert broken == {"means_are_those_of_the_tasks"}
    (evidence,) = verdicts["means_are_those_of_the_tasks"].evidence
    assert evidence == "dnc joint: the tasks average 17.51 %, 16.9 % is said"
    assert all(verdicts[c.key].verdict.value == "held" for c in BABI_CLAIMS if c.key not in broken)


def babi_record(seed, *errors):
    groups = {str(task): error for task, error in enumerate(errors, 1)}
    outcome = {
        "schema": 2, "solved": False, "solved_at": None,
        "selected": {"test": {"error": 0.5, "accuracy": 0.5}},
        "groups": {"selected": {"test": {"error": groups}}},
        "observed": {"mean_error": sum(errors) / len(errors)},
    }  # fmt: skip
    key = {"model": "dnc_md", "tasks": "joint", "seed": seed}
    return Record(experiment="test", key=key, config={}, seed=seed, outcome=outcome, seconds=2.0)


def test_failed_tasks_of_babi_err_in_more_than_five_of_a_hundred_words():
    experiment = index.get("experiment", "csordas2023.babi")(RunOptions())
    records = [
        babi_record(0, 0.0, 0.05, 0.051, 0.5), babi_record(1, 0.0, 0.0, float("nan"), 0.0),
    ]  # fmt: skip
    cell = measured_table(experiment, records).at("dnc_md", "joint")
    assert cell["failed_tasks"].value == (2 + 1) / 2
    catalog = make_catalog(experiment, records, "wug run")
    titles = {measure["name"]: measure["title"] for measure in catalog["measures"]}
    assert titles["failed_tasks"] == "Failed tasks" and catalog["kinds"] == "task"
    assert not any("distribution" in titles[name] for name in ("accuracy", "error"))


@pytest.mark.parametrize(
    ("cost", "around", "verdict"),
    [(0.015, 0.01, "held"), (0.015, 0.03, "undecided"), (0.05, 0.01, "broken"),
     (-0.01, 0.005, "broken"), (0.0, 0.03, "undecided")],
)  # fmt: skip
def test_what_sharpening_costs_on_babi(cost, around, verdict):
    cells = {
        (row, "joint"): Cell(0, 8, {"mean_error": Estimate.given(mean, mean - half, mean + half)})
        for row, mean, half in (("dnc_md", 0.1, 1e-6), ("dnc_mds", 0.1 + cost, around))
    }
    judged = claim(BABI_CLAIMS, "sharpening_costs").evaluate(Table(cells))
    assert judged.verdict.value == verdict
    assert claim(BABI_CLAIMS, "sharpening_costs").evaluate(Table({})).verdict.value == "undecided"


def test_time_is_judged_by_the_processors_and_open_without_it():
    time = claim(CLAIMS, "hardly_any_time_more")
    clock = {"training_seconds": Estimate.given(1.0, 1.0, 1.0)}
    slow = {"training_seconds": Estimate.given(1.3, 1.3, 1.3)}
    cells = {("dnc", COLUMN): Cell(0, 8, clock), ("dnc_mds", COLUMN): Cell(0, 8, slow)}
    assert time.evaluate(Table(cells)).verdict.value == "undecided"
    assert "lack the number" in why_undecided(time, Table(cells))
    step = {"step_seconds": Estimate.given(1.1, 1.09, 1.11)}
    cells["dnc", COLUMN] = Cell(0, 8, {"step_seconds": Estimate.given(1.0, 0.99, 1.01)})
    cells["dnc_mds", COLUMN] = Cell(0, 8, clock | step)
    assert time.evaluate(Table(cells)).verdict.value == "held"


def test_a_step_of_a_dnc_is_timed():
    lot = index.get("experiment", "csordas2023.dnc_copy")(RunOptions(scale="smoke")).lots[0]
    with torch.no_grad():
        found = lot.observe(initial_module(lot, 0), lot.task)
    assert set(found) == {"num_parameters", "step_seconds"} and found["step_seconds"] > 0


@pytest.mark.parametrize("scale", ["smoke", "laptop", "paper"])
def test_trainings_of_babi_have_validation_stories(scale):
    for lot in index.get("experiment", "csordas2023.babi")(RunOptions(scale=scale)).lots:
        assert 0 < lot.task.validation_share < 0.02


def test_the_dnc_of_table_lookup_answers_and_has_no_columns_to_be_traced():
    options = RunOptions(scale="smoke", only=("dnc",), seeds=1)
    lot = index.get("experiment", "csordas2023.ctl")(options).lots[0]
    network = initial_module(lot, 0).eval()
    memory = network.memory
    assert (memory.masking, memory.deallocation, memory.sharpening) == (False, True, True)
    assert list(routing_traces(network, lot.task)) == []
    found = answer(network, lot.task, "101 d a b")
    assert found["prediction"] in lot.task.classes and found["routing"] is None
    # The answer is that of the last token, whatever padding follows.
    tokens = torch.tensor([[1, 2, 3, 0, 0]])
    short = network(tokens[:, :3], torch.tensor([3])).answer
    torch.testing.assert_close(network(tokens, torch.tensor([3])).answer, short)
