"""wug fit and wug predict: from a table to a formula and back, and every kind of bad input."""

import csv
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from interrupts import heed_interrupts

from wug.cli._fit_answer import plain
from wug.cli.fit import units_in_order
from wug.cli.main import main

ROWS = np.random.default_rng(0).uniform(1, 5, (60, 2))
GOOD = [(a, b, a / b) for a, b in ROWS]


def write(path: Path, header: list[str], rows: object) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a fit of y = a / b, with a text, a constant and hostile names beside it."""
    place = tmp_path_factory.mktemp("fitted")
    rows = [(a, "x", b, 7, y) for a, b, y in GOOD]
    write(place / "data.csv", ["a", "note", "<b> & c", "seven", "y"], rows)
    arguments = ["fit", str(place / "data.csv"), "--target", "y", "--time", "20"]
    assert main([*arguments, "--out", str(place / "out")]) == 0
    return place / "out"


def test_formula_json_has_everything(fitted: Path) -> None:
    data = json.loads((fitted / "formula.json").read_text(encoding="utf-8"))
    assert data["expression"] == "a/b_c" and data["status"] == "exact"
    assert data["columns"] == ["a", "<b> & c"] and data["symbols"] == ["a", "b_c"]
    assert data["latex"] == r"\frac{a}{b_{c}}"
    assert data["rows"] == 60
    assert data["ranges"]["a"] == [f(ROWS[:, 0]) for f in (np.min, np.median, np.max)]
    assert data["command"].startswith("wug fit ") and "--target y" in data["command"]
    assert {"wug", "torch", "numpy", "python"} == set(data["versions"])
    assert {"expression", "complexity", "error", "r2", "seconds", "weights"} == set(
        data["front"][-1]
    )
    assert any("note" in notice for notice in data["notices"])
    assert any("seven (7)" in notice for notice in data["notices"])


def test_the_page_shows_the_answer(fitted: Path) -> None:
    page = (fitted / "fit.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 4  # rows, two inputs, the front
    assert "a/b_c" in page and "<mfrac>" in page and "exact" in page
    assert "<b>" not in page and "&lt;b&gt; &amp; c" in page


def test_nothing_else_is_written(fitted: Path) -> None:
    assert {path.name for path in fitted.iterdir()} == {"formula.json", "fit.html"}


def test_predict_keeps_the_columns(
    fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [("2", "p", "4"), ("1", "q, r", "0"), ("", "s", "1"), ("-30", "t", "1e3")]
    table = write(tmp_path / "more.csv", ["<b> & c", "who", "a"], rows)
    assert main(["predict", str(fitted), str(table), "--out", str(tmp_path / "new" / "p.tsv")]) == 0
    printed = capsys.readouterr().out
    assert "4 rows with y_predicted" in printed
    assert "nan in 1 rows: an input is missing or infinite" in printed
    assert "undefined" not in printed and "not defined" not in printed
    with (tmp_path / "new" / "p.tsv").open(newline="", encoding="utf-8") as file:
        header, *lines = csv.reader(file, delimiter="\t")
    assert header == ["<b> & c", "who", "a", "y_predicted"]
    assert [tuple(line[:3]) for line in lines] == rows
    assert [line[3] for line in lines] == ["2.0", "0.0", "nan", repr(1e3 / -30)]


def test_predict_counts_where_the_formula_is_not_defined(
    fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = write(tmp_path / "more.csv", ["a", "<b> & c"], [(1, 0), (0, 0), (1, 2)])
    assert main(["predict", str(fitted), str(table), "--out", str(tmp_path / "p.csv.gz")]) == 0
    assert "nan in 2 rows: the formula is not defined there" in capsys.readouterr().out
    text = gzip.decompress((tmp_path / "p.csv.gz").read_bytes()).decode()
    assert text == "a,<b> & c,y_predicted\n1,0,nan\n0,0,nan\n1,2,0.5\n"


@pytest.mark.parametrize(
    ("header", "rows", "out", "sentence"),
    [
        (["a", "z"], [(1, 2)], "p.csv", "needs columns that more.csv lacks: <b> & c"),
        (["a", "<b> & c"], [(1, "x")], "p.csv", "'<b> & c' must hold numbers, but there is 'x'"),
        (["a", "<b> & c", "y_predicted"], [(1, 2, 3)], "p.csv", "has a column y_predicted already"),
        (["a", "<b> & c"], [], "p.csv", "no rows"),
        (["a", "<b> & c"], [(1, 2)], "p.parquet", "Parquet is read, but not written"),
    ],
)
def test_predict_bad_input(
    header: list[str], rows: list[tuple[object, ...]], out: str, sentence: str, fitted: Path,
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "more.csv", header, rows)
    assert main(["predict", str(fitted), "more.csv", "--out", out]) == 2
    error = capsys.readouterr().err
    assert sentence in error and error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["more.csv"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "holds no fit: formula.json: No such file"),
        ("{", "is damaged: it is not JSON"),
        ('{"format": 99}', "is not a fit of a format that this wug reads"),
        ('{"format": 1, "target": "y"}', "is damaged"),
    ],
)
def test_predict_without_a_fit(
    content: str | None, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (tmp_path / "formula.json").write_text(content, encoding="utf-8")
    table = write(tmp_path / "more.csv", ["a"], [(1,)])
    assert main(["predict", str(tmp_path), str(table), "--out", str(tmp_path / "p.csv")]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "p.csv").exists()


def changed(change: Callable[[list[list[object]]], object]) -> list[list[object]]:
    """Return the good rows after one change."""
    rows = [list(row) for row in GOOD]
    change(rows)
    return rows


NAN = changed(lambda rows: rows[3].__setitem__(0, ""))
INFINITE = changed(lambda rows: [row.__setitem__(1, "inf") for row in rows[:2]])
TEXT = changed(lambda rows: rows[7].__setitem__(0, "seven"))


@pytest.mark.parametrize(
    ("header", "rows", "options", "sentence"),
    [
        (["a", "b", "y"], [], [], "has a line of names and no rows"),
        (["a", "b", "yield"], GOOD, [], "unknown column of data.csv 'y'"),
        (["a", "b", "target"], GOOD, ["--target", "targte"], "did you mean target?"),
        (["a", "a", "y"], GOOD, [], "more than one column is called a; rename them"),
        (
            ["a", "b", "y"],
            GOOD,
            ["--features", "a", "y"],
            "'y' is the target and can't be a feature",
        ),
        (["a", "b", "y"], GOOD, ["--features", "a", "c"], "unknown column of data.csv 'c'"),
        (["a", "b", "y"], GOOD, ["--features", "a,b"], "unknown column of data.csv 'a,b'"),
        (["a", "b", "y"], TEXT, ["--features", "a", "b"], "text in a ('seven' in row 8)"),
        (["y", "b", "a"], TEXT, [], "text in y ('seven' in row 8)"),
        (["a", "b", "y"], NAN, [], "missing or infinite in a (1 missing). --drop-missing"),
        (["a", "b", "y"], INFINITE, [], "in b (2 infinite)"),
        (["a", "b", "y"], [(1, 2, 3)], [], "at least 2 rows are needed; got 1"),
        (["a", "b", "y"], [(1, 2, 3), (1, 2, 4)], [], "no column is left to fit 'y' from"),
        (["a", "b", "y"], [(1, 2, 3e200), (3, 4, 5)], [], "choose another unit for y"),
        (["a", "b", "y"], GOOD, ["--time", "0"], "time must be at least 0.1; got 0"),
        (
            ["a", "b", "y"],
            GOOD,
            ["--operations"],
            "must name some of add, sub, mul, div, pow, root",
        ),
        (["a", "b", "y"], GOOD, ["--max-terms", "0"], "max_terms must be at least 1; got 0"),
        (["a", "b", "y"], GOOD, ["--max-exponent", "nan"], "max_exponent must be at least 0.5"),
        (["a", "b", "y"], GOOD, ["--seed", "-1"], "seed must be between 0 and 4294967295; got -1"),
        (["a", "b", "y"], GOOD, ["--out", "data.csv"], "--out must name a folder"),
        (
            ["a", "b", "y"],
            GOOD,
            ["--functions", "sinus"],
            "must be auto, none, or names",
        ),
        (["a", "b", "y"], GOOD, ["--error", "c"], "unknown column of data.csv 'c'"),
        (["a", "b", "y"], GOOD, ["--error", "y"], "can't be the column of errors and something"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(
    header: list[str], rows: list[list[object]], options: list[str], sentence: str,
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "data.csv", header, rows)
    given_target = [] if "--target" in options else ["--target", "y"]
    assert main(["fit", "data.csv", *given_target, *options]) == 2
    error = capsys.readouterr().err
    assert sentence in error and error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


@pytest.mark.parametrize(
    ("content", "sentence"), [(None, "No such file"), ("", "data.csv is empty")]
)
def test_no_table(
    content: str | None, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / "data.csv").write_text(content, encoding="utf-8")
    assert main(["fit", "data.csv", "--target", "y"]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "fits").exists()


def test_without_a_target_the_columns_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "data.csv", ["a", "b", "y"], GOOD)
    assert main(["fit", "data.csv"]) == main(["fit", "no.csv"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert "--target COLUMN" in first and first.endswith("data.csv has a, b, y.")
    assert "no.csv can't be read: No such file" in second


def test_a_constant_target_is_answered_with_the_constant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "data.csv", ["a", "y"], [(a, 3.5) for a, _ in ROWS])
    assert main(["fit", "data.csv", "--target", "y", "--time", "5"]) == 0
    assert "the target is the same in every row: y (3.5)" in capsys.readouterr().out
    data = json.loads((tmp_path / "fits" / "data.y" / "formula.json").read_text(encoding="utf-8"))
    assert data["expression"] == "7/2" and data["status"] == "exact"


def test_the_certificate_is_printed_and_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from wug.estimators.saved import NamedRegressor

    class Certificate:
        def __str__(self) -> str:
            return "proven [for] <all>"

        def to_json(self) -> dict[str, object]:
            return {"bounds": [float("-inf"), 1.0]}

    monkeypatch.setattr(NamedRegressor, "certificate_", Certificate(), raising=False)
    write(tmp_path / "data.csv", ["a", "b", "y"], GOOD)
    out = tmp_path / "out"
    assert main(["fit", str(tmp_path / "data.csv"), "--target", "y", "--out", str(out)]) == 0
    assert "\ncertificate of proven [for] <all>\n" in capsys.readouterr().out
    assert "proven [for] &lt;all&gt;" in (out / "fit.html").read_text(encoding="utf-8")
    data = json.loads((out / "formula.json").read_text(encoding="utf-8"))
    assert data["certificate"] == {"bounds": [None, 1.0]}


def test_fewer_rows_than_features_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(1).normal(size=(3, 6)).tolist()
    write(tmp_path / "data.csv", ["a", "b", "c", "d", "e", "y"], rows)
    assert main(["fit", "data.csv", "--target", "y", "--time", "2"]) == 0
    assert "3 rows for 5 inputs" in capsys.readouterr().out


def test_rows_with_missing_cells_are_dropped_if_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "data.csv", ["a", "b", "y"], NAN)
    options = ["--features", "a", "b", "--drop-missing", "--operations", "mul", "div"]
    assert main(["fit", "data.csv", "--target", "y", "--time", "20", *options]) == 0
    printed = capsys.readouterr().out
    assert "left out, 1 of 60 rows: cells of a (1 missing)" in printed
    assert "\na/b\nexact: " in printed
    command = json.loads((tmp_path / "fits/data.y/formula.json").read_text("utf-8"))["command"]
    assert "--features a b" in command and "--operations mul div" in command
    assert command.endswith("--drop-missing")


def test_an_interrupt_keeps_the_front(tmp_path: Path) -> None:
    rows = np.random.default_rng(1).normal(size=(400, 6))
    target = np.sin(5 * rows[:, 0]) * np.exp(rows[:, 1])  # no sum of powers
    write(tmp_path / "data.csv", list("abcdefy"), np.column_stack((rows, target)).tolist())
    process = subprocess.Popen(
        [sys.executable, "-m", "wug", "fit", "data.csv", "--target", "y", "--time", "300"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        preexec_fn=heed_interrupts,
    )  # fmt: skip
    assert process.stdout is not None
    while " s  error " not in process.stdout.readline():
        assert process.poll() is None
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    printed, error = process.communicate(timeout=400)
    assert process.returncode == 130, error
    assert "interrupted: this is what was found so far" in printed
    data = json.loads((tmp_path / "fits" / "data.y" / "formula.json").read_text(encoding="utf-8"))
    assert data["status"] != "exact" and data["front"]


@pytest.mark.parametrize("verb", ["fit", "predict"])
def test_help_and_bad_input_do_without_torch(verb: str, tmp_path: Path) -> None:
    script = (
        "import sys\nfrom wug.cli.main import main\n"
        "for words in ([sys.argv[1], '--help'], ['fit', 'no.csv', '--target', 'y']):\n"
        "    try:\n        main(words)\n    except SystemExit:\n        pass\n"
        "sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, verb], cwd=tmp_path, capture_output=True, text=True,
        timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"usage: wug {verb}" in done.stdout and "no.csv can't be read" in done.stderr


def test_json_has_no_infinite_numbers() -> None:
    assert plain({"a": [float("inf"), float("nan"), 1.5], "b": True}) == {
        "a": [None, None, 1.5],
        "b": True,
    }


def test_errors_of_measurement_and_wrong_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that is ten times too large is named by its number; a column of errors weighs rows."""
    monkeypatch.chdir(tmp_path)
    rows = [[a, b, y, 0.1] for a, b, y in GOOD]
    rows[11][2] *= 10
    write(tmp_path / "data.csv", ["a", "b", "y", "sigma"], rows)
    options = ["--error", "sigma", "--robust", "--functions", "none", "--time", "20"]
    assert main(["fit", "data.csv", "--target", "y", *options]) == 0
    printed = capsys.readouterr().out
    assert "left out, rows that do not belong: 12" in printed and "\na/b\nexact: " in printed
    data = json.loads((tmp_path / "fits/data.y/formula.json").read_text("utf-8"))
    assert data["columns"] == ["a", "b"] and data["left_out"] == [12]
    assert "--error sigma --robust" in data["command"]


