"""What the tutorial of wug fit says is what happens."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from wug.cli.main import main

TEXT = (Path(__file__).parents[2] / "docs" / "fit.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```$', TEXT, re.DOTALL | re.MULTILINE))


def run(name: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", BLOCKS[name]], cwd=folder, capture_output=True,
        text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run("nuclei.py", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(BLOCKS["fit"])[1:]) == 0
    shown = re.search(r"^```text\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
    assert shown is not None and shown[1] in capsys.readouterr().out
    assert main(shlex.split(BLOCKS["predict"])[1:]) == 0
    header, first, *_ = (tmp_path / "predicted.csv").read_text(encoding="utf-8").splitlines()
    assert header.endswith(",diagnosis,mean area_predicted")
    assert float(first.rsplit(",", 1)[1]) == pytest.approx(3.0968991321755 * 17.99**2)


def test_python(tmp_path: Path) -> None:
    assert run("own.py", tmp_path) == BLOCKS["own.py prints"]
