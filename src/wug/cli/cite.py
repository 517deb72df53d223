"""wug cite: the BibTeX of what you used."""

from __future__ import annotations

from typing import Annotated

import tyro

from wug.core import index
from wug.core.errors import UserError, unknown_name
from wug.core.papers import bibliography


def cite(keys: Annotated[tuple[str, ...], tyro.conf.Positional]) -> None:
    """Print BibTeX for units, tasks, experiments or papers, each once.

    Args:
        keys: Such as nmu, mistry2022.single_module or madsen2020.
    """
    entries = bibliography()
    known = {entry.key: entry.references for entry in index.entries()}
    wanted: dict[str, None] = {}
    for key in keys:
        if key not in known and key not in entries:
            raise unknown_name("key", key, (*known, *entries))
        wanted.update(dict.fromkeys((key,) if key in entries else known[key]))
    print("\n\n".join(entries[key] for key in wanted if key in entries))
    if missing := [key for key in wanted if key not in entries]:
        raise UserError(f"cite: references.bib has no entry for {', '.join(missing)}.")
