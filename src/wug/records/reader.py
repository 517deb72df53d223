"""Reading a run: a folder that is being written to, a finished one, or a packed one."""

import lzma
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from wug.records.errors import RunFolderError
from wug.records.files import parse_json, plain_file, read_plain, reason_of
from wug.records.hashing import Json
from wug.records.manifest import Manifest
from wug.records.schema import Record
from wug.records.segments import Problem, Segment, decode_segment
from wug.records.traces import Trace, read_traces, trace_path
from wug.records.unpacking import TooMuchError, unpack_xz

CATALOG_NAME = "catalog.json"
PACKED_NAME = "records.jsonl.xz"
SMOKE = "smoke"
SCALE_IN_COMMAND = re.compile(r"--scale[ =]([a-z]+)|\bscale='([a-z]+)'")
SEGMENT_NAME = re.compile(r"([0-9]{6,})-.+-[0-9a-f]{16}\.jsonl")
_FIELDS = frozenset(field.name for field in fields(Record))


class Run:
    """A run folder, read only; a folder made by `pack_run` looks the same.

    Segments never change once they are written, so each is read once: asking again is cheap and
    sees what other processes have added meanwhile.

    Args:
        folder: The folder.
        manifest: What it is about.
        within: A resolved folder that links may not lead out of; None lets them lead anywhere.
    """

    def __init__(self, folder: Path, manifest: Manifest, within: Path | None = None) -> None:
        self.folder = folder
        self.manifest = manifest
        self.within = within
        self._read: dict[Path, tuple[tuple[int, ...], Segment]] = {}
        self._identities: dict[Path, list[str]] = {}
        self._finished: set[str] = set()
        self._news: dict[str, tuple[tuple[int, int], dict[str, Any] | None]] = {}

    @property
    def experiment(self) -> str:
        """The key of the experiment."""
        return self.manifest.experiment

    @property
    def settings(self) -> Mapping[str, Json]:
        """The resolved settings of the run."""
        return self.manifest.settings

    @property
    def scale(self) -> str:
        """The scale that it was trained at, such as laptop; empty if nothing says it."""
        said: Any = None
        with suppress(RunFolderError, AttributeError):  # a damaged catalog says nothing
            catalog = self.catalog()
            said = catalog.get("scale")
            if not said and (found := SCALE_IN_COMMAND.search(str(catalog.get("command")))):
                said = found[1] or found[2]
        if not isinstance(said, str):
            said = self.settings.get("scale")
        # One that is under way has no catalog yet.
        return said if isinstance(said, str) else self.folder.resolve().name.split("-")[0]

    @property
    def is_smoke(self) -> bool:
        """Whether it only shows that everything runs; its numbers mean nothing."""
        return self.scale == SMOKE

    @property
    def problems(self) -> list[Problem]:
        """What can't be read and is left out."""
        found = [problem for _, segment in self._segments() for problem in segment.problems]
        folder = self.folder / "records"
        try:
            if os.path.lexists(folder):
                os.listdir(folder)
        except OSError as error:
            found.append(Problem(folder, None, f"the folder can't be read ({reason_of(error)})"))
        return found

    def records(self) -> Iterator[Record]:
        """Gives the records that can be read, their outcomes in the schema of today."""
        return (record.modernised() for record in self.stored())

    def stored(self) -> Iterator[Record]:
        """Gives the records as their lines hold them; of two with one identity, the older."""
        seen: set[str] = set()
        for _, segment in self._segments():
            for record in segment.records:
                identity = record.identity
                if identity not in seen:
                    seen.add(identity)
                    yield record

    def finished(self) -> set[str]:
        """Gives the identities of all records; asked again, it reads only what is new."""
        paths = self._segment_paths()
        if not self._identities.keys() <= set(paths):  # a writer has set something aside
            self._identities, self._finished = {}, set()
        for path, segment in self._segments([p for p in paths if p not in self._identities]):
            found = [record.identity for record in segment.records]
            self._finished.update(found)
            if not segment.problems:
                self._identities[path] = found
        return set(self._finished)

    @property
    def duplicates(self) -> list[Problem]:
        """The records that don't count, because an older one has their identity."""
        seen: dict[str, Record] = {}
        found = []
        for path, segment in self._segments():
            for record in segment.records:
                first = seen.setdefault(record.identity, record)
                if first is not record:
                    reason = (
                        f"a second record of {record.identity}{_by(record)}; the first"
                        f"{_by(first)} counts"
                    )
                    found.append(Problem(path, None, reason))
        return found

    def last_day(self) -> str:
        """Gives the day on which the last records were written, such as 2026-01-31 in UTC.

        It is the time of a file, so of packed or no records there is none: an empty text.
        """
        times = []
        for path in self._segment_paths():
            with suppress(OSError):
                if path.name != PACKED_NAME:
                    times.append(plain_file(path, self.within).stat().st_mtime)
        try:
            return datetime.fromtimestamp(max(times), UTC).strftime("%Y-%m-%d") if times else ""
        except (OSError, OverflowError, ValueError):  # in a year that calendars don't have
            return ""

    def catalog(self) -> Any:
        """Gives what the report needs beside the records; an empty dict if there is none.

        Raises:
            RunFolderError: The catalog is damaged or can't be read.
        """
        path = self.folder / CATALOG_NAME
        try:
            return parse_json(read_plain(path, self.within))
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise RunFolderError(f"{path} can't be read: {reason_of(error)}.") from error
        except ValueError as error:
            raise RunFolderError(
                f"{path} is damaged ({error}): run the experiment again, it rewrites this file."
            ) from error

    def progress(self) -> dict[str, dict[str, Any]]:
        """Gives the last whole line of each lot's progress file; reads only what has changed."""
        for path in sorted(self.folder.glob("progress/*.jsonl")):
            with suppress(OSError):
                stat = path.stat()
                version = (stat.st_size, stat.st_mtime_ns)
                if self._news.get(path.stem, (None,))[0] != version:
                    self._news[path.stem] = (version, _last_object(path))
        return {lot: fields for lot, (_, fields) in self._news.items() if fields is not None}

    def traces(self) -> tuple[list[Trace], list[Problem]]:
        """Gives what happened inside the run's networks, and the files that can't be read."""
        traces, problems = read_traces(self.folder)
        kept = []
        for trace in traces:
            path = trace_path(self.folder, trace.name)
            try:
                plain_file(path, self.within)
                kept.append(trace)
            except OSError as error:
                problems.append(Problem(path, None, _unread(error)))
        return kept, problems

    def _segment_paths(self) -> list[Path]:
        """Gives the files that hold records, oldest first: their names start with a number."""
        found = (
            (segment_number(path), path)
            for path in self.folder.glob("records/*.jsonl")
            if SEGMENT_NAME.fullmatch(path.name)
        )
        paths = [path for _, path in sorted(found)]
        packed = self.folder / PACKED_NAME
        return [packed, *paths] if os.path.lexists(packed) else paths

    def _segments(self, paths: list[Path] | None = None) -> Iterator[tuple[Path, Segment]]:
        for path in self._segment_paths() if paths is None else paths:
            try:
                file = plain_file(path, self.within)
                stat = file.stat()
                version = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
                if path not in self._read or self._read[path][0] != version:
                    self._read[path] = (version, _read_segment(path, file.read_bytes()))
            except FileNotFoundError:  # a writer has set it aside since we listed the folder
                continue
            except OSError as error:
                yield path, _unusable(path, _unread(error))
            else:
                yield path, self._read[path][1]


