"""Packing a run into three small files that can be shipped."""

import lzma
from dataclasses import replace
from pathlib import Path

from wug.records.atomic import write_atomic
from wug.records.errors import RunFolderError
from wug.records.manifest import MANIFEST_NAME, holds_run
from wug.records.reader import CATALOG_NAME, PACKED_NAME, Run
from wug.records.schema import Record
from wug.records.segments import encode_segment


def pack_run(run: Run, destination: Path | str, *, curves: bool = True) -> None:
    """Writes run.json, catalog.json and records.jsonl.xz, which `read_run` reads like any run.

    The same records give the same bytes, in whatever order they were made.

    Args:
        run: The run.
        destination: The folder to write to; made if it is not there.
        curves: Whether the records keep their curves, which are most of their size.

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
