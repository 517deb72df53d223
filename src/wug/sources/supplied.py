"""Data sets whose files the user supplies: wug has no checksums of them, and fetches none."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wug.sources.files import search_folders


@dataclass(frozen=True, kw_only=True)
class Supplied:
    """A data set whose files the user supplies.

    Args:
        name: Its folder in a folder of data sets.
        title: For people.
        about: What reads it, and what stands in for it.
        licence: Of the files.
        home: Where they are to be had.
        files: Their names, or those of folders, by which they are found.
        place: Where they belong, in words.
    """

    name: str
    title: str
    about: str
    licence: str
    home: str
    files: tuple[str, ...]
    place: str

    def found(self, folder: Path | None = None) -> list[Path]:
        """Return what is there of the files, where they are looked for by themselves."""
        places = [place / self.name / file for file in self.files
                  for place in search_folders(folder)]  # fmt: skip
        return [path for path in places if path.exists()]


_ALL = (
    Supplied(
        name="cfq",
        title="CFQ",
        about="questions and SPARQL queries, for csordas2023.cfq and others at paper scale; below "
        "it a small grammar of ours stands in",
        licence="Licence: see its page",
        home="https://github.com/google-research/google-research/tree/master/cfq",
        files=("dataset.json", "splits"),
        place="unpack dataset.json and splits/ into the folder cfq of a folder of data sets",
    ),
    Supplied(
        name="mathematics",
        title="Mathematics",
        about="school questions; questions of ours stand in for them in all tables",
        licence="Apache-2.0",
        home="https://github.com/deepmind/mathematics_dataset",
        files=(),
        place="name their folder: Mathematics(folder=...); docs/sequences.md says how to make them",
    ),
)
SUPPLIED = {one.name: one for one in _ALL}
