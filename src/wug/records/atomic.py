"""Files that are either whole or not there, even if the process is killed or the disk is full."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from wug.records.errors import StorageError


def write_atomic(path: Path, content: bytes | str) -> None:
    """Writes a file so that other processes see all of it or none of it.

    The content goes to a temporary file in the same folder, is flushed to the disk, and takes the
    file's name in one step. Missing parent folders are made.

    Args:
        path: The file to write or to replace.
        content: What it shall hold; text is written as UTF-8.

    Raises:
        StorageError: The disk is full or refuses; the file is as it was.
    """
    data = content.encode() if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(temporary, "xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        _sync_folder(path.parent)
    except OSError as error:
        raise StorageError(
            f"{path} could not be written: {error.strerror or error}. What was there before is "
            "intact; make room or mend the cause, then run the same command to go on.",
            error.errno,
        ) from error


def remove_leftovers(path: Path) -> None:
    """Removes what killed writers of `path` left behind; its name may be a glob pattern.

    Only for a caller who knows that nobody is writing that file now.
    """
    for leftover in path.parent.glob(f".{path.name}.{'[0-9a-f]' * 16}.tmp"):
        leftover.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Makes a rename in the folder outlive a power cut, where the system can do that."""
    with suppress(OSError):  # some systems and network drives can't, and the file is whole anyway
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
