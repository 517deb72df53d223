"""The data sets that wug knows: names, files with checksums, licences and where they are from.

The facts are in ``catalog.json`` beside this file. Sizes and checksums are of the unpacked content,
so that it does not matter who packed a file, and how.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from wug.core.errors import unknown_name


@dataclass(frozen=True, kw_only=True)
class DataFile:
    """One file of a data set.

    Args:
        path: Where it lies in the folder of its data set, without an ending such as ``.gz``.
        digests: Checksums of the unpacked content by kind: ``sha256``, ``md5`` or ``git_blob``, the
            name that git gives to a content.
        size: Bytes of the unpacked content; None where only the name in git is known.
        url: Where it can be downloaded; None where no address is known.
        password: Of a locked archive, as its authors publish it.
    """

    path: str
    digests: Mapping[str, str]
    size: int | None = None
    url: str | None = None
    password: str | None = None


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """What is known of a data set without having it.

    Args:
        name: Its key, which is also the name of its folder.
        title: How its authors call it.
        about: What it holds, in one line.
        licence: Under which terms it may be used.
        home: Its public page.
        files: All its files.
        paper: Where it was published.
        references: Keys into ``references.bib``.
    """

    name: str
    title: str
    about: str
    licence: str
    home: str
    files: tuple[DataFile, ...]
    paper: str = ""
    references: tuple[str, ...] = ()

    def file(self, path: str) -> DataFile:
        """Return one file, or raise with the nearest names."""
        for file in self.files:
            if file.path == path:
                return file
        raise unknown_name(f"file of {self.name}", path, (file.path for file in self.files))


@cache
def catalog() -> dict[str, DataSet]:
    """Return all data sets by name."""
    rows = json.loads((files("wug") / "sources" / "catalog.json").read_text(encoding="utf-8"))
    return {
        name: DataSet(
            name=name,
            **{
                **row,
                "files": tuple(DataFile(**file) for file in row["files"]),
                "references": tuple(row.get("references", ())),
            },
        )
        for name, row in rows.items()
    }


def data_set(name: str) -> DataSet:
    """Return one data set, or raise with the nearest names.

    Example:
        >>> data_set("scan").licence
        'BSD'
    """
    if name not in catalog():
        raise unknown_name("data set", name, catalog())
    return catalog()[name]
