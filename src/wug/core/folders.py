"""Where runs and our own reference results are."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from wug.core import index
from wug.core.errors import UserError

RUNS = Path("runs")
MANIFEST = "run.json"


def results_folder() -> Path:
    """Return the folder of our own results: in the package, or in a source checkout beside it."""
    package = Path(str(files("wug")))
    shipped = package / "_shipped"
    return shipped if shipped.is_dir() else package.parent.parent / "results"


def run_folder(experiment: str, scale: str, streams: str | None) -> Path:
    """Return where a run goes unless it is told: one folder per kind of run.

    Example:
        >>> run_folder("mistry2022.single_module", "laptop", None).as_posix()
        'runs/mistry2022.single_module/laptop'
    """
    return RUNS / experiment / (scale if streams is None else f"{scale}-{streams}")


def find_run(name: str) -> Path:
    """Resolve a folder or an experiment's key to a folder with a run.

    An experiment's own runs come first, the latest before older ones; then our shipped results.
    """
    folder = Path(name)
    if (folder / MANIFEST).exists():
        return folder
    known = {entry.key for entry in index.entries("experiment")}
    if folder.is_dir() and name not in known:
        raise UserError(f"{name} is a folder without a run: it has no {MANIFEST}.")
    index.entry("experiment", name)
    own = [path.parent for path in (RUNS / name).glob(f"*/{MANIFEST}")]
    shipped = [path.parent for path in (results_folder() / name).glob(f"*/{MANIFEST}")]
    candidates = sorted(own, key=lambda path: -(path / MANIFEST).stat().st_mtime) or sorted(shipped)
    if not candidates:
        raise UserError(f"{name} has not been run here yet: wug run {name}")
    return candidates[0]
