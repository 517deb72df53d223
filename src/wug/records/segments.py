"""A segment: many records in one file that is written once.

The first line names the format, counts the records and holds the configs and versions that the
records share, by hash; each further line is a record. Every line carries its own checksum.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wug.records.errors import RunFolderError
from wug.records.hashing import DamagedLineError, seal, unseal
from wug.records.schema import Record

FORMAT = 1


@dataclass(frozen=True)
class Problem:
    """Something in a file that can't be trusted; `line` counts from 1, None is the whole file."""

    path: Path
    line: int | None
    reason: str

    def __str__(self) -> str:
        where = self.path.name if self.line is None else f"{self.path.name}, line {self.line}"
        return f"{where}: {self.reason}"


@dataclass(frozen=True)
class Segment:
    """What could be read of a segment, and what could not."""

    records: tuple[Record, ...] = ()
    problems: tuple[Problem, ...] = ()


def check_format(found: object, path: Path) -> None:
    """Refuses files of another format version.

    Raises:
        RunFolderError: The version is not the one that this code reads.
    """
    if found != FORMAT:
        raise RunFolderError(
            f"{path} has format {found!r}, and this version of wug reads format {FORMAT}: "
            "use the version of wug that wrote it."
        )


def encode_segment(records: Sequence[Record]) -> bytes:
    """Writes records as a segment; the same records give the same bytes."""
    shared: dict[str, Any] = {}
    for record in records:
        shared.update(record.shared())
    header = seal({"wug_records": FORMAT, "count": len(records), "shared": shared})
    return header + b"".join(record.to_line() for record in records)


def decode_segment(data: bytes, path: Path) -> Segment:
    """Reads a segment, leaving out what is damaged.

    Args:
        data: The bytes of the segment.
        path: Where they come from.

    Raises:
        RunFolderError: The segment is sound but of another format version.
    """
    lines = data.removesuffix(b"\n").split(b"\n")
    try:
        header = unseal(lines[0])
    except DamagedLineError as error:
        reason = f"{error}; without this line the file's records can't be read"
        return Segment(problems=(Problem(path, 1, reason),))
    check_format(header.get("wug_records"), path)
    records: list[Record] = []
    problems: list[Problem] = []
    for number, line in enumerate(lines[1:], start=2):
        try:
            records.append(Record.from_line(line, header["shared"]))
        except DamagedLineError as error:
            problems.append(Problem(path, number, str(error)))
    missing = header["count"] - len(records) - len(problems)
    if missing > 0:
        reason = f"the file was cut: {missing} of its {header['count']} records are missing"
        problems.append(Problem(path, None, reason))
    return Segment(tuple(records), tuple(problems))
