"""The public names of the open folders, from the index: nothing is imported before it is asked for.

``wug.units.NMU`` is the class that the file ``units/nmu.py`` registers. ``make index`` writes the
same names as stubs (``__init__.pyi``), for editors and type checkers.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from wug.core import index
from wug.core.errors import unknown_name

# Folder -> what is registered there.
FOLDERS = {"units": "unit", "layers": "layer", "models": "model", "tasks": "task"}


def public_names(folder: str) -> dict[str, str]:
    """Return the names of a folder and the modules that they are imported from.

    Example:
        >>> public_names("units")["NMU"]
        'wug.units.nmu'
    """
    kind = FOLDERS[folder]
    targets = (entry.target.split(":") for entry in index.load() if entry.kind == kind)
    return {name: module for module, name in targets}


def lazy(folder: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` of a folder's package."""

    def get(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        names = public_names(folder)
        if name not in names:
            sentence = unknown_name(f"name in wug.{folder}", name, names)
            raise AttributeError(str(sentence), name=name)
        return getattr(import_module(names[name]), name)

    return get, lambda: sorted(public_names(folder))


def stub(folder: str) -> str:
    """Return the text of a folder's stub."""
    names = sorted((module, name) for name, module in public_names(folder).items())
    lines = [f"from {module} import {name} as {name}" for module, name in names]
    return "\n".join(["# Written by python -m wug.core.index.", *lines, ""])
