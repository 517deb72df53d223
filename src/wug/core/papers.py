"""The papers whose tables are here: their titles, and what they say, in our words."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any
from unicodedata import normalize

from wug.core import index
from wug.core.api_text import describe
from wug.core.costs import SCALES, spelled_cost
from wug.core.registry import Entry

MARKS = {"'": "\u0301", "`": "\u0300", '"': "\u0308", "v": "\u030c", "k": "\u0328", "^": "\u0302"}


@cache
def bibliography() -> dict[str, str]:
    """Return the entries of references.bib by key."""
    text = (files("wug") / "references.bib").read_text(encoding="utf-8")
    found = re.findall(r"^(@\w+\{([^,]+),.*?^\})", text, flags=re.MULTILINE | re.DOTALL)
    return {key: entry for entry, key in found}


def plain(text: str) -> str:
    r"""Return a field of BibTeX as people write it.

    Example:
        >>> plain(r"Csord{\'a}s and {\v{S}}m{\'\i}dl, {iNALU}")
        'Csordás and Šmídl, iNALU'
    """

    def accented(match: re.Match[str]) -> str:
        return match[2] + MARKS.get(match[1], "")

    text = re.sub(r"\\([`'\"^vk])\{?\\?([A-Za-z])\}?", accented, text)
    return normalize("NFC", text.replace("{", "").replace("}", ""))


def authors_of(field: str) -> str:
    """Return the authors' last names as a text cites them.

    Example:
        >>> authors_of("Madsen, Andreas and Johansen, Alexander"), authors_of("A, B and C, D and E")
        ('Madsen and Johansen', 'A et al.')
    """
    names = [name.split(",")[0].strip() for name in plain(field).split(" and ")]
    return f"{names[0]} et al." if len(names) > 2 else " and ".join(names)


def papers() -> list[dict[str, Any]]:
    """Return the papers with experiments, by key: title, authors, year, what they say, chapters."""
    told = tomllib.loads((files("wug") / "papers.toml").read_text(encoding="utf-8"))
    found = []
    for key in sorted({entry.key.partition(".")[0] for entry in index.entries("experiment")}):
        if key in bibliography():
            about = told.get(key, {})
            found.append(
                {
                    "kind": "paper", "key": key, **cited(key), "says": about.get("says", ""),
                    "chapters": about.get("chapters", {}),
                }
            )  # fmt: skip
    return found


def cited(key: str) -> dict[str, str]:
    """Return the title, the authors and the year of a reference.

    Example:
        >>> cited("madsen2020")["authors"], cited("madsen2020")["year"]
        ('Madsen and Johansen', '2020')
    """
    entry = bibliography()[key]
    fields = dict(re.findall(r"^\s*(\w+)\s*=\s*\{(.*)\},?$", entry, re.MULTILINE))
    authors = authors_of(fields["author"])
    return {"title": plain(fields["title"]), "authors": authors, "year": fields["year"]}


def described(entry: Entry) -> dict[str, Any]:
    """Return what a site says of a unit or model: how it is called, and whom it cites."""
    names = {key: "{authors}, {year}".format(**cited(key)) for key in entry.references}
    return {**entry.to_json(), "api": describe(entry.target), "cited": names}


def report_entries() -> list[dict[str, Any]]:
    """Return what a site says of the code: units, models, experiments and papers."""
    networks = [*index.entries("unit"), *index.entries("model")]
    tables = (
        {**entry.to_json(), "cost": {scale: spelled_cost(entry.key, scale) for scale in SCALES}}
        for entry in index.entries("experiment")
    )
    return [*map(described, networks), *tables, *papers()]
