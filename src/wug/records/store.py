"""The writing side of a run folder: killed or crowded, it stays whole.

    run.json                            which experiment, which settings; written once
    catalog.json                        what the report needs beside the records
    records/<number>-<lot>-<hash>.jsonl a segment of records, written once
    aside/                              damaged segments as they were found, with the reasons
    locks/<lot>.lease                   held by whoever works on the lot, see leases.py
    checkpoints/<lot>.safetensors       where the lot can go on
    progress/<lot>.jsonl                news for people, possibly torn, never a source of results

A *lot* is what one process works on at a time; machines may share the folder. Whoever works on a
lot holds its lease, and its checkpoint is theirs. A holder that was frozen past its lease and woke
up may still write: a checkpoint is whole whoever wrote it, and of two records with one identity one
counts (the other is named). Segments have names of their own, so records are added without a lock
and without looking at what is there. What changes other files holds the lease of the folder. A
writer whose temporary file was taken for that of a dead one writes it again.
"""

import errno
import json
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import ClassVar, Self

from wug.records.atomic import remove_leftovers, write_atomic
from wug.records.errors import RunFolderError, StorageError
from wug.records.files import read_plain, reason_of
from wug.records.hashing import Json, digest, dump_json, plain_json
from wug.records.leases import LEASE_SECONDS, Claim, Leases, last_beat
from wug.records.manifest import MANIFEST_NAME, Manifest, holds_run
from wug.records.reader import CATALOG_NAME, PACKED_NAME, Run
from wug.records.schema import Record
from wug.records.segments import Problem, encode_segment
from wug.records.traces import FOLDER as TRACES

PATIENCE_SECONDS = 2 * LEASE_SECONDS

_LOT_NAME = re.compile(r"[a-z0-9_]+(?:[.-][a-z0-9_]+)*")
_MAX_LOT_NAME = 100
LEASE = ".lease"