def test_fits_of_the_first_format_are_read(tmp_path: Path) -> None:
    """As wug 0.1 wrote them: without functions."""
    from wug.estimators.saved import read_fit

    weights = {"exponents": [[1.0, -1.0]], "coefficients": [[2.0]], "powers": [1.0]}
    old = {"format": 1, "target": "y", "columns": ["a", "b"], "expression": "2*a/b"}
    (tmp_path / "formula.json").write_text(json.dumps({**old, "weights": weights}), "utf-8")
    assert read_fit(tmp_path).predict(np.array([[3.0, 2.0]])).tolist() == [3.0]


def test_functions_are_saved_and_read(tmp_path: Path) -> None:
    from wug.estimators.saved import read_fit

    rows = [(a, b, a * np.exp(-b)) for a, b in ROWS]
    write(tmp_path / "data.csv", ["a", "b", "y"], rows)
    arguments = ["fit", str(tmp_path / "data.csv"), "--target", "y", "--functions", "exp"]
    assert main([*arguments, "--time", "60", "--out", str(tmp_path / "out")]) == 0
    fit = read_fit(tmp_path / "out")
    expected = 7 * np.exp(-8)
    assert fit.predict(np.array([[7.0, 8.0]])).tolist() == [pytest.approx(expected)]


def test_differential_equations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    t = np.linspace(0, 6, 150)
    rows = [(a, np.cos(a) * size, -np.sin(a) * size) for size in (1, 2) for a in t]
    write(tmp_path / "swing.csv", ["time", "angle", "speed"], rows)
    assert main(["fit", "swing.csv", "--ode", "time", "--time", "20"]) == 0
    printed = capsys.readouterr().out
    assert "\nangle' = speed\nspeed' = -angle\n" in printed and " s  error " in printed
    assert "of its deviation; as close as the derivatives are known" in printed
    assert "approximate" not in printed
    data = json.loads((tmp_path / "fits" / "swing.time_ode" / "odes.json").read_text("utf-8"))
    assert data["right_hand_sides"] == ["speed", "-angle"] and data["found"] == [True, True]
    assert main(["fit", "swing.csv"]) == 2
    assert "--target COLUMN, or --ode COLUMN of times" in capsys.readouterr().err
    assert main(["fit", "swing.csv", "--ode", "time", "--target", "angle"]) == 2
    assert "only one of them" in capsys.readouterr().err
    for option in (["--robust"], ["--error", "speed"], ["--select", "score"], ["--drop-missing"]):
        assert main(["fit", "swing.csv", "--ode", "time", *option]) == 2
        assert f"{option[0]} is for a target" in capsys.readouterr().err


