"""Runs made by hand: a good one, and one that means harm."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wug.records import Record, RunStore

COLUMNS = ("[1,2)", "[10,20)")
HARM = '<img src=x onerror="window.harmed=1"></script><script>window.harmed=1</script>'


def record(experiment: str, unit: str, column: str, seed: int, **outcome: Any) -> Record:
    steps = [0, 100, 200, 300]
    return Record(
        experiment=experiment, kind="curve",
        key={"unit": unit, "operation": "mul", "range": column, "seed": seed},
        config={"unit": unit, "rate": 0.01}, seed=seed, seconds=0.5, versions={"wug": "0"},
        outcome={"solved": False, "solved_at": None, "sparsity_error": 0.1, "test_error": 2.0,
                 "validation_error": 0.5, "threshold": 1e-5, **outcome},
        curves={"step": steps, "test": [1.0, 0.1 + seed, 1e-3, 1e-6], "validation": [1, 0.1, 0, 0]},
    )  # fmt: skip


def judged(verdict: str, *evidence: str) -> dict[str, Any]:
    return {"verdict": verdict, "evidence": list(evidence)}


def catalog() -> dict[str, Any]:
    number = {"value": 0.675, "plus": 0.1, "minus": 0.1}
    return {
        "title": "Demo (A paper, table 1)",
        "command": "wug run demo --scale paper",
        "layout": {
            "rows": ["unit", "operation"], "column": "range",
            "row_order": [["nau", "mul"], ["nmu", "mul"]], "column_order": list(COLUMNS),
            "measure": "success", "baseline": None,
        },
        "published": [
            {"unit": "nmu", "operation": "mul", "range": c, "source": "Table 1", "success": number,
             "solved_at": None, "sparsity": None} for c in COLUMNS
        ],
        "claims": [
            {"key": "a", "statement": "NMU multiplies.", "source": "section 1",
             "ours": judged("held", "nmu [1,2): 8/8"), "published": judged("held")},
            {"key": "b", "statement": "NAU multiplies.", "source": "section 2",
             "ours": judged("broken", "nau [1,2): 0/8"), "published": judged("undecided")},
        ],
        "departures": ["Fewer seeds."],
        "units": [
            {"key": "nmu", "name": "NMU", "summary": "Products.", "references": ["madsen2020"],
             "equation": r"y = \prod_i x_i", "failure_modes": ["It can't divide."]},
        ],
    }  # fmt: skip


def fill(folder: Path, experiment: str, solved: int, what: dict[str, Any] | None) -> Path:
    """Write a run of two units on two ranges with eight seeds."""
    store = RunStore.open(folder, experiment, {"steps": 300})
    for unit in ("nau", "nmu"):
        good = {"solved": True, "solved_at": 200, "sparsity_error": 1e-6, "test_error": 1e-9}
        store.append(
            unit,
            [
                record(experiment, unit, column, seed,
                       **(good if unit == "nmu" and seed < solved else {}))
                for column in COLUMNS
                for seed in range(8)
            ],
        )  # fmt: skip
    if what is not None:
        store.write_catalog(what)
    return folder


@pytest.fixture
def by_hand() -> SimpleNamespace:
    """What tests make runs and fits from."""
    return SimpleNamespace(fill=fill, catalog=catalog, formula=formula, harm=HARM)


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """A run as `wug run` leaves it."""
    return fill(tmp_path / "runs" / "demo" / "paper", "demo", 7, catalog())


def formula(target: str = "t") -> dict[str, Any]:
    weights = {"exponents": [[0.5, -0.5]], "coefficients": [[2.0]], "powers": [1.0]}
    return {
        "format": 1, "target": target, "columns": ["h", "g"], "symbols": ["h", "g"],
        "expression": "2*sqrt(h)/sqrt(g)", "latex": r"\frac{2 \sqrt{h}}{\sqrt{g}}",
        "status": "exact", "weights": weights, "rows": 20, "command": "wug fit x.csv --target t",
        "front": [
            {"expression": "3.0", "complexity": 1, "error": 1.5, "r2": 0.0, "weights": {}},
            {"expression": "2*sqrt(h)/sqrt(g)", "complexity": 7, "error": 0.0, "r2": 1.0,
             "weights": weights},
        ],
        "ranges": {"t": [1, 2, 4], "h": [1, 4, 16], "g": [1, 2, 9]},
        "certificate": {"exact": True}, "notices": [],
    }  # fmt: skip


@pytest.fixture
def make_harm(tmp_path: Path) -> Callable[[], Path]:
    """Make runs and fits whose names, numbers and files are as bad as they can be."""

    def make() -> Path:
        root = tmp_path / "harm"
        worse = catalog()
        worse["title"] = HARM
        worse["command"] = HARM
        worse["departures"] = [HARM, 5]
        worse["layout"]["row_order"] = [[HARM, "mul"]]
        worse["layout"]["column_order"] = ["__proto__", HARM]
        worse["claims"] = [
            {"key": HARM, "statement": HARM, "source": HARM, "ours": judged(HARM, HARM)},
            "no claim", {}, {"ours": 3},
        ]  # fmt: skip
        worse["published"] += [{"unit": HARM}, 7, {"unit": HARM, "operation": "mul",
                                "range": "__proto__", "success": {"value": "NaN"}}]  # fmt: skip
        worse["units"] = [{"key": HARM, "equation": r"\href{javascript:alert(1)}{x} \foo" + HARM},
                          {"key": "../../up", "failure_modes": [HARM]}, None]  # fmt: skip
        experiment = f"../../evil{HARM}"
        store = RunStore.open(root / "evil" / "paper", experiment, {HARM: HARM})
        nan, huge = float("nan"), 1e308
        lot = [
            record(experiment, HARM, "__proto__", 0),
            record(experiment, HARM, "__proto__", 1, test_error=nan, validation_error=huge),
            record(experiment, HARM, HARM, 2, test_error=huge, solved=True, solved_at=10**15),
            record(experiment, "../../up", "constructor", 3, test_error=-5.0),
            record(experiment, "\ud800", "\x00\x1b[31m", 4),
            record(experiment, "odd", "a", 5, solved="yes"),
            record(experiment, "odd", "b", 6, solved=True, solved_at=nan),
            record(experiment, "odd", "c", 7, test_error=10**400),
            record(experiment, "odd", "d", 8, validation_error=HARM),
        ]  # fmt: skip
        store.append("lot", lot)
        store.write_catalog(worse)
        half = fill(root / "torn" / "paper", "torn", 3, catalog())
        segment = sorted((half / "records").glob("*.jsonl"))[0]
        segment.write_bytes(segment.read_bytes()[:-200])
        (half / "catalog.json").write_text('{"title": "half-writ')
        for name, text in (("no-run", "{"), ("other", '{"wug_run": 99, "experiment": "x"}')):
            (root / name).mkdir()
            (root / name / "run.json").write_text(text)
        for name, data in (("good", formula(HARM)), ("bad", {"target": HARM}), ("worse", [])):
            (root / "fits" / name).mkdir(parents=True)
            (root / "fits" / name / "formula.json").write_text(json.dumps(data))
        odd = {
            **formula("odd"),
            "front": [3, {}],
            "weights": {"exponents": "x"},
            "ranges": {"h": 1},
        }
        (root / "fits" / "odd").mkdir()
        (root / "fits" / "odd" / "formula.json").write_text(json.dumps(odd))
        return root

    return make
