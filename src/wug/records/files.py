"""Reading files that nobody vouches for: a name may be a folder, a pipe, or a link to anywhere."""

import json
import os
from pathlib import Path
from typing import Any

# Nothing of ours is nested a tenth as deeply; functions that call themselves reach 1,000.
MOST_DEPTH = 100


def plain_file(path: Path, within: Path | None = None) -> Path:
    """Gives the file that a path leads to, links followed.

    Args:
        path: The file.
        within: A resolved folder that links may not lead out of; None lets them lead anywhere.

    Raises:
        FileNotFoundError: Nothing has this name.
        OSError: It is no plain file, it lies elsewhere, or the system refuses.
    """
    try:
        target = Path(os.path.realpath(path, strict=True))
    except FileNotFoundError:
        if path.is_symlink():
            raise OSError("it is a link to nothing") from None
        raise
    if within is not None and not target.is_relative_to(within):
        raise OSError("it is a link that leads out of the folder that was asked for")
    if not target.is_file():
        raise OSError("it is not a plain file")
    return target


def read_plain(path: Path, within: Path | None = None) -> bytes:
    """Reads a file; arguments and errors are those of `plain_file`."""
    return plain_file(path, within).read_bytes()


def parse_json(data: bytes) -> Any:
    """Reads JSON.

    Raises:
        ValueError: It is damaged, nested too deeply, or has a number that is too long.
    """
    try:
        value = json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    # Few brackets can't be deep; this spares most lines of records the walk.
    if data.count(b"[") + data.count(b"{") > MOST_DEPTH:
        _require_shallow(value)
    return value


def _require_shallow(value: Any) -> None:
    level = [value]
    for _ in range(MOST_DEPTH):
        inner = (v.values() if isinstance(v, dict) else v for v in level)
        level = [v for values in inner for v in values if isinstance(v, dict | list)]
        if not level:
            return
    raise ValueError("it is nested too deeply")


def reason_of(error: BaseException) -> str:
    """Says why a file can't be read, without its path."""
    return (isinstance(error, OSError) and error.strerror) or str(error)
