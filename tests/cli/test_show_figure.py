"""wug show --figure for fits and for two runs, as a person meets it."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from wug.cli.main import main
from wug.core.folders import results_folder

RUNS = [str(results_folder() / "mistry2022.single_module" / name)
        for name in ("paper", "paper-shared")]  # fmt: skip
FIT: dict[str, Any] = {
    "target": "y", "columns": ["x"], "expression": "2*x", "status": "exact",
    "weights": {"exponents": [[1]], "coefficients": [[2]], "powers": [1]},
    "front": [{"expression": "2*x", "complexity": 3, "error": 0.0}],
    "ranges": {"x": [1, 2, 3], "y": [2, 4, 6]},
    "sample": {"inputs": {"x": [1, 3]}, "measured": [2.5, 6], "predicted": [2, 6]},
}  # fmt: skip


@pytest.fixture
def fit(tmp_path: Path) -> str:
    folder = tmp_path / "fits" / "falls.y"
    folder.mkdir(parents=True)
    (folder / "formula.json").write_text(json.dumps(FIT))
    return str(folder)


def table(path: Path) -> list[list[str]]:
    return list(csv.reader(path.read_text(encoding="utf-8").splitlines()))


def test_figures_of_a_fit(fit: str, tmp_path: Path) -> None:
    out = tmp_path / "a.csv"
    assert main(["show", fit, "--figure", "predicted", "--out", str(out)]) == 0
    assert table(out) == [["measured", "predicted"], ["2.5", "2.0"], ["6.0", "6.0"]]


def test_the_comparison_of_two_runs(tmp_path: Path) -> None:
    out = tmp_path / "a.csv"
    args = ["--against", RUNS[1], "--figure", "compare-success", "--out", str(out)]
    assert main(["show", RUNS[0], *args]) == 0
    head, *rows = table(out)
    assert head == ["row", "column", "first", "second", "difference", "95 % intervals"]
    assert len(rows) == 207 and {row[-1] for row in rows} == {"agree"}


def test_what_a_fit_has_not(fit: str, capsys: pytest.CaptureFixture[str]) -> None:
    for args, sentence in (
        (["--figure", "fornt"], "did you mean front? Known: along, front, predicted."),
        ([], "is a fit; name one of its charts with --figure."),
        (["--figure", "front", "--against", RUNS[0]], "--against compares runs"),
    ):
        assert main(["show", fit, *args]) == 2
        assert sentence in capsys.readouterr().err
    assert main(["show", RUNS[0], "--figure", "compare-success"]) == 2
    assert "did you mean success?" in capsys.readouterr().err
