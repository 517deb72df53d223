"""The table of ours beside theirs, from records made by hand."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from wug.records import Record, RunStore, read_run
from wug.report.heatmap import colour, to_svg
from wug.report.table_text import to_csv, to_json, to_latex, to_markdown, to_rich
from wug.stats.comparison_table import (
    ResultTable,
    claim_counts,
    make_table,
    relative_to_baseline,
    table_of,
)
from wug.stats.measures import MeasureError

COLUMNS = ("[1,2)", "[10,20)")


def record(unit: str, column: str, seed: int, solved: bool) -> Record:
    outcome = {"solved": solved, "solved_at": 5000 if solved else None, "sparsity_error": 1e-6}
    return Record(
        experiment="demo", key={"unit": unit, "operation": "mul", "range": column, "seed": seed},
        config={"unit": unit}, seed=seed, outcome=outcome,
    )  # fmt: skip


def published(unit: str, column: str, rate: float, plus: float, minus: float) -> dict[str, object]:
    return {
        "unit": unit, "operation": "mul", "range": column, "source": "Table 1",
        "success": {"value": rate, "plus": plus, "minus": minus},
        "solved_at": {"value": 4000.0, "plus": 1.0, "minus": 1.0}, "sparsity": None,
    }  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """nmu solves 25 of 25 and 5 of 25; the paper says 100 % and 100 %."""
    store = RunStore.open(tmp_path / "run", "demo", {"steps": 1})
    store.append("nmu", [record("nmu", "[1,2)", seed, True) for seed in range(25)])
    store.append("nmu", [record("nmu", "[10,20)", seed, seed < 5) for seed in range(25)])
    store.write_catalog(
        {
            "title": "Demo",
            "layout": {
                "rows": ["unit", "operation"], "column": "range",
                "row_order": [["nau", "mul"], ["nmu", "mul"]], "column_order": list(COLUMNS),
            },
            "published": [
                published("nmu", "[1,2)", 1.0, 0.0, 0.13),
                published("nmu", "[10,20)", 1.0, 0.0, 0.13),
                published("nau", "[1,2)", 0.5, 0.19, 0.19),
            ],
            "claims": [
                {"key": "k", "statement": "s", "source": "t",
                 "ours": {"verdict": "held", "evidence": []},
                 "published": {"verdict": "broken", "evidence": ["e"]}},
            ],
        }
    )  # fmt: skip
    return tmp_path / "run"


def test_rows_without_runs_are_left_out(folder: Path) -> None:
    table = make_table(read_run(folder))
    assert table.rows == [("nmu", "mul")]
    assert table.columns == COLUMNS


def test_agreement_is_by_wilson_intervals(folder: Path) -> None:
    table = make_table(read_run(folder))
    verdicts = {cell.column: cell.agrees() for cell in table.shown()}
    assert verdicts == {"[1,2)": True, "[10,20)": False}
    assert table.agreement() == (1, 2)


def test_a_run_agrees_with_itself(folder: Path) -> None:
    run = read_run(folder)
    assert make_table(run, against=run).agreement() == (2, 2)


def test_json_and_csv_hold_the_same_cells(folder: Path) -> None:
    table = make_table(read_run(folder))
    cells = json.loads(to_json(table))["cells"]
    rows = list(csv.DictReader(io.StringIO(to_csv(table))))
    assert [row["successes"] for row in rows] == ["25", "5"]
    assert [cell["successes"] for cell in cells] == [25, 5]
    assert cells[0]["success_method"] == "wilson"
    assert cells[0]["published_success_value"] == 1.0


def test_texts_show_ours_and_theirs(folder: Path) -> None:
    table = make_table(read_run(folder))
    assert "100 / 100 | **20 / 100**" in to_markdown(table)
    assert r"nmu & mul & 100/100 & 20/100 \\" in to_latex(table)
    assert "5.0e3 / 4.0e3" in to_markdown(table.showing("solved_at"))
    assert to_rich(table).row_count == 2
    assert claim_counts(table)["held"] == 1


@pytest.mark.parametrize(
    ("order", "names"),
    [
        ([("nau", "add"), ("nmu", "add"), ("nau", "mul"), ("nmu", "mul")],
         ["add", "nau", "nmu", "mul", "nau", "nmu"]),
        # Else every row would stand below a heading of its own.
        ([("nau", "add"), ("nau", "mul"), ("nmu", "add"), ("nmu", "mul")],
         ["nau add", "nau mul", "nmu add", "nmu mul"]),
    ],
)  # fmt: skip
def test_headings_where_rows_are_together(
    tmp_path: Path, order: list[tuple[str, str]], names: list[str]
) -> None:
    store = RunStore.open(tmp_path / "run", "demo", {})
    for unit, operation in order:
        one = record(unit, "[1,2)", 0, True)
        key = {**one.key, "operation": operation}
        store.append(f"{unit}-{operation}", [replace(one, key=key)])
    layout = {"rows": ["unit", "operation"], "column": "range", "row_order": order}
    store.write_catalog({"title": "Demo", "layout": {**layout, "column_order": ["[1,2)"]}})
    table = make_table(read_run(tmp_path / "run"))
    assert [str(name) for name in to_rich(table).columns[0].cells] == names


def test_an_unfinished_run_has_no_catalog_and_still_a_table(tmp_path: Path) -> None:
    store = RunStore.open(tmp_path / "run", "demo", {})
    store.append("nmu", [record("nmu", "[1,2)", seed, True) for seed in range(3)])
    table = make_table(read_run(tmp_path / "run"))
    assert [cell.ours.successes for cell in table.shown()] == [3]
    assert to_rich(table).row_count == 2


def test_an_empty_run_makes_an_empty_table(tmp_path: Path) -> None:
    RunStore.open(tmp_path / "empty", "demo", {})
    table = make_table(read_run(tmp_path / "empty"))
    assert table.rows == [] and table.agreement() == (0, 0)
    assert json.loads(to_json(table))["cells"] == []
    assert to_csv(table).strip() == ""


def test_picture_names_every_cell_and_escapes(folder: Path) -> None:
    table = make_table(read_run(folder))
    cells = {key: (cell.ours, 1.0) for key, cell in table.cells.items()}
    svg = to_svg("<Demo> & co", table.rows, table.columns, cells)
    assert "&lt;Demo&gt; &amp; co" in svg
    assert "nmu mul [1,2): ours 25 of 25 (87-100 %), published 100" in svg
    assert colour(0.0) != colour(1.0)


def test_errors_relative_to_the_baseline(tmp_path: Path) -> None:
    store = RunStore.open(tmp_path / "run", "demo", {"steps": 1})
    for unit, error in (("random", 50.0), ("relu", 5.0)):
        outcome = {"solved": False, "test_error": error, "validation_error": 1.0}
        store.append(unit, [Record(
            experiment="demo", key={"unit": unit, "operation": "add", "seed": seed},
            config={}, seed=seed, outcome=outcome,
        ) for seed in range(3)])  # fmt: skip
    layout = {
        "rows": ["unit"], "column": "operation", "row_order": [], "column_order": [],
        "measure": "error", "baseline": "random",
    }  # fmt: skip
    printed = [
        {"unit": unit, "operation": "add", "error": {"value": v, "plus": None, "minus": None}}
        for unit, v in (("random", 200.0), ("relu", 10.0))
    ]
    store.write_catalog({"title": "Demo", "layout": layout, "published": printed})
    table = make_table(read_run(tmp_path / "run"))
    assert "| relu | 5 / 10 |" in to_markdown(table)
    assert "| relu | 10 / 5 |" in to_markdown(relative_to_baseline(table))
    assert "| relu | 100 / – |" in to_markdown(relative_to_baseline(table).showing("iid_error"))


def test_the_catalog_s_measures_come_first(folder: Path) -> None:
    own = {"name": "speed", "title": "Speed", "path": "solved_at", "better": "higher"}
    store = RunStore.open(folder, "demo", {"steps": 1})
    catalog = read_run(folder).catalog()
    layout = {**catalog["layout"], "measure": "speed"}
    store.write_catalog({**catalog, "layout": layout, "measures": [own]})
    table = make_table(read_run(folder))
    assert [measure.name for measure in table.measures] == ["speed"]
    assert table.agreement() == (1, 2)  # success rates are compared in any case
    assert table.measure.better == "higher"
    assert "speed_value" in next(iter(json.loads(to_json(table))["cells"]))
    assert "| nmu | mul | 5000 / – |" in to_markdown(table)


def test_a_table_may_show_any_number_of_the_outcomes(folder: Path) -> None:
    table = make_table(read_run(folder), measure="observed.sparsity")
    assert table.measure.name == "observed.sparsity"
    assert "1.0e-6 / –" in to_markdown(table)
    with pytest.raises(MeasureError, match="no measure 'sucess'"):
        make_table(read_run(folder), measure="sucess")


def answering(model: str, inside: float, outside: float) -> Record:
    outcome = {
        "schema": 2, "solved": False, "selected": {"test": {"accuracy": outside}},
        "final": {"validation": {"accuracy": inside}},
    }  # fmt: skip
    key = {"model": model, "order": "forward", "seed": 0}
    return Record(experiment="demo", key=key, config={}, seed=0, outcome=outcome)


def of_models(learnt: float | None) -> ResultTable:
    """Three that fail outside: one knows the training set, one does not, as in the paper."""
    inside = {"value": 0.6, "plus": None, "minus": None}
    catalog = {
        "layout": {
            "rows": ["model"], "column": "order", "row_order": [], "column_order": [],
            "measure": "accuracy", **({} if learnt is None else {"learnt": learnt}),
        },
        "published": [{"model": "lstm", "order": "forward", "iid_accuracy": inside}],
    }  # fmt: skip
    records = [answering("ndr", 0.99, 0.1), answering("rel", 0.3, 0.1), answering("lstm", 0.7, 0.1)]
    return table_of("demo", catalog, records)


def test_cells_that_learnt_nothing_are_marked_and_there_is_a_note() -> None:
    table = of_models(0.95)
    assert {row[0]: cell.learnt for (row, _), cell in table.cells.items()} == {
        "ndr": True, "rel": False, "lstm": True,
    }  # fmt: skip
    assert "did not learn its training set (less than 95 % right" in table.note
    assert "| rel | 10.0* / – |" in to_markdown(table) and "ndr | 10.0 /" in to_markdown(table)
    assert table.note in to_latex(table)
    cells = {cell["model"]: cell["learnt"] for cell in json.loads(to_json(table))["cells"]}
    assert cells == {"ndr": True, "rel": False, "lstm": True}
    inside = table.showing("iid_accuracy")
    assert inside.note == "" and "*" not in to_markdown(inside)


def test_without_such_a_share_nothing_is_marked() -> None:
    table = of_models(None)
    assert table.note == "" and "*" not in to_markdown(table)
    assert "learnt" not in to_csv(table)


def test_rows_that_nobody_trains_are_shown_with_their_published_numbers(folder: Path) -> None:
    run = read_run(folder)
    catalog = run.catalog()
    prior = published("prior", "[1,2)", 0.5, 0.1, 0.1)
    catalog["published"] = [*catalog["published"], prior]
    order = [*catalog["layout"]["row_order"], ["prior", "mul"]]
    catalog["layout"] = {**catalog["layout"], "row_order": order}
    records = list(run.records())
    assert ("prior", "mul") not in table_of("demo", catalog, records).rows
    catalog["layout"]["reported"] = [["prior", "mul"]]
    table = table_of("demo", catalog, records)
    assert table.rows[-1] == ("prior", "mul")
    assert [row["unit"] for row in csv.DictReader(io.StringIO(to_csv(table)))][-1] == "prior"
    assert "prior" in to_markdown(table) and "prior" in to_latex(table)
    assert "prior" not in to_markdown(table.showing("sparsity"))  # nothing is printed of it there
