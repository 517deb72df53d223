"""Files that are either whole or not there, even if the process is killed or the disk is full."""

import os
import platform
import time
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from zlib import crc32

from wug.records.errors import StorageError

TRIES = 5
LONGEST_WRITE = 3600.0


def write_atomic(path: Path, content: bytes | str, *, durable: bool = True) -> None:
    """Writes a file so that other processes see all of it or none of it.

    The content goes to a temporary file in the same folder, is flushed to the disk, and takes the
    file's name in one step. Missing parent folders are made.

    Args:
        path: The file to write or to replace.
        content: What it shall hold; text is written as UTF-8.
        durable: Whether it must outlive a power cut, which takes the disk some milliseconds.

    Raises:
        StorageError: The disk is full or refuses; the file is as it was.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        for left in reversed(range(TRIES)):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                _write(path, data, durable)
                break
            except FileNotFoundError:  # taken for a leftover, see `remove_leftovers`
                if not left:
                    raise
        if durable:
            _sync_folder(path.parent)
    except OSError as error:
        raise StorageError(
            f"{path} could not be written: {error.strerror or error}. What was there before is "
            "intact; make room or mend the cause, then run the same command to go on.",
            error.errno,
        ) from error


def _write(path: Path, data: bytes, durable: bool) -> None:
    temporary = path.with_name(f".{path.name}.{_host_mark()}{os.getpid():08x}{token_hex(4)}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def remove_leftovers(path: Path) -> None:
    """Removes what killed writers of `path` left behind; its name may be a glob pattern.

    A temporary name says which process of which machine writes. Of other machines only what is old
    is removed.
    """
    if not path.parent.exists():  # a pattern takes longer to make than to find nothing with
        return
    for leftover in path.parent.glob(f".{path.name}.{'[0-9a-f]' * 24}.tmp"):
        mark = leftover.name[-28:-4]
        with suppress(OSError):
            if mark[:8] == _host_mark():
                dead = not _lives(int(mark[8:16], 16))
            else:
                dead = time.time() - leftover.stat().st_mtime > LONGEST_WRITE
            if dead:
                leftover.unlink(missing_ok=True)


def _host_mark() -> str:
    return f"{crc32(platform.node().encode()):08x}"


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _sync_folder(folder: Path) -> None:
    """Makes a rename in the folder outlive a power cut, where the system can do that."""
    with suppress(OSError):  # some systems and network drives can't, and the file is whole anyway
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