class RunStore(Run):
    """A run folder that records can be added to; made by `RunStore.open`.

    Attributes:
        set_aside: The damage that was found at opening and moved to aside/; the records in
            question are gone from the run and have to be made again.
        durable: Whether manifest and records must outlive a power cut.
    """

    set_aside: tuple[Problem, ...] = ()
    durable: ClassVar[bool] = True

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        super().__init__(folder, manifest)
        self._leases = Leases()
        self._number = 0

    @classmethod
    def open(cls, folder: Path | str, experiment: str, settings: Mapping[str, Json]) -> Self:
        """Makes a run folder, or opens one to go on.

        Args:
            folder: The folder; made if it is not there.
            experiment: The experiment's key.
            settings: Its resolved settings, as JSON.

        Raises:
            ConfigMismatchError: The folder holds another experiment or other settings.
            RunFolderError: The folder's run is packed, damaged, or of another format.
            StorageError: The folder can't be written to.
            TypeError: A setting has no JSON form.
        """
        folder = Path(folder)
        store = cls(folder, Manifest.make(experiment, settings))
        _refuse_packed(folder)
        if not (folder / MANIFEST_NAME).exists():
            with _folder_lease(folder):
                store._begin()
        Manifest.read(folder).require(store.manifest, folder)
        for name in (MANIFEST_NAME, CATALOG_NAME, "records/*", "aside/*"):
            remove_leftovers(folder / name)
        # Only damage needs the folder's lease: a thousand processes may open a large run at once.
        if any(segment.problems for _, segment in store._segments()):
            with _folder_lease(folder):
                store.set_aside = tuple(store._set_damage_aside())
        return store

    def _begin(self) -> None:
        """Writes the manifest of a new run."""
        folder = self.folder
        if (folder / MANIFEST_NAME).exists():
            return  # another process was faster
        if any(folder.glob("records/*")) or any(folder.glob("checkpoints/*")):
            raise RunFolderError(
                f"{folder} holds records or checkpoints without the {MANIFEST_NAME} that "
                "says of what: delete the folder, or choose another one with --out."
            )
        write_atomic(folder / MANIFEST_NAME, self.manifest.to_text(), durable=self.durable)

    def append(self, lot: str, records: Iterable[Record]) -> None:
        """Adds records, all or none of them.

        Raises:
            ValueError: The lot's name is unfit, or a record is of another experiment.
            StorageError: The records can't be written; those from before are intact. Or the
                folder was cleared meanwhile.
        """
        records = list(records)
        _check_lot(lot)
        for record in records:
            if record.experiment != self.experiment:
                raise ValueError(
                    f"RunStore: records must be of {self.experiment}; got one of "
                    f"{record.experiment}."
                )
        if not records:
            return
        data = encode_segment(records)
        self._require_ours()
        # The time is a number that nobody has to look up; segments are read in its order.
        self._number = max(self._number + 1, time.time_ns() // 1_000)
        name = f"{self._number}-{lot}-{digest(data)}.jsonl"
        write_atomic(self.folder / "records" / name, data, durable=self.durable)

    @contextmanager
    def claim(self, lot: str) -> Iterator[Claim | None]:
        """Claims a lot for the length of a with-block, without waiting.

        Yields:
            The claim; None if another process works on the lot.

        Raises:
            ValueError: The lot's name is unfit.
            StorageError: The claim can't be made, or the folder was cleared meanwhile.
        """
        with self._leases.held(self._lease_path(lot)) as claim:
            if claim is not None:
                self._require_ours()
                remove_leftovers(self.checkpoint_path(lot))
            yield claim

    def began(self, lot: str) -> bool:
        """Tells whether somebody ever worked on a lot; if not, it has no records either."""
        return self._progress_path(lot).exists()

    def last_beat(self, lot: str) -> int | None:
        """Gives when the holder of a lot was last heard of; None if nobody holds it."""
        return last_beat(self._lease_path(lot))

    def _lease_path(self, lot: str) -> Path:
        return self.folder / "locks" / f"{_check_lot(lot)}{LEASE}"

    def _progress_path(self, lot: str) -> Path:
        return self.folder / "progress" / f"{_check_lot(lot)}.jsonl"

    def write_catalog(self, catalog: Json) -> None:
        """Replaces the catalog; NaN and infinities become null.

        Raises:
            TypeError: Some part has no JSON form.
            StorageError: The catalog can't be written; the one from before is intact.
        """
        text = json.dumps(plain_json(catalog, "catalog", lenient=True), indent=1) + "\n"
        with _folder_lease(self.folder):
            self._require_ours()
            write_atomic(self.folder / CATALOG_NAME, text)

    def checkpoint_path(self, lot: str) -> Path:
        """Gives the place of a lot's checkpoint, which the holder of the lot's lease writes."""
        return self.folder / "checkpoints" / f"{_check_lot(lot)}.safetensors"

    def checkpoints(self) -> set[str]:
        """Gives the lots that have a checkpoint."""
        return {path.stem for path in self.folder.glob("checkpoints/[!.]*.safetensors")}

    def report_progress(self, lot: str, **fields: Json) -> None:
        """Appends a line of news; a disk that refuses it is no reason to stop."""
        path = self._progress_path(lot)
        # The newline in front keeps this line apart from one that a killed process left torn.
        line = f"\n{dump_json(plain_json(fields, 'progress', lenient=True))}\n".encode()
        with suppress(OSError):
            path.parent.mkdir(exist_ok=True)
            # A pipe in the place of the file would wait for somebody to read it.
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
            descriptor = os.open(path, flags, 0o666)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)

    def _require_ours(self) -> None:
        """Raises unless the folder is still this run's."""
        try:
            Manifest.read(self.folder).require(self.manifest, self.folder)
        except RunFolderError as error:
            raise StorageError(
                f"{self.folder} was cleared or given to another run while this one was at work."
            ) from error

    def _set_damage_aside(self) -> Iterator[Problem]:
        """Moves damage to aside/; killed at any point, it can be done again."""
        for path, segment in list(self._segments()):
            if not segment.problems:
                continue
            reasons = "\n".join(map(str, segment.problems)) + "\n"
            try:
                data = read_plain(path)
            except OSError as error:
                self._move_aside(path, error, reasons)
            else:
                copy = self.folder / "aside" / f"{path.stem}.{digest(data)}.jsonl"
                write_atomic(copy, data)
                write_atomic(copy.with_suffix(".txt"), reasons)
                if kept := list(filter(_can_be_written, segment.records)):
                    write_atomic(path, encode_segment(kept))
                else:
                    path.unlink()
            yield from segment.problems

    def _move_aside(self, path: Path, error: OSError, reasons: str) -> None:
        """Moves what is no file, such as a pipe or a bad link, unread; a sound file may be next."""
        if error.errno not in (None, errno.ELOOP):  # a file, but not for us or on a bad disk
            raise RunFolderError(
                f"{path} can't be read: {reason_of(error)}. Mend that, or choose another folder "
                "with --out."
            ) from error
        target = self.folder / "aside" / f"{path.stem}.{digest(os.fsencode(path.name))}.unread"
        write_atomic(target.with_suffix(".txt"), reasons)
        try:
            _remove(target)
            path.rename(target)
        except OSError as refused:
            raise StorageError(
                f"{path} can't be moved aside: {refused.strerror or refused}.", refused.errno
            ) from refused


