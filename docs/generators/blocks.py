"""Parts of the hand-written pages that are made: tables of results, help texts, examples.

A part stands between ``<!-- wug: name words -->`` and ``<!-- end -->``. ``python docs/fill.py``
writes it there, so that the pages are whole in the repository, too; an unknown name is an error.
"""

import re
from collections.abc import Callable
from pathlib import Path

from generators import commands, data_sets, experiments, layers, results

FIRST = "mistry2022.single_module"
MARKER = re.compile(r"<!-- wug: ([a-z-]+) (.*?)-->(.*?)<!-- end -->", re.DOTALL)


def from_result(make: Callable[..., str], nothing: str = results.NOTHING) -> Callable[..., str]:
    """Turn a function of the first experiment's result into one that copes without results."""

    def block(*words: str) -> str:
        result = results.main_result(FIRST)
        return nothing if result is None else make(result, *words)

    return block


def source(path: str) -> str:
    """Return a file of the repository as a code block under its name."""
    text = (Path(__file__).parents[2] / path).read_text(encoding="utf-8")
    return f'```python title="{path}"\n{text}```\n'


BLOCKS: dict[str, Callable[..., str]] = {
    "overview": from_result(lambda result: results.overview(result.table, "")),
    "ranking": from_result(lambda result, name: results.ranking(result.table, name, "")),
    "share": from_result(results.share, "no results yet"),
    "crossings": from_result(results.crossings, "?"),
    "data-sets": data_sets.table,
    "layer-costs": layers.costs,
    "layer-gains": layers.gains,
    "layer-gains-short": layers.short_gains,
    "layer-differences": layers.differences,
    "report": experiments.report,
    "help": commands.help_block,
    "help-others": commands.help_others,
    "source": source,
}


def filled(markdown: str, where: str) -> str:
    """Return a page with its parts made anew.

    Args:
        markdown: The page.
        where: Its name, for messages.

    Raises:
        ValueError: A part has an unknown name.
    """

    def fill(match: re.Match[str]) -> str:
        name, words = match[1], match[2].split()
        if name not in BLOCKS:
            raise ValueError(f"{where}: unknown marker {name!r}; known: {[*BLOCKS]}.")
        made = BLOCKS[name](*words)
        start = match[0][: match[0].index("-->") + 3]
        # Whole paragraphs and tables need empty lines around them; a number in a line must not.
        return (
            f"{start}\n\n{made.strip()}\n\n<!-- end -->"
            if "\n" in made
            else (f"{start}{made}<!-- end -->")
        )

    return MARKER.sub(fill, markdown)
