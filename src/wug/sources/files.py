"""Find the files of data sets, check them, and read them.

A file is looked for in a folder that the user names, in the folder that the environment variable
WUG_DATA names, in ``../shared/data`` beside a source checkout, and in the cache folder, in this
order; each holds one folder per data set. It may be packed: ``tasks.txt.gz`` and ``tasks.txt.xz``
stand for ``tasks.txt``. What is read is checked: a wrong checksum is an error, never a warning.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from importlib.resources import files as package_files
from pathlib import Path

from wug.core.errors import MissingFileError, UserError
from wug.core.paths import cache_folder
from wug.records import StorageError, write_atomic
from wug.sources.catalog import DataFile, DataSet, data_set
from wug.sources.unpack import LIMIT, PACKINGS, chunks, unpack

VARIABLE = "WUG_DATA"


def own_folder() -> Path:
    """Return where wug keeps data sets of its own: in the cache folder."""
    return cache_folder() / "data"


def search_folders(folder: Path | None = None) -> list[Path]:
    """Return the folders to look into, the first ones first.

    Args:
        folder: One that the user names.
    """
    folders = [] if folder is None else [folder]
    if named := os.environ.get(VARIABLE):
        folders.append(Path(named))
    checkout = Path(str(package_files("wug"))).parents[1]
    if (checkout / "pyproject.toml").is_file():
        folders.append(checkout.parent / "shared" / "data")
    return [*folders, own_folder()]


def candidates(file: DataFile, owner: DataSet, folder: Path) -> Iterator[Path]:
    """Yield the names that a file may have in a folder of data sets, plain before packed."""
    for packing in ("", *PACKINGS):
        path = folder / owner.name / f"{file.path}{packing}"
        if path.is_file():
            yield path


def find(file: DataFile, owner: DataSet, folder: Path | None = None) -> Path | None:
    """Return where a file is, packed or not, unchecked; None if it is nowhere.

    Args:
        file: What to look for.
        owner: The data set that it belongs to.
        folder: Where to look first.
    """
    for place in search_folders(folder):
        for path in candidates(file, owner, place):
            return path
    return None


def missing(file: DataFile, owner: DataSet, folder: Path | None = None) -> MissingFileError:
    """Build the sentence for a file that is nowhere: which, and where it is to be had."""
    places = [str(place) for place in search_folders(folder)]
    looked = " or ".join(places) if len(places) < 3 else f"{', '.join(places[:-1])} or {places[-1]}"
    return MissingFileError(
        f"{owner.name}/{file.path} is missing: it is not in {looked}; get {owner.title} from "
        f"{owner.home} (licence: {owner.licence}), then: "
        f"wug data get {owner.name} --from FOLDER, or name the folder in {VARIABLE}."
    )


def locate(name: str, path: str, folder: Path | None = None) -> tuple[DataFile, Path]:
    """Return a known file and where it is.

    Raises:
        UserError: It is unknown, or it is nowhere.
    """
    owner = data_set(name)
    file = owner.file(path)
    found = find(file, owner, folder)
    if found is None:
        raise missing(file, owner, folder)
    return file, found


def digest_of(content: bytes, kind: str) -> str:
    """Return a checksum in hexadecimal digits.

    Args:
        content: The bytes.
        kind: ``sha256``, ``md5`` or ``git_blob``.

    Example:
        >>> digest_of(b"", "git_blob")  # as `git hash-object /dev/null` prints it
        'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    if kind == "git_blob":
        content, kind = b"blob %d\0%b" % (len(content), content), "sha1"
    return hashlib.new(kind, content, usedforsecurity=False).hexdigest()


def problem_with(file: DataFile, content: bytes) -> str | None:
    """Say what is wrong with a file's content; None if it is right."""
    if file.size is not None and len(content) > file.size:
        return f"it has more than {file.size:,} bytes"
    if file.size is not None and len(content) < file.size:
        return f"it has {len(content):,} bytes instead of {file.size:,}"
    for kind, digest in file.digests.items():
        if digest_of(content, kind) != digest:
            return f"its {kind} is not {digest}"
    return None