def test_differential_equations_that_are_only_followed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    t = np.linspace(0, 6, 150)
    rows = [(a, np.arctan(a) + 0.3 * np.sin(a * a), "text") for a in t]
    write(tmp_path / "odd.csv", ["time", "x", "kind"], rows)
    arguments = ["fit", "odd.csv", "--ode", "time", "--time", "3", "--functions", "none"]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "left out, not numbers: kind ('text' in row 1)" in printed
    assert "x': error " in printed and "approximate: it leaves more" in printed


def test_an_interrupt_ends_a_system(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from wug.estimators.polynomial import Polynomial

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    t = np.linspace(0, 6, 150)
    rows = [(a, np.cos(a), np.sin(a)) for a in t]
    write(tmp_path / "swing.csv", ["time", "x", "y"], rows)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Polynomial, "solve", interrupt)
    assert main(["fit", "swing.csv", "--ode", "time", "--time", "20"]) == 130
    printed = capsys.readouterr().out
    assert "interrupted: this is what was found so far" in printed
    assert "not searched any more: y" in printed and "\nx' = " in printed


def test_an_interrupt_keeps_the_front_of_a_robust_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from wug.estimators.sums import Sums

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    a, b = np.random.default_rng(0).uniform(1, 5, (2, 100))
    rows = np.column_stack((a, b, np.sin(3 * a) * b)).tolist()
    write(tmp_path / "data.csv", ["a", "b", "y"], rows)
    monkeypatch.setattr(Sums, "solve", interrupt)
    arguments = ["fit", str(tmp_path / "data.csv"), "--target", "y", "--robust", "--time", "20"]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 130
    assert "interrupted: this is what was found so far" in capsys.readouterr().out
    assert (tmp_path / "out" / "formula.json").exists()


