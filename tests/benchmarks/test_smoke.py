"""Every script of benchmarks/ runs, at a size that takes seconds."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
SCRIPTS = sorted(
    path.name for path in FOLDER.glob("*.py") if "__main__" in path.read_text(encoding="utf-8")
)


def test_all_scripts_are_here() -> None:
    assert {"fleet.py", "formulas.py", "geometric_attention.py", "ndr_step.py", "optimisers.py",
            "report.py", "two_layer.py"} <= set(SCRIPTS)  # fmt: skip


@pytest.mark.parametrize("script", SCRIPTS)
def test_runs_at_its_smoke_size(script: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", FOLDER / script, "--smoke"],
        cwd=tmp_path, capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert any(character.isdigit() for character in done.stdout)


def test_an_unknown_unit_is_one_sentence_with_the_nearest_names() -> None:
    done = subprocess.run(
        [sys.executable, FOLDER / "fleet.py", "--units", "nmuu"],
        capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("fleet.py: unknown unit 'nmuu'; did you mean nmu")
    assert done.stderr.count("\n") == 1
