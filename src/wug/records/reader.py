"""Reading a run: a folder that is being written to, a finished one, or a packed one."""

import json
import lzma
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from wug.records.errors import RunFolderError
from wug.records.hashing import Json
from wug.records.manifest import Manifest
from wug.records.schema import Record
from wug.records.segments import Problem, Segment, decode_segment
from wug.records.traces import Trace, read_traces

CATALOG_NAME = "catalog.json"
PACKED_NAME = "records.jsonl.xz"
SEGMENT_NAME = re.compile(r"\d{6}-.+-[0-9a-f]{16}\.jsonl")


class Run:
    """A run folder, read only; a folder made by `pack_run` looks the same.

    Segments never change once they are written, so each is read once: asking again is cheap and
    sees what other processes have added meanwhile.

    Args:
        folder: The folder.
        manifest: What it is about.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        self._read: dict[Path, tuple[tuple[int, ...], Segment]] = {}

    @property
    def experiment(self) -> str:
        """The key of the experiment."""
        return self.manifest.experiment

    @property
    def settings(self) -> Mapping[str, Json]:
        """The resolved settings of the run."""
        return self.manifest.settings

    @property
    def problems(self) -> list[Problem]:
        """What can't be read and is left out."""
        return [problem for _, segment in self._segments() for problem in segment.problems]

    def records(self) -> Iterator[Record]:
        """Gives the records that can be read; of two with one identity, the older."""
        seen: set[str] = set()
        for _, segment in self._segments():
            for record in segment.records:
                identity = record.identity
                if identity not in seen:
                    seen.add(identity)
                    yield record

    def finished(self) -> set[str]:
        """Gives the identities of all records."""
        return {record.identity for record in self.records()}

    def catalog(self) -> Any:
        """Gives what the report needs beside the records; an empty dict if there is none.

        Raises:
            RunFolderError: The catalog is damaged.
        """
        path = self.folder / CATALOG_NAME
        try:
            return json.loads(path.read_bytes())
        except FileNotFoundError:
            return {}
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise RunFolderError(
                f"{path} is damaged ({error}): run the experiment again, it rewrites this file."
            ) from error

    def progress(self) -> dict[str, dict[str, Any]]:
        """Gives the last whole line of each lot's progress file."""
        paths = sorted(self.folder.glob("progress/*.jsonl"))
        latest = {path.stem: _last_object(path) for path in paths}
        return {lot: fields for lot, fields in latest.items() if fields is not None}

    def traces(self) -> tuple[list[Trace], list[Problem]]:
        """Gives what happened inside the run's networks, and the files that can't be read."""
        return read_traces(self.folder)

    def _segment_paths(self) -> list[Path]:
        """Gives the files that hold records, oldest first: their names start with a number."""
        paths = [p for p in self.folder.glob("records/*.jsonl") if SEGMENT_NAME.fullmatch(p.name)]
        packed = self.folder / PACKED_NAME
        return [packed, *sorted(paths)] if packed.exists() else sorted(paths)

    def _segments(self) -> Iterator[tuple[Path, Segment]]:
        for path in self._segment_paths():
            try:
                stat = path.stat()
                version = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
                if path not in self._read or self._read[path][0] != version:
                    self._read[path] = (version, _read_segment(path))
            except FileNotFoundError:  # a writer has set it aside since we listed the folder
                continue
            yield path, self._read[path][1]


def read_run(folder: Path | str) -> Run:
    """Opens a run folder or a packed folder for reading.

    Raises:
        RunFolderError: The folder holds no run, a damaged one, or one of another format.
    """
    return Run(Path(folder), Manifest.read(Path(folder)))


def _last_object(path: Path) -> dict[str, Any] | None:
    with suppress(FileNotFoundError):
        for line in reversed(path.read_bytes().splitlines()):
            with suppress(ValueError):
                fields = json.loads(line)
                if isinstance(fields, dict):
                    return fields
    return None


def _read_segment(path: Path) -> Segment:
    data = path.read_bytes()
    if path.name == PACKED_NAME:
        try:
            data = lzma.decompress(data)
        except (lzma.LZMAError, EOFError) as error:
            return Segment(problems=(Problem(path, None, f"the file can't be unpacked ({error})"),))
    return decode_segment(data, path)
