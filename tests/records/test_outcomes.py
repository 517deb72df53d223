"""Outcomes of schema 1 are read as schema 2; files keep them as they are."""

import math
from pathlib import Path

import pytest

from wug.records import Record, RunStore, kept_accuracy, pack_run, read_outcome, read_run

NUMBERS = {
    "status": "solved", "solved": True, "diverged": False, "threshold": 1e-5, "selected_step": 40,
    "solved_at": 20, "restarts": 1, "validation_error": 0.5, "test_error": 0.25,
    "sparsity_error": 0.125, "gate": 0.75, "weights": {"w": [1.0]},
}  # fmt: skip
ANSWERS = {
    "status": "unsolved", "solved": False, "diverged": False, "threshold": 0.01,
    "error_is_share": True, "selected_step": 40, "solved_at": math.nan, "steps": 50,
    "training_seconds": 3.5, "num_parameters": 12, "promoted": [10], "validation_error": 0.125,
    "ood_validation_error": 0.25, "test_error": 0.5, "selected_validation_error": 0.375,
    "final_ood_validation_error": 0.625, "final_test_error": 0.75,
    "levels": {"test": {"7": 0.5}}, "final_levels": {"test": {"7": 0.25}},
    "halting_steps": {"test": {"7": 3.5}},
}  # fmt: skip


def test_of_numbers() -> None:
    assert read_outcome(NUMBERS) == {
        "schema": 2, "engine": "stacked", "status": "solved", "solved": True, "diverged": False,
        "threshold": 1e-5, "selected_step": 40, "solved_at": 20, "restarts": 1,
        "selected": {"validation": {"error": 0.5}, "test": {"error": 0.25}},
        "observed": {"sparsity": 0.125, "gate": 0.75}, "weights": {"w": [1.0]},
    }  # fmt: skip


def both(error: float) -> dict[str, float]:
    return {"accuracy": 1 - error, "error": error}


def test_of_answers() -> None:
    kept = ("status", "solved", "diverged", "threshold", "selected_step", "solved_at", "steps",
            "training_seconds", "promoted")  # fmt: skip
    assert read_outcome(ANSWERS) == {
        "schema": 2, "engine": "single", **{name: ANSWERS[name] for name in kept},
        "selected": {"validation": both(0.375), "ood_validation": both(0.25), "test": both(0.5)},
        "final": {"validation": both(0.125), "ood_validation": both(0.625), "test": both(0.75)},
        "groups": {
            "selected": {"test": {"accuracy": {"7": 0.5}, "halting_steps": {"7": 3.5}}},
            "final": {"test": {"accuracy": {"7": 0.25}}},
        },
        "observed": {"num_parameters": 12},
    }  # fmt: skip


@pytest.mark.parametrize("outcome", [NUMBERS, ANSWERS])
def test_reading_twice_changes_nothing(outcome: dict) -> None:
    new = read_outcome(outcome)
    assert read_outcome(new) is new


@pytest.mark.parametrize("outcome", [{}, {"formula": "a + b"}, [1], "text", 5, math.nan])
def test_what_is_no_training_is_left_alone(outcome: object) -> None:
    assert read_outcome(outcome) is outcome


def test_bad_numbers_stand_where_good_ones_should() -> None:
    hostile = {**ANSWERS, "test_error": "x", "levels": 5, "validation_error": math.nan}
    new = read_outcome(hostile)
    assert new["selected"]["test"] == {"error": "x"}
    assert math.isnan(new["final"]["validation"]["accuracy"])
    assert new["observed"]["levels"] == 5


def test_files_keep_their_lines(tmp_path: Path) -> None:
    record = Record(experiment="demo", key={"seed": 0}, config={}, seed=0, outcome=ANSWERS)
    store = RunStore.open(tmp_path / "run", "demo", {})
    store.append("lot", [record])
    run = read_run(tmp_path / "run")
    pack_run(run, tmp_path / "packed")
    for opened in (run, read_run(tmp_path / "packed")):
        assert next(opened.stored()).to_line() == record.to_line()
        (read,) = opened.records()
        assert read.outcome["final"]["validation"]["accuracy"] == 0.875
        assert read.key == record.key and read.config == record.config


def test_what_a_kept_network_tells_of_itself() -> None:
    assert kept_accuracy({"test_error": 0.25}) == 0.75
    assert kept_accuracy({"selected": {"test": {"accuracy": 0.5}}}) == 0.5
    for about in ({}, {"test_error": None}, {"test_error": "x"}, {"selected": 5}):
        assert kept_accuracy(about) is None
