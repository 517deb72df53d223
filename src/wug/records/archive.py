"""Packing a run into a few small files that can be shipped, and going on from such a one."""

import lzma
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from wug.records.atomic import write_atomic
from wug.records.errors import ConfigMismatchError, RunFolderError
from wug.records.files import plain_file, read_plain, reason_of
from wug.records.hashing import Json
from wug.records.manifest import MANIFEST_NAME, Manifest, holds_run
from wug.records.reader import CATALOG_NAME, PACKED_NAME, Run
from wug.records.schema import Record
from wug.records.segments import Problem, encode_segment
from wug.records.store import RunStore
from wug.records.traces import FOLDER as TRACES
from wug.records.traces import SUFFIX, trace_path

MODELS = "models"
MOST_TRACE_BYTES = 400_000
MOST_MODEL_BYTES = 3_000_000


def pack_run(
    run: Run, destination: Path | str, *, curves: bool = True, weights: bool = True,
    digits: int | None = None, models: Collection[str] = (),
) -> list[Problem]:  # fmt: skip
    """Writes run.json, catalog.json, records.jsonl.xz and traces; `read_run` reads them as a run.

    The same records give the same bytes, in whatever order they were made.

    Args:
        run: The run.
        destination: The folder to write to; made if it is not there.
        curves: Whether the records keep their curves, which are most of their size.
        weights: Whether the records keep the weights of small networks.
        digits: To how many significant digits the numbers of outcomes are rounded, if at all.
        models: Names of trained networks to take along; each may have 3 MB.

    Returns:
        The traces that are left out, because they can't be read or are too large to ship.

    Raises:
        RunFolderError: The run is damaged, it has no such network, or the destination is an
            unpacked run folder.
        StorageError: The disk refuses.
    """
    destination = Path(destination)
    if holds_run(destination) and not (destination / PACKED_NAME).exists():
        raise RunFolderError(f"{destination} is a run folder: pack into another folder.")
    if problems := run.problems:
        raise RunFolderError(
            f"{run.folder} is damaged and can't be packed ({problems[0]}): run it again first."
        )
    networks = [_model(run, name) for name in models]
    catalog = _catalog(run)

    def order(record: Record) -> str:
        return record.identity

    # A line is never rewritten, but who wrote it is nobody's business elsewhere.
    records = sorted((record.without_origin() for record in run.stored()), key=order)
    if not curves:
        records = [replace(record, curves={}) for record in records]
    if not weights:
        records = [replace(record, outcome=_without_weights(record.outcome)) for record in records]
    if digits is not None:
        records = [replace(r, outcome=_rounded(dict(r.outcome), digits)) for r in records]
    try:
        data = encode_segment(records)
    except (TypeError, ValueError) as error:  # sealed by others, and read as it was
        raise RunFolderError(f"{run.folder} holds a record that can't be packed: {error}") from None
    write_atomic(destination / PACKED_NAME, lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))
    write_atomic(destination / CATALOG_NAME, catalog)
    write_atomic(destination / MANIFEST_NAME, run.manifest.to_text())
    _copy(networks, destination / MODELS)
    traces, left_out = run.traces()
    small = []
    for path in (trace_path(run.folder, trace.name) for trace in traces):
        if (size := path.stat().st_size) <= MOST_TRACE_BYTES:
            small.append(path)
        else:
            reason = f"left out, as {size / 1e3:.0f} KB are too large to ship"
            left_out.append(Problem(path, None, reason))
    _copy(small, destination / TRACES)
    return left_out


def require_alike(run: Run, wanted: Manifest) -> None:
    """Refuses a run whose trainings can't be taken over.

    Args:
        run: A packed run, or a run folder.
        wanted: What the run is about that would take them over.

    Raises:
        ConfigMismatchError: The run is of another experiment or has other settings.
    """
    if difference := run.manifest.differs(wanted):
        raise ConfigMismatchError(
            f"{run.folder} holds {difference}: only trainings like those of this run can be taken "
            "over."
        )


def take_over(store: RunStore, run: Run) -> int:
    """Adds what another run of the same settings has and this one has not.

    Args:
        store: Where to; its own records and files stay.
        run: A packed run, or a run folder.

    Returns:
        How many records were added.

    Raises:
        ConfigMismatchError: The run is of another experiment or has other settings.
        StorageError: The disk refuses.
    """
    require_alike(run, store.manifest)
    known = store.finished()
    found = [record for record in run.stored() if record.identity not in known]
    for kind in (MODELS, TRACES):
        for path in sorted(run.folder.glob(f"{kind}/[!.]*{SUFFIX}")):
            if not (store.folder / kind / path.name).exists():
                write_atomic(store.folder / kind / path.name, read_plain(path, run.within))
    store.append("taken-over", found)
    return len(found)


def _without_weights(outcome: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in outcome.items() if name != "weights"}


def _rounded(value: Any, digits: int) -> Any:
    """Rounds all numbers with a point in plain data.

    Example:
        >>> _rounded({"a": [0.123456, 7, "1.23456"]}, 3)
        {'a': [0.123, 7, '1.23456']}
    """
    if isinstance(value, Mapping):
        return {name: _rounded(part, digits) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(part, digits) for part in value]
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def _catalog(run: Run) -> bytes:
    """Reads the catalog as it is; that of a run that has none is empty."""
    path = run.folder / CATALOG_NAME
    try:
        return read_plain(path, run.within)
    except FileNotFoundError:
        return b"{}\n"
    except OSError as error:
        raise RunFolderError(f"{path} can't be read: {reason_of(error)}.") from error


def _model(run: Run, name: str) -> Path:
    """Gives the file of a trained network that can be shipped."""
    known = {path.stem: path for path in sorted(run.folder.glob(f"{MODELS}/[!.]*{SUFFIX}"))}
    if name not in known:
        raise RunFolderError(
            f"{run.folder} has no network {name!r}; it has {', '.join(known) or 'none'}."
        )
    try:
        size = plain_file(known[name], run.within).stat().st_size
    except OSError as error:
        raise RunFolderError(f"{known[name]} can't be read: {reason_of(error)}.") from error
    if size > MOST_MODEL_BYTES:
        raise RunFolderError(
            f"{known[name]} is too large to ship: {size / 1e6:.1f} MB; "
            f"{MOST_MODEL_BYTES / 1e6:.0f} MB are the most."
        )
    return known[name]


def _copy(paths: Collection[Path], folder: Path) -> None:
    """Copies files, and removes what an earlier packing left beside them."""
    for path in paths:
        write_atomic(folder / path.name, path.read_bytes())
    for path in folder.glob(f"*{SUFFIX}"):
        if path.name not in {kept.name for kept in paths}:
            path.unlink()
