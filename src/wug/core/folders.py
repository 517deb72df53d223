"""Where runs and our own reference results are."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from wug.core import index
from wug.core.errors import UserError
from wug.core.paths import cache_folder
from wug.records import RunFolderError, read_run

RUNS = Path("runs")
MANIFEST = "run.json"
LISTING = "files.json"


class Listed(NamedTuple):
    """A file of our results, as a wheel knows it.

    Args:
        path: Below the folder of the results.
        size: In bytes.
        sha256: Its checksum.
    """

    path: str
    size: int
    sha256: str


def shipped_folder() -> Path:
    """Return where a wheel has our results; there is no such folder in a source checkout."""
    return Path(str(files("wug"))) / "_shipped"


def listed_results() -> tuple[str, tuple[Listed, ...]]:
    """Return where all files of our results can be had, empty if nobody knows, and which these are.

    Of a source checkout, which has them, nothing is listed.
    """
    try:
        data = json.loads((shipped_folder() / LISTING).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return "", ()
    return data["home"], tuple(Listed(**file) for file in data["files"])


def full_results_folder() -> Path:
    """Return where ``wug data get results`` puts our results with curves and traces."""
    return cache_folder() / "data" / "results"


def results_folder() -> Path:
    """Return the folder of our own results: in full if they are here, else as they ship.

    In a source checkout they are beside the package, and whole.
    """
    shipped = shipped_folder()
    if not shipped.is_dir():
        return shipped.parent.parent.parent / "results"
    full = full_results_folder()
    if full.is_dir() and all(has_size(full / f.path, f.size) for f in listed_results()[1]):
        return full
    return shipped


def has_size(path: Path, size: int) -> bool:
    """Say whether there is a file of this size."""
    return path.is_file() and path.stat().st_size == size


def run_folder(experiment: str, scale: str, streams: str | None) -> Path:
    """Return where a run goes unless it is told: one folder per kind of run.

    Example:
        >>> run_folder("mistry2022.single_module", "laptop", None).as_posix()
        'runs/mistry2022.single_module/laptop'
    """
    return RUNS / experiment / (scale if streams is None else f"{scale}-{streams}")


def own_runs(experiment: str) -> list[Path]:
    """Return the runs of an experiment below the current folder, the latest first."""
    found = [path.parent for path in (RUNS / experiment).glob(f"*/{MANIFEST}")]
    return sorted(found, key=lambda path: -(path / MANIFEST).stat().st_mtime)


def shipped_runs(experiment: str) -> list[Path]:
    """Return our own results of an experiment, the main ones first."""
    return sorted(path.parent for path in (results_folder() / experiment).glob(f"*/{MANIFEST}"))


def find_run(name: str) -> Path:
    """Resolve a folder or an experiment's key to a folder with a run.

    An experiment's own runs come first, the latest before older ones; then our shipped results. A
    smoke run, which says nothing, is what is left.
    """
    folder = Path(name)
    if (folder / MANIFEST).exists():
        return folder
    known = {entry.key for entry in index.entries("experiment")}
    if folder.is_dir() and name not in known:
        raise UserError(f"{name} is a folder without a run: it has no {MANIFEST}.")
    index.entry("experiment", name)
    own = own_runs(name)
    smoke = [path for path in own if is_smoke(path)]
    candidates = [*(path for path in own if path not in smoke), *shipped_runs(name), *smoke]
    if not candidates:
        raise UserError(f"{name} has not been run here yet: wug run {name}")
    return candidates[0]


def is_smoke(folder: Path) -> bool:
    """Say whether a run only shows that everything runs; one that can't be read does not."""
    try:
        return read_run(folder).is_smoke
    except RunFolderError:
        return False
