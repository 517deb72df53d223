"""The runner leaves a record per fit, resumes, and makes its tables from the records."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import sympy
from formula_methods import METHODS, Task, judge, read_gplearn
from formula_records import append, read
from formula_suite import SUITE, symbols
from formula_tables import make_sheets, markdown
from formulas import header, main, patience_with, unmeasured

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "formulas.py"
CLEAN = {one.key: one for one in SUITE}
AFFINE = CLEAN["affine-mixed"]


def run(*arguments):
    command = [sys.executable, SCRIPT, "--methods", "linear", "--time", "5", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def test_runs_and_resumes(tmp_path):
    out = tmp_path / "some" / "records.jsonl"
    options = ("--only", AFFINE.key, "product-2-of-2-mixed", "--noise", "0", "--out", out)
    first = run(*options)
    assert first.returncode == 0, first.stderr
    assert "2 fits to run" in first.stdout
    records = {one["formula"]: one for one in read(out)}
    assert records[AFFINE.key]["recovered"] and records[AFFINE.key]["error"] < 1e-9
    assert not records["product-2-of-2-mixed"]["recovered"]
    assert all(one["status"] == "fitted" and one["seconds"] > 0 for one in records.values())
    assert "| linear | - | 1/1 | 0/1 |" in out.with_suffix(".md").read_text(encoding="utf-8")
    again = run(*options)
    assert "0 fits to run" in again.stdout and "1/2 (50%)" in again.stdout
    assert len(read(out)) == 2


def test_unknown_names_are_said_to_be():
    for option in ({"only": ("sum",)}, {"noise": (0.5,)}, {"methods": ("magic",)}):
        with pytest.raises(SystemExit, match=r"no .+ (sum|0.5|magic); there are "):
            main(**option)


def test_a_torn_line_is_left_out(tmp_path):
    path = tmp_path / "records.jsonl"
    append(path, {"formula": "a"})
    with path.open("a") as file:
        file.write('{"formula": "b", "rec')
    append(path, {"formula": "c"})
    assert [one["formula"] for one in read(path)] == ["a", "c"]


def test_a_record_of_another_definition_or_limit_does_not_count():
    method, task = METHODS["linear"], Task(formula=AFFINE, seconds=5, threads=1, seed=0)
    record = header(method, task) | {"status": "fitted"}
    changed = replace(task, formula=replace(AFFINE, rows=65))
    assert unmeasured(method, [task], [json.loads(json.dumps(record))]) == []
    assert unmeasured(method, [changed], [record]) == [changed]
    assert unmeasured(method, [replace(task, seconds=6)], [record]) != []


def test_failures_stay_in_the_denominator():
    formulas = [AFFINE, CLEAN["fahrenheit"], CLEAN["korns-1"]]
    task = Task(formula=AFFINE, seconds=5, threads=1, seed=0)
    good = {"status": "fitted", "recovered": True, "seconds": 1.0, "cpu_seconds": 1.0, "error": 0}
    bad = {"status": "killed", "recovered": False, "seconds": 10.0}
    records = [
        header(METHODS["linear"], replace(task, formula=one)) | outcome
        for one, outcome in zip(formulas, (good, bad), strict=False)
    ]
    recovered, measured, each = make_sheets(records, ["linear", "mlp"], formulas)
    assert recovered.rows[0][2] == "1/2, 1 missing"
    assert recovered.rows[0][-1] == "1/2 (50%), 1 missing"
    assert recovered.rows[1][-1] == "-"
    assert measured.rows[0][1:6] == ("inf", "5.5", "10", "1", "1")
    assert [row[4] for row in each.rows] == ["1.0", "killed", ""]
    assert all(len(row) == len(sheet.columns) for sheet in (recovered, each) for row in sheet.rows)
    assert markdown(each).splitlines()[2].startswith("| formula | noise |")


def test_fits_of_scikit_learn_are_judged():
    task = Task(formula=AFFINE, seconds=2, threads=1, seed=0)
    linear = judge(METHODS["linear"].fit(task), AFFINE)
    assert linear["recovered"] and linear["error"] < 1e-9
    network = judge(METHODS["mlp"].fit(task), AFFINE)
    assert not network["recovered"] and network["expression"] is None and network["error"] < 1


def test_a_busy_machine_is_no_failure_in_processor_time():
    wall, processor = (
        patience_with(Task(formula=AFFINE, seconds=30.0, threads=1, seed=0, clock=clock))
        for clock in ("wall", "processor")
    )
    assert all(processor[stage] > 10 * wall[stage] for stage in wall)


def test_gplearn_programs_are_read_with_their_guards():
    def node(name, arity):
        return SimpleNamespace(name=name, arity=arity)

    inputs = list(symbols(CLEAN["product-2-of-2-narrow"].inputs).values())
    x, y = inputs
    div, sub, inv, mul, neg, sqrt, add = (
        node(*one)
        for one in (("div", 2), ("sub", 2), ("inv", 1), ("mul", 2), ("neg", 1), ("sqrt", 1),
                    ("add", 2))
    )  # fmt: skip
    assert read_gplearn([sub, 0, 1], inputs) == x - y
    assert read_gplearn([div, 0, sub, 1, 1], inputs) == 1
    assert read_gplearn([inv, sub, 1, 1], inputs) == 0
    assert read_gplearn([mul, sqrt, neg, 0, add, 1, 0.5], inputs) == sympy.sqrt(x) * (y + 0.5)
