"""Right answers and steps by length or depth, from records that may hold anything."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from wug.records import Record, RunStore
from wug.report.levels import by_level, by_type
from wug.report.sources import find_sources

LEVELS = {"validation": {"1": 1.0, "2": 0.9}, "ood_validation": {"6": 0.5}, "test": {"7": 0.25}}


def charts(folder: Path, *outcomes: dict[str, Any]) -> dict[str, Any]:
    store = RunStore.open(folder, "demo", {})
    for seed, outcome in enumerate(outcomes):
        known = {"validation_error": 0.1, "test_error": 0.5, "solved": False, "threshold": 0.01}
        store.append(f"a-{seed}", [
            Record(experiment="demo", kind="scalar", seed=seed, seconds=1.0, config={}, versions={},
                   key={"model": "ndr", "depths": "7-8", "seed": seed}, outcome=known | outcome)
        ])  # fmt: skip
    return {chart.name: chart for chart in by_level(find_sources([folder]).runs[0])}


def test_levels_of_all_sets_are_on_one_axis(tmp_path: Path) -> None:
    found = charts(tmp_path, {"levels": LEVELS}, {"levels": LEVELS})
    assert set(found) == {"levels"}
    rows = found["levels"].rows
    assert [row[2:4] + row[5:] for row in rows if row[4] == 1] == [
        [1, "in distribution", 1.0], [2, "in distribution", 0.9],
        [6, "out of distribution", 0.5], [7, "out of distribution", 0.25],
    ]  # fmt: skip
    assert {row[0] for row in rows} == {"ndr · 7-8"} and len(rows) == 8


def test_right_and_wrong_answers_are_one_chart(tmp_path: Path) -> None:
    both = {"accuracy": {"7": 0.75}, "error": {"7": 0.25}, "halting_steps": {"7": 3.5}}
    outcome = {"schema": 2, "groups": {"selected": {"test": both}}}
    found = charts(tmp_path, outcome)
    assert {name: chart.rows[0][-1] for name, chart in found.items()} == {
        "levels": 0.75, "halting": 3.5
    }  # fmt: skip
    alone = {"schema": 2, "groups": {"selected": {"test": {"error": {"7": 0.25}}}}}
    assert set(charts(tmp_path / "alone", alone)) == {"levels-error"}


def test_of_two_sets_with_a_level_the_test_counts(tmp_path: Path) -> None:
    both = {"validation": {"3": 1.0}, "ood_validation": {"3": 0.5}, "test": {"3": 0.75}}
    rows = charts(tmp_path, {"levels": both, "halting_steps": {"test": {"3": 4.5}}})
    assert [row[3:] for row in rows["levels"].rows] == [
        ["in distribution", 0, 1.0], ["out of distribution", 0, 0.75]
    ]  # fmt: skip
    assert rows["halting"].rows[0][-1] == 4.5


def test_what_is_no_level_is_passed_over(tmp_path: Path) -> None:
    odd = {"test": {"<b>": 1.0, "7": "much", "9" * 20: 0.5, "8": 0.5}, "validation": [1, 2]}
    found = charts(tmp_path, {"levels": odd}, {"levels": 5}, {"levels": None}, {})
    assert [row[2] for row in found["levels"].rows] == [8]


def test_groups_with_names_have_a_chart_of_their_own(tmp_path: Path) -> None:
    shares = {"cp_recursion": 0.25, "subj_to_obj": 1.0, "7": 0.5, "odd": "<b>"}
    outcome = {"schema": 2, "groups": {"selected": {"test": {"accuracy": shares}}}}
    charts(tmp_path, outcome)
    chart = by_type(find_sources([tmp_path]).runs[0])
    assert chart is not None
    assert chart.rows == [
        ["ndr · 7-8", "cp_recursion", 0, 0.25],
        ["ndr · 7-8", "subj_to_obj", 0, 1],
    ]


def test_without_named_groups_there_is_none(tmp_path: Path) -> None:
    charts(tmp_path, {"levels": LEVELS})
    assert by_type(find_sources([tmp_path]).runs[0]) is None


def test_tables_of_the_last_weights_have_charts_of_these(tmp_path: Path) -> None:
    by_split = {which: {"test": {"accuracy": {"3": value}}}
                for which, value in (("selected", 0.5), ("final", 0.25))}  # fmt: skip
    outcome = {"schema": 2, "groups": by_split}
    (shown,) = charts(tmp_path / "selected", outcome).values()
    assert shown.rows[0][-1] == 0.5 and shown.about.endswith("did best on OOD validation.")
    layout = {"rows": ["model"], "column": "length", "row_order": [], "column_order": [],
              "measure": "final.test.accuracy"}  # fmt: skip
    source = find_sources([tmp_path / "selected"]).runs[0]
    (shown,) = by_level(replace(source, catalog={**source.catalog, "layout": layout}))
    assert shown.rows[0][-1] == 0.25 and shown.about.endswith(
        "of the last weights, as in the table."
    )
