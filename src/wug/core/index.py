"""The generated index of the registers: everything a listing needs, without importing torch.

``python -m wug.core.index`` writes it anew; a test fails when it is stale.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Any

from wug.core.errors import UserError
from wug.core.registry import Entry, find, registered

OPEN_FOLDERS = ("units", "layers", "models", "tasks", "analysis", "experiments")


def build() -> list[Entry]:
    """Import every file of the open folders and return what they registered."""
    for folder in OPEN_FOLDERS:
        package = importlib.import_module(f"wug.{folder}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    return [entry for entry in registered() if entry.target.startswith("wug.")]


def dumps(entries: list[Entry]) -> str:
    """Return the text of the index file."""
    rows = [entry.to_json() for entry in entries]
    return json.dumps(rows, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


@cache
def load() -> tuple[Entry, ...]:
    """Read the index that ships with the package."""
    rows = json.loads((files("wug") / "index.json").read_text(encoding="utf-8"))
    return tuple(
        Entry(**{**row, "references": tuple(row["references"]),
                 "failure_modes": tuple(row["failure_modes"])})
        for row in rows
    )  # fmt: skip


def entries(kind: str | None = None) -> list[Entry]:
    """List the indexed entries of a kind, plus those that were registered since by a user."""
    known = {(entry.kind, entry.key): entry for entry in (*registered(), *load())}
    return sorted(
        (entry for entry in known.values() if kind in (None, entry.kind)),
        key=lambda entry: (entry.kind, entry.key),
    )


def entry(kind: str, key: str) -> Entry:
    """Return one entry, or raise with the nearest names."""
    return find(kind, key, entries(kind))


def get(kind: str, key: str) -> Any:
    """Import and return the class or function behind a key.

    Example:
        >>> get("unit", "nmu").__name__
        'NMU'
    """
    return import_target(entry(kind, key).target)


def key_of(kind: str, found: type) -> str:
    """Return the key that a class is registered under; the stem of its file if it is not.

    Example:
        >>> key_of("unit", get("unit", "nmu"))
        'nmu'
    """
    target = f"{found.__module__}:{found.__qualname__}"
    keys = (entry.key for entry in entries(kind) if entry.target == target)
    return next(keys, found.__module__.rsplit(".", 1)[-1])


def import_target(target: str) -> Any:
    """Import what ``module:name`` or ``file.py:name`` names.

    Raises:
        UserError: There is no such file, module or name.
    """
    module, _, name = target.rpartition(":")
    try:
        found = import_file(Path(module)) if module.endswith(".py") else None
        return getattr(found or importlib.import_module(module), name)
    except (FileNotFoundError, ModuleNotFoundError, AttributeError, ValueError) as error:
        raise UserError(
            f"{target!r} can't be imported: {error}. Write module:name or file.py:name."
        ) from error


def import_file(path: Path) -> ModuleType:
    """Import a Python file by its path; its folder is where it finds its neighbours."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(path.stem)


def write() -> None:
    """Write the index, and the stubs of the public names in it."""
    package = Path(str(files("wug")))
    (package / "index.json").write_text(dumps(build()), encoding="utf-8")
    load.cache_clear()
    from wug.core import namespace

    for folder in namespace.FOLDERS:
        (package / folder / "__init__.pyi").write_text(namespace.stub(folder), encoding="utf-8")
    print(f"wrote {package / 'index.json'} and the stubs of {', '.join(namespace.FOLDERS)}")


if __name__ == "__main__":
    write()
