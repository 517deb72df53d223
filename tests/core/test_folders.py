"""Finding runs: folders, experiments, shipped results."""

import os
from pathlib import Path

import pytest

from wug.core.errors import UserError
from wug.core.folders import find_run, results_folder, run_folder
from wug.records import RunStore

EXPERIMENT = "mistry2022.single_module"


def test_a_folder_with_a_run_is_itself(tmp_path: Path) -> None:
    RunStore.open(tmp_path / "run", "demo", {})
    assert find_run(str(tmp_path / "run")) == tmp_path / "run"


def test_the_latest_own_run_comes_before_shipped_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shipped = find_run(EXPERIMENT)
    assert shipped.is_relative_to(results_folder())
    for age, scale in enumerate(("smoke", "laptop")):
        folder = run_folder(EXPERIMENT, scale, None)
        RunStore.open(folder, EXPERIMENT, {"scale": scale})
        os.utime(folder / "run.json", (age, age))
    assert find_run(EXPERIMENT) == run_folder(EXPERIMENT, "laptop", None)


def test_a_folder_without_a_run_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="folder without a run"):
        find_run(str(tmp_path))


def test_streams_have_a_folder_of_their_own() -> None:
    assert run_folder(EXPERIMENT, "paper", "shared").name == "paper-shared"
