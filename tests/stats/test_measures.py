"""Measures as data: where they are read, how they are written, and how they are found."""

import json
import math
from dataclasses import replace

import pytest

from wug.stats.measures import (
    MEASURES,
    USUAL,
    Measure,
    MeasureError,
    find_measure,
    lookup,
    used_measures,
)

SOLVED = {
    "solved": True,
    "solved_at": 500,
    "selected": {"test": {"accuracy": 0.75, "error": 0.25}, "validation": {"accuracy": 0.5}},
    "final": {"validation": {"accuracy": 1.0}},
    "observed": {"sparsity": 0.125},
}


def test_where_they_are_read() -> None:
    read = {name: m.read(SOLVED) for name, m in MEASURES.items() if m.read(SOLVED) is not None}
    assert read == {
        "success": 1.0, "solved_at": 500.0, "sparsity": 0.125, "error": 0.25, "iid_error": 0.0,
        "accuracy": 0.75, "iid_accuracy": 1.0, "solved_at_median": 500.0,
    }  # fmt: skip


def test_an_error_is_what_an_accuracy_is_missing_to_1() -> None:
    numbers = {"solved": False, "selected": {"validation": {"error": 7.0}}}
    assert MEASURES["iid_error"].read(numbers) == 7.0
    answers = {**numbers, "final": {"validation": {"accuracy": 0.75}}}
    assert MEASURES["iid_error"].read(answers) == 0.25


def test_unsolved_and_diverged_runs() -> None:
    wild = {"solved": False, "solved_at": math.nan, "selected": {"test": {"error": math.nan}}}
    assert MEASURES["solved_at"].read(wild) is None
    assert MEASURES["success"].read(wild) == 0.0
    assert MEASURES["error"].read(wild) == math.inf
    assert MEASURES["iid_error"].read(wild) is None
    missing = {"solved": True, "solved_at": math.nan}
    assert MEASURES["solved_at"].read(missing) is None


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("success", 0.333, "33"), ("accuracy", 0.333, "33.3"), ("solved_at", 5123.0, "5.1e3"),
        ("sparsity", math.nan, "–"), ("error", 83.632, "83.6"), ("error", 336847.2, "336847"),
        ("error", 1.23e-7, "1.2e-7"), ("error", 0.0, "0"), ("perplexity", 20.1234, "20.12"),
        ("bits_per_character", 1.23456, "1.235"), ("tokens_per_second", 123456.0, "123456"),
    ],
)  # fmt: skip
def test_numbers(name: str, value: float, text: str) -> None:
    assert MEASURES[name].text(value) == text


def test_every_measure_is_plain_data_and_back() -> None:
    for measure in MEASURES.values():
        data = json.loads(json.dumps(measure.to_json()))
        assert Measure.from_json(data) == measure
        assert measure.inside in ("", *MEASURES)
    assert [measure.name for measure in USUAL] == list(MEASURES)[:7]


@pytest.mark.parametrize(
    "data",
    [
        {}, {"name": "a"}, {"name": "a", "title": "b", "path": 5}, {"name": "a", "title": "b"},
        {**MEASURES["error"].to_json(), "interval": "wilson"},
        {**MEASURES["error"].to_json(), "summary": "mode"},
        {**MEASURES["error"].to_json(), "better": "faster"},
        {**MEASURES["error"].to_json(), "digits": 10**6},
        {**MEASURES["error"].to_json(), "colour": "red"},
    ],
)  # fmt: skip
def test_what_is_no_measure_is_refused(data: dict) -> None:
    with pytest.raises(MeasureError):
        Measure.from_json(data)


def test_found_by_name_by_path_and_in_the_catalog_first() -> None:
    own = replace(MEASURES["error"], title="Mine")
    assert find_measure("error") is MEASURES["error"]
    assert find_measure("error", [own]) is own
    last = find_measure("final.test.accuracy")
    assert last.is_share and last.path == last.name == "final.test.accuracy"
    assert last.read({"solved": False, "final": {"test": {"accuracy": 0.5}}}) == 0.5
    gate = find_measure("observed.gate")
    assert gate.read({"solved": False, "observed": {"gate": 0.5}}) == 0.5
    kind = find_measure("groups.final.test.accuracy.cp_recursion")
    assert kind.is_share and kind.better == "higher"
    by_type = {"final": {"test": {"accuracy": {"cp_recursion": 0.25}}}}
    assert kind.read({"solved": False, "groups": by_type}) == 0.25
    for name in (
        "groups.final.test.accuracy",
        "groups.x.test.accuracy.a",
        "sucess",
        "observed.a.b",
        "weights.first",
        "selected.test",
    ):
        with pytest.raises(MeasureError, match="no measure"):
            find_measure(name)


def test_the_measures_of_a_run() -> None:
    names = [measure.name for measure in used_measures([SOLVED], ())]
    assert names == [
        "success", "solved_at", "sparsity", "error", "iid_error", "accuracy", "iid_accuracy",
    ]  # fmt: skip
    numbers = [{"solved": False, "selected": {"test": {"error": 1.0}}}]
    assert [m.name for m in used_measures(numbers, ["perplexity", "no label"])] == [
        "success", "error", "perplexity",
    ]  # fmt: skip
    own = Measure(name="gate", title="Gate", path="observed.gate")
    assert used_measures([], (), [own]) == [own]


def test_paths_that_lead_nowhere() -> None:
    assert lookup({"a": {"b": 5}}, "a.b") == 5
    assert lookup({"a": 5}, "a.b") is lookup({}, "a") is None


def test_groups_above_a_bound_are_counted() -> None:
    path = "groups.selected.test.error"
    failed = Measure(name="failed", title="Failed", path=path, above=0.05)
    assert Measure.from_json(json.loads(json.dumps(failed.to_json()))) == failed

    def read(groups: object) -> float | None:
        return failed.read({**SOLVED, "groups": {"selected": {"test": {"error": groups}}}})

    assert read({"1": 0.05, "2": 0.051, "3": 1.0, "4": math.nan}) == 3.0
    assert read({}) is None and read(None) is None and failed.read(SOLVED) is None
