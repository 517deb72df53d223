"""Lines of public data sets that stand in a folder on this machine."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

from wug.core.errors import UserError

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