def test_rows_that_are_left_out_are_all_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from wug.estimators import robust, search

    for module in (robust, search):
        monkeypatch.setattr(module, "CLOCK", time.process_time)
    generator = np.random.default_rng(3)
    a, b = generator.uniform(1, 5, (2, 200))
    y = a**2 * b * (1 + 0.01 * generator.normal(size=200))
    wrong = generator.permutation(200)[:12]
    y[wrong] *= 10
    write(tmp_path / "data.csv", ["a", "b", "y"], np.column_stack((a, b, y)).tolist())
    arguments = ["fit", str(tmp_path / "data.csv"), "--target", "y", "--robust", "--functions"]
    arguments += ["none", "--time", "10", "--out", str(tmp_path / "out")]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    named = re.search("do not belong: ([0-9, ]+)\n", printed)
    data = json.loads((tmp_path / "out" / "formula.json").read_text(encoding="utf-8"))
    assert named is not None and data["left_out"] == sorted((wrong + 1).tolist())
    assert list(map(int, named[1].split(", "))) == data["left_out"]
    assert "try --loss relative" in printed
    assert main([*arguments, "--loss", "relative"]) == 0
    printed = capsys.readouterr().out
    named = re.search("do not belong: ([0-9, ]+)\n", printed)
    assert named is not None and set(wrong + 1) == set(map(int, named[1].split(", ")))
    assert "try --loss relative" not in printed


