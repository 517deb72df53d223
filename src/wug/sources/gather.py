"""Bring the files of a data set into one folder: from another folder, an archive or an address.

In a folder or an archive a file is known by its checksum, wherever it lies and whatever it is
called: a clone of the authors' repository will do. What is written is unpacked, checked and whole.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from urllib.parse import quote, unquote, urlsplit

from wug.core.errors import UserError, WorkError
from wug.records import write_atomic
from wug.sources import files
from wug.sources.catalog import DataFile, DataSet
from wug.sources.download import NotThereError, download, is_address
from wug.sources.unpack import LIMIT, PACKINGS, is_archive, unpack, without_packing

Progress = Callable[[str, int, int | None], None]


def silent(path: str, done: int, total: int | None) -> None:
    """Show nothing."""


def gather(
    owner: DataSet,
    folder: Path,
    source: str | None = None,
    *,
    limit: int = LIMIT,
    progress: Progress = silent,
) -> tuple[list[DataFile], list[DataFile]]:
    """Bring those files of a data set into a folder that are not there yet.

    Args:
        owner: The data set.
        folder: The folder of data sets; the files go into ``folder/NAME``.
        source: A folder, an archive, or the address of either; None takes each file's own address.
        limit: The most bytes that a download or an archive may have.
        progress: Told the file, its bytes so far, and all of them where this is known.

    Returns:
        The files that are new, and those that the source doesn't have.

    Raises:
        UserError: The source can't be what was meant, or has other files under the right names.
        WorkError: A download failed.
        StorageError: The disk is full or refuses.
    """
    wanted = [file for file in owner.files if not is_right(file, owner, [folder])]
    if not wanted:
        return [], []
    if source is None:
        elsewhere = [place for place in files.search_folders() if place != folder]
        here, rest = [], []
        for file in wanted:
            content = content_in(file, owner, elsewhere)
            if content is None:
                rest.append(file)
            else:
                write_atomic(folder / owner.name / file.path, content)
                here.append(file)
        new, absent = fetch(
            rest, owner, folder, lambda file: own_address(file, owner), limit, progress
        )
        return [*here, *new], absent
    if not is_address(source):
        return copy(wanted, owner, folder, Path(source).expanduser(), limit)
    if is_archive(urlsplit(source).path):
        name = PurePosixPath(unquote(urlsplit(source).path)).name
        archive = folder / owner.name / name
        download(source, archive, limit=limit, progress=lambda *at: progress(name, *at))
        result = copy(wanted, owner, folder, archive, limit)
        if name not in {PurePosixPath(file.path).name for file in owner.files}:
            archive.unlink()
        return result
    base = source.rstrip("/")
    return fetch(wanted, owner, folder, lambda file: mirrored(base, file, owner), limit, progress)


def content_in(file: DataFile, owner: DataSet, folders: list[Path]) -> bytes | None:
    """Return the content of a file in the first folder that has it; None if it is wrong."""
    for path in (path for place in folders for path in files.candidates(file, owner, place)):
        try:
            return files.read_checked(file, path)
        except UserError:
            return None
    return None


def is_right(file: DataFile, owner: DataSet, folders: list[Path] | None = None) -> bool:
    """Say whether a file is there and right.

    Args:
        file: What to look for.
        owner: The data set that it belongs to.
        folders: Of data sets; those that are always looked into if not given.
    """
    return content_in(file, owner, folders or files.search_folders()) is not None


def copy(
    wanted: list[DataFile], owner: DataSet, folder: Path, source: Path, limit: int
) -> tuple[list[DataFile], list[DataFile]]:
    """Copy files out of a folder or an archive; arguments and result as in `gather`."""
    if source.is_file() and is_archive(source.name):
        with tempfile.TemporaryDirectory() as temporary:
            inside = Path(temporary) / "archive"
            unpack(source, inside, limit=limit)
            return copy(wanted, owner, folder, inside, limit)
    if not source.is_dir():
        raise UserError(
            f"data get: {source} is no folder and no archive; name what holds the files of "
            f"{owner.title}, or an address."
        )
    tree = [path for path in sorted(source.rglob("*")) if path.is_file()]
    new, absent = [], []
    for file in wanted:
        content = first_right(file, tree)
        if content is None:
            absent.append(file)
            continue
        write_atomic(folder / owner.name / file.path, content)
        new.append(file)
    return new, absent


def first_right(file: DataFile, tree: list[Path]) -> bytes | None:
    """Return the content of the first file with the right checksum.

    Only those are read that have the right name, packed or not, or the right size.

    Args:
        file: What to look for.
        tree: Where to look.
    """
    name = PurePosixPath(file.path).name
    for path in tree:
        if without_packing(path.name) == name or path.stat().st_size == file.size:
            try:
                return files.read_checked(file, path)
            except UserError:
                continue
    return None


def own_address(file: DataFile, owner: DataSet) -> Iterator[str]:
    """Yield the address of a file at its authors'."""
    if file.url is None:
        raise UserError(
            f"data get: no address is known for {owner.name}/{file.path}; get {owner.title} from "
            f"{owner.home} and name its folder: wug data get {owner.name} --from FOLDER."
        )
    yield file.url


def mirrored(base: str, file: DataFile, owner: DataSet) -> Iterator[str]:
    """Yield the addresses that a file may have below one that the user names."""
    path = quote(file.path)
    for place in (f"{base}/{owner.name}/{path}", f"{base}/{path}"):
        for packing in ("", *PACKINGS):
            yield f"{place}{packing}"


def fetch(
    wanted: list[DataFile],
    owner: DataSet,
    folder: Path,
    addresses: Callable[[DataFile], Iterator[str]],
    limit: int,
    progress: Progress,
) -> tuple[list[DataFile], list[DataFile]]:
    """Download files one by one; arguments and result as in `gather`."""
    new, absent = [], []
    for file in wanted:
        for url in addresses(file):
            try:
                fetch_one(file, owner, folder, url, limit, progress)
            except NotThereError:
                continue
            new.append(file)
            break
        else:
            absent.append(file)
    return new, absent


def fetch_one(
    file: DataFile, owner: DataSet, folder: Path, url: str, limit: int, progress: Progress
) -> None:
    """Download one file, and keep it if its checksum is right."""
    target = folder / owner.name / file.path
    packing = next((packing for packing in PACKINGS if url.endswith(packing)), "")
    arrived = target.with_name(f".{target.name}.arrived{packing}")
    while True:
        resumed = download(url, arrived, limit=limit, progress=lambda *at: progress(file.path, *at))
        try:
            content = files.content_of(file, arrived, limit)
            problem = files.problem_with(file, content)
        except UserError as error:
            problem = str(error)
        finally:
            arrived.unlink()
        if problem is None:
            write_atomic(target, content)
            return
        # The rest may be of another edition than the part that was here: begin anew, once.
        if not resumed:
            raise WorkError(f"{url} is not {owner.name}/{file.path}: {problem}. Nothing was kept.")