def read_run(folder: Path | str, within: Path | None = None) -> Run:
    """Opens a run folder or a packed folder for reading.

    Args:
        folder: The folder.
        within: A resolved folder that links may not lead out of; None lets them lead anywhere.

    Raises:
        RunFolderError: The folder holds no run, a damaged one, or one of another format.
    """
    return Run(Path(folder), Manifest.read(Path(folder), within), within)


def segment_number(path: Path) -> int:
    """Gives the number that a segment's name starts with: microseconds, or a count in old runs."""
    return int(path.name.partition("-")[0])


def _by(record: Record) -> str:
    """Says who made a record, if it does."""
    if not isinstance(record.origin, Mapping) or not record.origin:
        return ""
    return f" by {record.origin.get('host')}, token {record.origin.get('token')},"


def _last_object(path: Path) -> dict[str, Any] | None:
    with suppress(OSError):
        for line in reversed(read_plain(path).splitlines()):
            with suppress(ValueError):
                found = parse_json(line)
                if isinstance(found, dict):
                    return found
    return None


def _read_segment(path: Path, data: bytes) -> Segment:
    if path.name == PACKED_NAME:
        try:
            data = unpack_xz(data)
        except (lzma.LZMAError, EOFError, TooMuchError) as error:
            return _unusable(path, f"the file can't be unpacked ({error})")
    try:
        segment = decode_segment(data, path)
    except RunFolderError:  # of another format
        raise
    # The checksum of a line says that nobody altered it, not that we wrote it.
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        return _unusable(path, f"the file holds no records of ours ({error!r})")
    good = tuple(record for record in segment.records if _has_identity(record))
    if bad := len(segment.records) - len(good):
        problem = Problem(path, None, f"records that lack a field or a key are left out: {bad}")
        return Segment(good, (*segment.problems, problem))
    return segment


def _has_identity(record: Record) -> bool:
    """Tells whether a record has all fields, and a key that can be spelled."""
    try:
        return record.__dict__.keys() >= _FIELDS and bool(record.identity)
    except (TypeError, ValueError, RecursionError):
        return False


def _unread(error: OSError) -> str:
    return f"the file can't be read ({reason_of(error)})"


def _unusable(path: Path, reason: str) -> Segment:
    return Segment(problems=(Problem(path, None, reason),))
