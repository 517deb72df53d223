"""Unpacking what nobody vouches for: zip, tar, gz and xz, without escapes and without bombs.

An archive is refused as a whole, and nothing of it stays, if a name in it leads out of the folder,
if it holds anything but folders and plain files (links, devices), or if it unpacks to more than
the limit. Bytes are counted while they are unpacked; what a header promises is not believed.
"""

from __future__ import annotations

import gzip
import lzma
import os
import secrets
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PureWindowsPath
from typing import IO, cast

from wug.core.errors import UserError
from wug.records import StorageError

LIMIT = 1_000_000_000
MAX_MEMBERS = 100_000
PACKINGS = (".gz", ".xz")
TARS = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz")
ARCHIVES = (".zip", *TARS)
CHUNK = 1 << 20

DAMAGE = (
    EOFError, gzip.BadGzipFile, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


class Budget:
    """The bytes that an archive may still unpack to.

    Args:
        archive: What the error calls it.
        limit: How many bytes there are.
    """

    def __init__(self, archive: Path, limit: int) -> None:
        self.archive, self.limit, self.used = archive, limit, 0

    def spend(self, num_bytes: int) -> None:
        """Take bytes away, or raise if there are not as many."""
        self.used += num_bytes
        if self.used > self.limit:
            raise UserError(
                f"{self.archive} unpacks to more than {self.limit:,} bytes; nothing of it was "
                "kept. If you trust it, raise the limit."
            )


class MeteredReader:
    """A file whose bytes are charged to a budget as they are read.

    Args:
        file: What to read.
        budget: What to charge.
    """

    def __init__(self, file: IO[bytes], budget: Budget) -> None:
        self.file, self.budget = file, budget

    def read(self, size: int = CHUNK) -> bytes:
        """Read at most so many bytes."""
        data = self.file.read(size)
        self.budget.spend(len(data))
        return data


def is_archive(name: str) -> bool:
    """Say whether a name is that of an archive of many files."""
    return name.lower().endswith(ARCHIVES)


def without_packing(name: str) -> str:
    """Return the name that a file has when it is unpacked.

    Example:
        >>> without_packing("tasks.txt.gz"), without_packing("tasks.txt")
        ('tasks.txt', 'tasks.txt')
    """
    packing = Path(name).suffix.lower()
    return name[: -len(packing)] if packing in PACKINGS else name


def open_packed(path: Path) -> IO[bytes]:
    """Open a file, unpacking it if its name ends in ``.gz``, ``.tgz``, ``.xz`` or ``.txz``."""
    name = path.name.lower()
    if name.endswith((".gz", ".tgz")):
        return cast(IO[bytes], gzip.open(path))
    if name.endswith((".xz", ".txz")):
        return cast(IO[bytes], lzma.open(path))
    return open(path, "rb")


def chunks(path: Path, limit: int = LIMIT) -> Iterator[bytes]:
    """Yield the content of a file, unpacked if its name says that it is packed.

    Args:
        path: A plain file, or one that ends in ``.gz`` or ``.xz``.
        limit: The most bytes that it may unpack to.

    Raises:
        UserError: It is damaged or unpacks to more.
    """
    with readable(path), open_packed(path) as file:
        reader = MeteredReader(file, Budget(path, limit))
        while data := reader.read():
            yield data


def unpack(archive: Path, folder: Path, *, limit: int = LIMIT, password: str | None = None) -> None:
    """Unpack an archive into a new folder, all of it or nothing.

    Args:
        archive: A zip, tar, tar.gz or tar.xz file, or a single file packed as gz or xz.
        folder: Where to; it must not be there yet.
        limit: The most bytes that it may unpack to.
        password: Of a locked zip.

    Raises:
        UserError: The archive is damaged, locked, hostile or too large.
        StorageError: The disk is full or refuses.
    """
    if folder.exists():
        raise UserError(f"unpack: {folder} is there already; name a new folder.")
    name = archive.name.lower()
    if not name.endswith((*ARCHIVES, *PACKINGS)):
        known = ", ".join((*ARCHIVES, *PACKINGS))
        raise UserError(f"unpack: {archive.name} must end in one of {known}.")
    temporary = folder.with_name(f".{folder.name}.{secrets.token_hex(8)}.tmp")
    budget = Budget(archive, limit)
    try:
        temporary.mkdir(parents=True)
        with readable(archive):
            if name.endswith(".zip"):
                unpack_zip(archive, temporary, budget, password)
            elif name.endswith(TARS):
                unpack_tar(archive, temporary, budget)
            else:
                write(temporary / without_packing(archive.name), chunks(archive, limit), archive)
        os.rename(temporary, folder)
    except StorageError:
        raise
    except OSError as error:
        raise StorageError(
            f"{archive} could not be unpacked into {folder}: {error.strerror or error}.",
            error.errno,
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def unpack_zip(archive: Path, folder: Path, budget: Budget, password: str | None) -> None:
    """Unpack a zip file into an empty folder."""
    with zipfile.ZipFile(archive) as file:
        members = file.infolist()
        # An honest header saves the writing; the bytes are counted all the same.
        Budget(archive, budget.limit).spend(sum(member.file_size for member in members))
        for index, member in enumerate(members):
            kind = stat.S_IFMT(member.external_attr >> 16)
            target = target_of(member.filename, index, archive, folder)
            if member.filename.endswith("/"):
                make_folder(target, archive)
                continue
            if kind not in (0, stat.S_IFREG):
                raise refused(archive, member.filename, "is no plain file")
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                # zipfile unpacks the others without a limit on memory.
                raise refused(archive, member.filename, "is neither stored nor deflated")
            if member.flag_bits & 1 and password is None:
                raise UserError(f"{archive} is locked; name its password.")
            with file.open(member, pwd=password.encode() if password else None) as content:
                reader = MeteredReader(content, budget)
                write(target, iter(reader.read, b""), archive)


def unpack_tar(archive: Path, folder: Path, budget: Budget) -> None:
    """Unpack a tar file, packed or not, into an empty folder."""
    with open_packed(archive) as packed:
        # The budget pays for headers as well: a header alone can be a bomb.
        stream = cast(IO[bytes], MeteredReader(packed, budget))
        with tarfile.open(fileobj=stream, mode="r|") as file:
            unpacked = Budget(archive, budget.limit)
            for index, member in enumerate(file):
                target = target_of(member.name, index, archive, folder)
                if member.isdir():
                    make_folder(target, archive)
                    continue
                content = file.extractfile(member) if member.isreg() else None
                if content is None:
                    raise refused(archive, member.name, "is no plain file")
                # A sparse file unpacks to more than it takes in the archive.
                reader = MeteredReader(content, unpacked)
                write(target, iter(reader.read, b""), archive)


def target_of(name: str, index: int, archive: Path, folder: Path) -> Path:
    """Return where a member goes, or raise if that is not inside the folder."""
    if index >= MAX_MEMBERS:
        raise UserError(f"{archive} holds more than {MAX_MEMBERS:,} files; nothing was kept.")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    absolute = name.startswith("/") or bool(PureWindowsPath(name).drive)
    if absolute or ".." in parts or "\\" in name or "\0" in name:
        raise refused(archive, name, "leads out of the folder")
    return folder.joinpath(*parts)


def make_folder(target: Path, archive: Path) -> None:
    """Make a folder that the archive names, and those above it."""
    try:
        target.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise refused(archive, target.name, "is there twice") from None


def write(target: Path, content: Iterable[bytes], archive: Path) -> None:
    """Write a new file with no rights but the usual ones."""
    make_folder(target.parent, archive)
    try:
        with open(target, "xb") as file:
            for data in content:
                file.write(data)
    except (FileExistsError, IsADirectoryError, NotADirectoryError):
        raise refused(archive, target.name, "is there twice") from None


def refused(archive: Path, member: str, reason: str) -> UserError:
    """Build the error for an archive that is not what it should be."""
    return UserError(f"{archive} was refused: {member!r} in it {reason}; nothing was kept.")


@contextmanager
def readable(archive: Path) -> Iterator[None]:
    """Turn what the standard library raises for bad archives into a sentence."""
    try:
        yield
    except DAMAGE as error:
        raise UserError(f"{archive} is damaged or not what its name says: {error}.") from error
    except NotImplementedError as error:
        raise UserError(f"{archive} is packed in a way that can't be read: {error}.") from error
    except RuntimeError as error:  # what zipfile raises for a password
        if "password" not in str(error):
            raise
        raise UserError(f"{archive} is locked with another password.") from error
    except UnicodeError as error:
        raise UserError(f"{archive} holds a name that can't be read: {error}.") from error
