"""The wheel holds the package and nothing else, and what it holds works."""

import os
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

import wug

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(find_spec("hatchling") is None, reason="hatchling is not installed")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a wheel that was built from this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(folder / "files")
    return folder / "files"


def test_there_is_one_folder_to_import(unpacked: Path) -> None:
    assert {path.name for path in unpacked.iterdir()} == {
        "wug", f"wug-{wug.__version__}.dist-info",
    }  # fmt: skip


def test_every_file_of_the_package_is_there(unpacked: Path) -> None:
    package = ROOT / "src" / "wug"
    ours = {
        path.relative_to(package)
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    theirs = {path.relative_to(unpacked / "wug") for path in (unpacked / "wug").rglob("*.*")}
    assert ours - theirs == set()
    assert {path for path in theirs - ours if path.parts[0] != "_shipped"} == set()


@pytest.mark.parametrize("args", [("list", "units"), ("data", "list"), ("cite", "nmu")])
def test_it_runs(unpacked: Path, args: tuple[str, ...], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "wug", *args],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(unpacked)},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout
