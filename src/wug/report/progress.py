"""How far runs are, from the news that they leave in progress files.

News may be torn or stale and are never a source of results: they draw bars and growing curves, and
what is finished is shown by its records.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from wug.records import RunFolderError, read_run
from wug.records.files import plain_file
from wug.report.oddities import is_number
from wug.report.sources import MANIFEST, Place, named_folders

# Without news for so long, a run is said to be quiet: killed, or between two evaluations.
QUIET_SECONDS = 600.0
MOST_BYTES = 1_000_000
MOST_POINTS = 300
MOST_FINISHED = 50
STATES = ("running", "quiet", "finished")
COUNTS = ("step", "steps", "rate", "seconds", "replicas")


def read_news(path: Path) -> list[dict[str, float]]:
    """Return the rows of a lot's last training, numbers alone; torn lines are left out.

    A resumed or further training begins anew at an earlier step.
    """
    with suppress(OSError), path.open("rb") as file:
        file.seek(max(path.stat().st_size - MOST_BYTES, 0))
        rows: list[dict[str, float]] = []
        for line in file.read().splitlines():
            row = numbers(line)
            if "step" not in row or not row.get("steps", 0) > 0:
                continue
            if rows and row["step"] < rows[-1]["step"]:
                rows.clear()
            rows.append(row)
        return rows
    return []


def numbers(line: bytes) -> dict[str, float]:
    """Return the finite numbers of a line by name.

    Example:
        >>> numbers(b'{"step": 5, "train": NaN, "name": "x"}'), numbers(b'{"ste')
        ({'step': 5.0}, {})
    """
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    items = fields.items() if isinstance(fields, dict) else ()
    return {str(name): float(value) for name, value in items if is_number(value)}


def curves_of(rows: Sequence[Mapping[str, float]]) -> dict[str, list[tuple[float, float]]]:
    """Return what beside counts is in the rows, against the step, with not too many points.

    Example:
        >>> curves_of([{"step": 1.0, "steps": 9.0, "train": 0.5}])
        {'train': [(1.0, 0.5)]}
    """
    # Between two evaluations there are counts alone.
    told = [row for row in rows if row.keys() - COUNTS]
    stride = math.ceil(len(told) / MOST_POINTS)
    thin = [row for place, row in enumerate(reversed(told)) if place % stride == 0][::-1]
    names = dict.fromkeys(name for row in thin for name in row if name not in COUNTS)
    return {name: [(row["step"], row[name]) for row in thin if name in row] for name in names}


@dataclass
class Watch:
    """Looks at the runs of some folders again and again; what has not changed is not read again.

    Args:
        roots: The folders; those that are not there yet may come.
    """

    roots: Sequence[Path]
    _news: dict[Path, tuple[tuple[int, int], dict[str, Any]]] = field(default_factory=dict)

    def folders(self) -> Iterator[tuple[str, Path, str]]:
        """Yield id, folder and name of each run that has left news."""
        for mark, place in self._places():
            yield mark, place.folder, place.name

    def _places(self) -> Iterator[tuple[str, Place]]:
        for place in named_folders(root for root in self.roots if root.is_dir()):
            if place.what == MANIFEST and (place.folder / "progress").is_dir():
                mark = sha256(str(place.folder).encode("utf-8", "surrogateescape")).hexdigest()[:16]
                yield mark, place

    def runs(self, now: float) -> list[dict[str, Any]]:
        """Return how far each run is, as plain data: those at work first, then the latest.

        Args:
            now: Seconds since 1970.
        """
        every = (self._run(mark, place, now) for mark, place in self._places())
        found = [run for run in every if run is not None]
        found.sort(key=lambda run: (STATES.index(run["state"]), -run["news"]))
        busy = sum(run["state"] != "finished" for run in found)
        return found[: busy + MOST_FINISHED]

    def _run(self, mark: str, place: Place, now: float) -> dict[str, Any] | None:
        folder = place.folder
        try:
            experiment = str(read_run(folder, place.root).experiment)
        except (RunFolderError, OSError):  # the overview names it
            return None
        written = latest(folder.glob("records/*.jsonl"))
        lots = [
            self._lot(path, written, now)
            for path in sorted(folder.glob("progress/*.jsonl"))
            if is_inside(path, place.root)
        ]
        lots = [lot for lot in lots if lot]
        if not lots:
            return None
        news = max(lot["news"] for lot in lots)
        done = changed(folder / "catalog.json") >= news
        return {
            "id": mark,
            "name": place.name,
            "experiment": experiment,
            "state": state_of(done, news, now),
            "news": news,
            "has_records": bool(written),
            "lots": [] if done else lots,
        }

    def _lot(self, path: Path, written: Mapping[str, float], now: float) -> dict[str, Any]:
        try:
            stat = path.stat()
        except OSError:
            return {}
        version = (stat.st_size, stat.st_mtime_ns)
        if self._news.get(path, (None,))[0] != version:
            rows = read_news(path)
            counts = {name: rows[-1].get(name, 0.0) for name in COUNTS} if rows else {}
            self._news[path] = version, counts and {**counts, "curves": curves_of(rows)}
        news = self._news[path][1]
        if not news:
            return {}
        done = written.get(path.stem, 0.0) >= stat.st_mtime
        return {
            **news,
            "lot": path.stem,
            "state": state_of(done, stat.st_mtime, now),
            "news": stat.st_mtime,
            "curves": {} if done else news["curves"],
        }


def state_of(done: bool, news: float, now: float) -> str:
    """Return one of `STATES`.

    Example:
        >>> state_of(False, 100.0, 110.0), state_of(False, 100.0, 9000.0)
        ('running', 'quiet')
    """
    return "finished" if done else "quiet" if now - news > QUIET_SECONDS else "running"


def is_inside(path: Path, root: Path) -> bool:
    """Say whether a path is a file that no link leads out of a folder."""
    try:
        plain_file(path, root)
    except OSError:
        return False
    return True


def changed(path: Path) -> float:
    """Return when a file changed; 0 if it is not there."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def latest(segments: Iterable[Path]) -> dict[str, float]:
    """Return for each lot when its last records were written: 000001-<lot>-<hash>.jsonl."""
    times: dict[str, float] = {}
    for path in segments:
        lot = path.stem.split("-", 1)[-1].rsplit("-", 1)[0]
        times[lot] = max(times.get(lot, 0.0), changed(path))
    return times
