"""Packing a run into a few small files that can be shipped."""

import lzma
from dataclasses import replace
from pathlib import Path

from wug.records.atomic import write_atomic
from wug.records.errors import RunFolderError
from wug.records.manifest import MANIFEST_NAME, holds_run
from wug.records.reader import CATALOG_NAME, PACKED_NAME, Run
from wug.records.schema import Record
from wug.records.segments import Problem, encode_segment
from wug.records.traces import FOLDER as TRACES
from wug.records.traces import SUFFIX, trace_path

MOST_TRACE_BYTES = 200_000


def pack_run(run: Run, destination: Path | str, *, curves: bool = True) -> list[Problem]:
    """Writes run.json, catalog.json, records.jsonl.xz and traces; `read_run` reads them as a run.

    The same records give the same bytes, in whatever order they were made.

    Args:
        run: The run.
        destination: The folder to write to; made if it is not there.
        curves: Whether the records keep their curves, which are most of their size.

    Returns:
        The traces that are left out, because they can't be read or are too large to ship.

    Raises:
        RunFolderError: The run is damaged, or the destination is an unpacked run folder.
        StorageError: The disk refuses.
    """
    destination = Path(destination)
    if holds_run(destination) and not (destination / PACKED_NAME).exists():
        raise RunFolderError(f"{destination} is a run folder: pack into another folder.")
    if problems := run.problems:
        raise RunFolderError(
            f"{run.folder} is damaged and can't be packed ({problems[0]}): run it again first."
        )

    def order(record: Record) -> str:
        return record.identity

    records = sorted(run.records(), key=order)
    if not curves:
        records = [replace(record, curves={}) for record in records]
    data = encode_segment(records)
    write_atomic(destination / PACKED_NAME, lzma.compress(data, preset=9))
    catalog = run.folder / CATALOG_NAME
    write_atomic(destination / CATALOG_NAME, catalog.read_bytes() if catalog.exists() else "{}\n")
    write_atomic(destination / MANIFEST_NAME, run.manifest.to_text())
    return _pack_traces(run, destination)


def _pack_traces(run: Run, destination: Path) -> list[Problem]:
    """Copies the traces that are whole and small, and removes those of an earlier packing."""
    traces, left_out = run.traces()
    kept = set()
    for trace in traces:
        path = trace_path(run.folder, trace.name)
        data = path.read_bytes()
        if len(data) > MOST_TRACE_BYTES:
            reason = f"left out, as {len(data) / 1e3:.0f} KB are too large to ship"
            left_out.append(Problem(path, None, reason))
            continue
        write_atomic(destination / TRACES / path.name, data)
        kept.add(path.name)
    for path in destination.glob(f"{TRACES}/*{SUFFIX}"):
        if path.name not in kept:
            path.unlink()
    return left_out
