"""Lines of public data sets that stand in a folder on this machine."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from zipfile import ZipFile

from wug.core.errors import UserError
from wug.core.paths import cache_folder
from wug.records import write_atomic

# A checkout may stand beside a folder with shared data.
BESIDE = Path(__file__).parents[4] / "shared" / "data"


def find(name: str) -> Path:
    """Return the path of a file such as ``scan/tasks.txt``, packed or not.

    Raises:
        UserError: It is in none of the folders.
    """
    folders = [Path(os.environ["WUG_DATA"])] if "WUG_DATA" in os.environ else []
    for folder in (*folders, BESIDE):
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                return path
    raise UserError(
        f"the data file {name} is not here: set WUG_DATA to a folder that has {name} or {name}.gz."
    )


def lines(name: str) -> list[str]:
    """Return the lines of a text file, without their ends."""
    path = find(name)
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return data.decode("utf-8").splitlines()


def zip_lines(name: str, member: str, password: str) -> list[str]:
    """Return the lines of a file in a zip that has a password, unpacked into the cache folder.

    Args:
        name: The zip, such as ``slog/generalization_sets.zip``.
        member: How the name of the file in it ends.
        password: As its authors print it.

    Raises:
        UserError: The zip is missing, or has no such file.
    """
    path = cache_folder() / "data" / name.removesuffix(".zip") / member
    if not path.is_file():
        with ZipFile(find(name)) as packed:
            inside = [one for one in packed.namelist() if Path(one).name == member]
            if len(inside) != 1:
                raise UserError(f"{name} must have one file {member}; got {len(inside)}.")
            write_atomic(path, packed.read(inside[0], pwd=password.encode()))
    return path.read_text(encoding="utf-8").splitlines()
