"""Table 11: the best of all settings."""

from wug.core import index
from wug.experiments.trask2018.number_words import best_cells
from wug.records import Record
from wug.study.claims import Table
from wug.study.experiment import RunOptions

EXPERIMENT = index.get("experiment", "trask2018.number_words")(RunOptions(scale="paper"))


def record(model, setting, seed, loss, test):
    outcome = {
        "solved": False,
        "selected": {"validation": {"loss": loss, "error": 1.0}, "test": {"error": test}},
        "observed": {"train_mae": 0.001},
    }
    return Record(
        experiment=EXPERIMENT.name, key={"model": model, "setting": setting, "seed": seed},
        kind="scalar", config={}, seed=seed, outcome=outcome, seconds=1.0, versions={}, curves={},
    )  # fmt: skip


def test_the_best_by_validation_counts():
    records = [
        record("lstm_final", "16 at 0.01", 0, 2.0, 9.0),
        record("lstm_final", "32 at 0.01", 1, 1.0, 30.0),
        record("lstm_summed", "16 at 0.01", 0, 1.0, 20.0),
    ]  # fmt: skip
    cells = best_cells(records)
    assert cells["lstm_final", "best"]["test_mae"].value == 30
    claim = EXPERIMENT.claims[0]
    assert claim.evaluate(Table(cells)).verdict.value == "held"


def test_paper_scale_and_claims_on_the_printed_numbers():
    assert len(EXPERIMENT.lots) == 8 and {lot.plan.steps for lot in EXPERIMENT.lots} == {300_000}
    assert all(len(lot.seeds) == 10 for lot in EXPERIMENT.lots)
    verdicts = [c.evaluate(EXPERIMENT.published_table).verdict.value for c in EXPERIMENT.claims]
    assert verdicts == ["held", "undecided", "held"]