@pytest.mark.parametrize("functions", [["exp", "sin"], ["exp,sin"], ["exp,", "sin"]])
def test_functions_with_commas(functions: list[str]) -> None:
    from wug.cli.fit import chosen_among

    assert chosen_among(functions) == ("exp", "sin")


def test_decimal_commas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"{a:.17g};{b:.17g};{y:.17g}".replace(".", ",") for a, b, y in GOOD]
    (tmp_path / "data.csv").write_text("\n".join(["a;b;y", *lines]), encoding="utf-8")
    arguments = ["fit", str(tmp_path / "data.csv"), "--target", "y", "--out", str(tmp_path / "o")]
    assert main([*arguments, "--time", "20"]) == 0
    assert "\na/b\nexact: " in capsys.readouterr().out


def test_excel_needs_a_package(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        import openpyxl
    except ImportError:
        (tmp_path / "data.xlsx").write_bytes(b"PK")
        assert main(["fit", str(tmp_path / "data.xlsx"), "--target", "y"]) == 2
        assert "pip install 'wug[xlsx]'" in capsys.readouterr().err
        return
    book = openpyxl.Workbook()
    for row in (("a", "b", "y"), *GOOD):
        book.active.append(row)
    book.save(tmp_path / "data.xlsx")
    arguments = ["fit", str(tmp_path / "data.xlsx"), "--target", "y", "--out", str(tmp_path / "o")]
    assert main([*arguments, "--time", "20"]) == 0
    assert "\na/b\nexact: " in capsys.readouterr().out


def test_units_are_kept_with_the_fit(tmp_path: Path) -> None:
    rows = [(m, v, 9.81, m * v**2 / 2 + m * 9.81 * 3 * v) for m, v in ROWS]
    table = write(tmp_path / "t.csv", ["m", "v", "g", "E"], rows)
    units = ["m=kg", "v=m/s", "g=m/s^2", "E=J"]
    arguments = ["fit", str(table), "--target", "E", "--out", str(tmp_path / "out")]
    # The 3 is a time: as a pure number no formula has it.
    assert main([*arguments, "--units", *units, "--time", "1"]) == 0
    data = json.loads((tmp_path / "out" / "formula.json").read_text(encoding="utf-8"))
    assert data["status"] != "exact" and data["columns"] == ["m", "v", "g"]
    assert data["units"] == {"E": "J", "m": "kg", "v": "m/s", "g": "m/s^2"}
    assert data["units_factor"] is False and "--units" in data["command"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--units", "kg", "m"], "must name a unit for each of a, b, y"),
        (["--units", "a=kg", "b=m", "z=s"], "must name a unit for each of a, b, y"),
        (["--units", "a=kg", "b=lightmile", "y=s"], "unknown unit 'lightmile'"),
        (["--units", "a=kg", "b=m", "y=s"], "powers of s do not come out"),
        (["--units-factor"], "name the units"),
    ],
)
def test_bad_units(
    options: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = write(tmp_path / "t.csv", ["a", "b", "y"], GOOD)
    assert main(["fit", str(table), "--target", "y", *options]) != 0
    assert sentence in capsys.readouterr().err.replace("\n", " ")


def test_units_by_name_or_in_order() -> None:
    assert units_in_order([], ["a"], "y") is None
    assert units_in_order(["1", "kg"], ["a"], "y") == ["1", "kg"]
    assert units_in_order(["y=m/s^2", "a, b=1"], ["a, b"], "y") == ["1", "m/s^2"]


def test_rows_that_are_far_off_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    force = np.linspace(0.5, 10, 25)
    extension = force / 24.5 + 0.002 * np.random.default_rng(6).normal(size=25)
    extension[5] *= 10
    table = write(tmp_path / "hooke.csv", ["f", "e"], zip(force, extension, strict=True))
    arguments = ["fit", str(table), "--target", "e", "--time", "2", "--functions", "none"]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert "row 6; --robust looks for the law of the others" in printed
    assert "noisy" not in printed


def test_few_rows_that_are_met_need_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = write(tmp_path / "ohm.csv", ["u", "r", "i"], [(*row[:2], row[2]) for row in GOOD[:12]])
    arguments = ["fit", str(table), "--target", "i", "--time", "2", "--functions", "none"]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert "undecided" in printed and "--robust" not in printed
    assert "every row is met up to rounding, but 3 numbers and exponents need 15" in printed


def test_relative_errors_are_shown_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mass = np.geomspace(0.01, 3000, 40)
    rate = 241 * mass**-0.25 * np.exp(0.05 * np.random.default_rng(3).normal(size=40))
    table = write(tmp_path / "heart.csv", ["m", "r"], zip(mass, rate, strict=True))
    arguments = ["fit", str(table), "--target", "r", "--time", "3", "--loss", "relative"]
    assert main([*arguments, "--functions", "none", "--out", str(tmp_path / "out")]) == 0
    assert "relative error" in capsys.readouterr().out
    front = json.loads((tmp_path / "out" / "formula.json").read_text(encoding="utf-8"))["front"]
    errors = [one["error"] for one in front]
    assert errors == sorted(errors, reverse=True) and errors[-1] < 0.06


def test_predictions_keep_decimal_commas(
    fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "komma.csv"
    table.write_text("a;<b> & c;who\n3,5;100;x\n12;4;y\n", encoding="utf-8")
    assert main(["predict", str(fitted), str(table), "--out", str(tmp_path / "p.csv")]) == 0
    lines = (tmp_path / "p.csv").read_text(encoding="utf-8").splitlines()
    assert lines == ["a;<b> & c;who;y_predicted", "3,5;100;x;0,035", "12;4;y;3,0"]