def content_of(file: DataFile, path: Path, limit: int = LIMIT) -> bytes:
    """Return the unpacked content of a file, unchecked, and not much more than it should have.

    Args:
        file: What it should be.
        path: Where it is.
        limit: The most bytes to unpack if its size is not known.
    """
    content = bytearray()
    try:
        for data in chunks(path, limit if file.size is None else file.size + LIMIT):
            content += data
            if file.size is not None and len(content) > file.size:
                break  # another file, or a bomb
    except OSError as error:
        raise UserError(f"{path} can't be read: {error.strerror or error}.") from error
    return bytes(content)


def read_checked(file: DataFile, path: Path, limit: int = LIMIT) -> bytes:
    """Return the unpacked content of a file that was found; arguments as in `content_of`.

    Raises:
        UserError: It is damaged, or another file.
    """
    content = content_of(file, path, limit)
    if problem := problem_with(file, content):
        raise UserError(
            f"{path} is not the file that it should be: {problem}; remove it and get it anew."
        )
    return content


def read(name: str, path: str, folder: Path | None = None) -> bytes:
    """Return the content of a file of a data set, unpacked and checked.

    Args:
        name: The data set, such as ``"scan"``.
        path: The file in it, without an ending such as ``.gz``.
        folder: Where to look first.

    Raises:
        UserError: It is unknown, missing or damaged.
    """
    return read_checked(*locate(name, path, folder))


def plain_path(name: str, path: str, folder: Path | None = None) -> Path:
    """Return where a file of a data set lies unpacked and checked, as memory maps need it.

    A file that is only there packed is unpacked into the cache folder.

    Args:
        name: The data set.
        path: The file in it.
        folder: Where to look first.

    Raises:
        UserError: It is unknown, missing or damaged.
    """
    file, found = locate(name, path, folder)
    copy = own_folder() / name / path
    for place in (found, copy):
        if place.suffix not in PACKINGS and place.is_file():
            read_checked(file, place)
            return place
    write_atomic(copy, read_checked(file, found))
    return copy


def unpacked_folder(name: str, path: str, folder: Path | None = None) -> Path:
    """Return a folder of the cache with what an archive of a data set holds.

    Args:
        name: The data set.
        path: The archive in it.
        folder: Where to look first.

    Raises:
        UserError: It is unknown, missing, damaged or hostile.
    """
    file, found = locate(name, path, folder)
    read_checked(file, found)
    # The checksum in the name: another edition of the archive goes into another folder.
    edition = next(iter(file.digests.values()))[:16]
    target = cache_folder() / "unpacked" / f"{name}-{Path(path).stem}-{edition}"
    if not target.is_dir():
        try:
            unpack(found, target, password=file.password)
        except (UserError, StorageError):
            if not target.is_dir():  # another process may have been faster
                raise
    return target


def lines(name: str) -> list[str]:
    """Return the lines of a text file of a data set, without their ends.

    Args:
        name: Data set and file, such as ``scan/tasks.txt``.

    Raises:
        UserError: It is unknown, missing or damaged.
    """
    owner, _, path = name.partition("/")
    return read(owner, path).decode("utf-8").splitlines()


def lines_inside(name: str, member: str) -> list[str]:
    """Return the lines of a text file in an archive of a data set, unpacked into the cache.

    Args:
        name: Data set and archive, such as ``slog/generalization_sets.zip``.
        member: Name of the file in it, in whatever folder.

    Raises:
        UserError: The archive is missing or damaged, or has no such file.
    """
    owner, _, path = name.partition("/")
    found = list(unpacked_folder(owner, path).rglob(member))
    if len(found) != 1:
        raise UserError(f"{name} must have one file {member}; got {len(found)}.")
    return found[0].read_text(encoding="utf-8").splitlines()