def clear_run(folder: Path | str) -> None:
    """Removes the run from a folder and leaves all other files there; nothing there is fine too.

    Raises:
        RunFolderError: The folder is not a run folder, holds packed results, or is in use.
        StorageError: Something can't be removed.
    """
    folder = Path(folder)
    if not holds_run(folder):
        names = [path.name for path in folder.glob("*")] if folder.is_dir() else []
        others = [name for name in names if name != "locks" and not name.startswith(".")]
        if others or folder.is_file():
            raise RunFolderError(
                f"{folder} holds no run of wug, so nothing in it is removed: choose another "
                "folder with --out."
            )
        return
    _refuse_packed(folder)
    with _folder_lease(folder), ExitStack() as stack:
        for path in sorted(folder.glob(f"locks/[!.]*{LEASE}")):
            if stack.enter_context(Leases().held(path)) is None:
                raise RunFolderError(
                    f"{folder} is in use: another process works on {path.stem!r}. Wait for it or "
                    "stop it first."
                )
        # The manifest goes last: without it, records left by a kill would pass for a new run's.
        folders = ("records", "checkpoints", "progress", "aside", "models", TRACES)
        for name in (*folders, CATALOG_NAME, MANIFEST_NAME):
            _remove(folder / name)


def _refuse_packed(folder: Path) -> None:
    if (folder / PACKED_NAME).exists():
        raise RunFolderError(
            f"{folder} holds packed results, which are read only: choose another folder with --out."
        )


def _check_lot(lot: str) -> str:
    if len(lot) > _MAX_LOT_NAME or not _LOT_NAME.fullmatch(lot):
        raise ValueError(
            "RunStore: the name of a lot must be of lower-case letters, digits and _, joined by "
            f". or -, such as 'nau' or 'inalu.0'; got {lot!r}."
        )
    return lot


def _can_be_written(record: Record) -> bool:
    """Tells whether a record that was read, and that others may have written, has a line."""
    try:
        return bool(record.to_line())
    except (TypeError, ValueError):
        return False


@contextmanager
def _folder_lease(folder: Path) -> Iterator[None]:
    with Leases().held(folder / "locks" / f".folder{LEASE}", PATIENCE_SECONDS) as claim:
        if claim is None:
            raise StorageError(
                f"{folder}: another process has been writing there for {PATIENCE_SECONDS:.0f} "
                "seconds; see whether it hangs."
            )
        yield


def _remove(path: Path) -> None:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(
            f"{path} can't be removed: {error.strerror or error}.", error.errno
        ) from error
