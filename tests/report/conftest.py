"""Runs made by hand: a good one, and one that means harm."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from chromium import Browser, chromium

from wug.records import Record, RunStore, write_trace

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


def fill(
    folder: Path, experiment: str, solved: int, what: dict[str, Any] | None, **settings: Any
) -> Path:
    """Write a run of two units on two ranges with eight seeds."""
    store = RunStore.open(folder, experiment, {"steps": 300, **settings})
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


CHAIN = "begin b a d 101 end"
LIST = "begin [MAX 2 4 [MIN 3 [SM 8 5 ] 9 ] [MED 1 6 7 ] ] end"


def needed(columns: list[str]) -> list[list[int]]:
    """Return what each column needs: in a list its operator's arguments, else the next column."""
    needs: list[list[int]] = [[] for _ in columns]
    if not any(label.startswith("[") for label in columns):
        last = len(columns) - 2
        return [[i + 1] if 0 < i < last else [] for i in range(len(columns))]
    opened: list[int] = []
    for i, label in enumerate(columns[1:-1], 1):
        if label == "]":
            opened.pop()
            continue
        if opened:
            needs[opened[-1]].append(i)
        if label.startswith("["):
            opened.append(i)
    return needs


def routing(
    problem: str, answer: str, *, hasty: bool = False, num_heads: int = 1, num_steps: int = 9
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the trace of a router that waits for its operands, or of one that does not."""
    columns = problem.split()
    operands = needed(columns)
    count = len(columns)

    def depth(column: int) -> int:
        return 1 + max(map(depth, operands[column])) if operands[column] else 0

    rng = np.random.default_rng(0)
    openness = rng.uniform(0.01, 0.08, (num_steps, count))
    attention = np.full((num_steps, num_heads, count, count), 0.2 / count)
    attention += 0.5 * np.eye(count)
    for column in (c for c in range(count) if operands[c]):
        step = 0 if hasty else depth(column) - 1
        openness[step, column] = rng.uniform(0.88, 0.99)
        openness[step + 1, column] = rng.uniform(0.1, 0.3)
        for place, source in enumerate(operands[column]):
            attention[step:, place % num_heads, column, :] *= 0.3
            attention[step:, place % num_heads, column, source] = 0.93 / len(operands[column])
    attention[:, :, -1, :] = 0.02
    attention[:, :, -1, 1] = 0.9
    about = {
        "kind": "routing", "lot": "ndr-0", "labels": {"model": "ndr"}, "seed": 0,
        "problem": " ".join(columns[1:-1]), "columns": columns, "operands": operands,
        "answer": answer, "prediction": "000" if hasty else answer, "threshold": 0.5,
        "score": 0.0 if hasty else 1.0,
    }  # fmt: skip
    arrays = {"attention": attention, "openness": openness}
    return {name: values.astype(np.float16) for name, values in arrays.items()}, about


def symbols(num_functions: int = 32) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return symbols of which the first half is spelt in one way and the second in two."""
    rng = np.random.default_rng(0)
    group = np.arange(num_functions) * 2 // num_functions
    clusters = np.array([group if s >= 4 else group[::-1] * 0 for s in range(8)])
    clusters[:4, -1] = 1
    alike = clusters[:, :, None] == clusters[:, None, :]
    similarities = np.where(alike, 0.9, 0.15) + rng.normal(0, 0.05, alike.shape)
    compatibility = np.where(np.arange(8)[:, None, None] >= 4, np.eye(2), 1.0)
    arrays = {
        "similarities": similarities.clip(-1, 1).astype(np.float16),
        "clusters": clusters.astype(np.uint8), "groups": group.astype(np.uint8),
        "agreement": (np.arange(8) >= 4).astype(np.float32),
        "compatibility": compatibility.astype(np.float32),
    }  # fmt: skip
    letters = "abcdefghijklmnopqrstuvwxyzABCDEF"[:num_functions]
    about = {"kind": "symbols", "lot": "ndr-0", "labels": {"model": "ndr"}, "seed": 0,
             "symbols": list("01234567"), "functions": list(letters),
             "group_names": ["a", "b"]}  # fmt: skip
    return arrays, about


def fill_traces(folder: Path) -> Path:
    """Write a run with traces of two networks: one that waits, and one that does not."""
    fill(folder, "demo", 7, catalog())
    made = {
        "ndr-0.routing-1": routing(CHAIN, "110"),
        "ndr-0.routing-2": routing(LIST, "6", num_heads=3),
        "ndr-0.symbols": symbols(),
        "hasty-0.routing-1": routing(CHAIN, "110", hasty=True),
    }
    made["hasty-0.routing-1"][1].update(lot="hasty-0", labels={"model": "hasty"})
    for name, (arrays, about) in made.items():
        write_trace(folder, name, arrays, about)
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all tests of a file."""
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def traces_by_hand() -> SimpleNamespace:
    """What tests make traces from."""
    return SimpleNamespace(
        routing=routing, symbols=symbols, fill=fill_traces, chain=CHAIN, list=LIST
    )


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
        arrays, about = routing(CHAIN, HARM)
        arrays["openness"][0, :3] = np.nan
        about |= {"columns": [HARM, "__proto__", "constructor", "", "x" * 999, "\x00"],
                  "operands": [[1], [0], [2, 2], [], [], []], "labels": {HARM: HARM}}  # fmt: skip
        write_trace(store.folder, "harm", arrays, about)
        write_trace(store.folder, "flat", {**arrays, "attention": arrays["openness"]}, about)
        arrays, about = symbols()
        arrays["similarities"][0] = np.nan
        write_trace(store.folder, "alike", arrays, {**about, "functions": [HARM] * 32})
        (store.folder / "traces" / "torn.safetensors").write_bytes(b"half")
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
