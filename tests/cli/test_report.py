"""wug report and the figures of wug show, as a person meets them."""

import subprocess
import sys
from pathlib import Path

import pytest

from wug.cli.main import main
from wug.core.folders import results_folder

RUN = results_folder() / "madsen2020.four_inputs" / "paper"


def test_report_writes_a_site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "site"
    assert main(["report", str(RUN), "--out", str(out)]) == 0
    assert capsys.readouterr().out.startswith(f"wrote {out / 'index.html'} (")
    assert (out / "run-madsen2020.four_inputs~paper.html").exists()
    # The run's catalog knows its units, the index the rest.
    assert "prod" in (out / "unit-nmu.html").read_text(encoding="utf-8")


def test_report_needs_no_torch(tmp_path: Path) -> None:
    code = "import sys; from wug.cli.main import main; sys.exit(main() or 'torch' in sys.modules)"
    command = [sys.executable, "-c", code, "report", str(RUN), "--out", str(tmp_path / "site")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


def test_report_as_one_file(tmp_path: Path) -> None:
    out = tmp_path / "all.html"
    assert main(["report", str(RUN), "--out", str(out), "--single-file"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["all.html"]


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("report", "nowhere"), "nowhere is not a folder"),
        (("show", str(RUN), "--figure", "sucess"), "did you mean success"),
        (("show", str(RUN), "--figure", "success", "--out", "x.doc"), "must be one of .svg"),
        (("show", str(RUN), "--out", "x.svg"), "name one with --figure"),
    ],
)
def test_bad_input_is_one_sentence(
    args: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(list(args)) == 2
    error = capsys.readouterr().err
    assert sentence in error and error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_results_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    assert main(["report", "empty", "--out", "site"]) == 2
    assert capsys.readouterr().err == "wug: report: there is neither a run nor a fit in empty.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


def test_figures_are_written(tmp_path: Path) -> None:
    starts = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF", "csv": b"row,column,ours"}
    for kind, start in starts.items():
        if kind != "csv":
            pytest.importorskip("vl_convert")
        path = tmp_path / f"a.{kind}"
        assert main(["show", str(RUN), "--figure", "success", "--out", str(path)]) == 0
        assert path.read_bytes().startswith(start)
