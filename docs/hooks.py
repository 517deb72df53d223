"""mkdocs hooks: pages that are generated, and markers in the hand-written ones.

A marker is a comment, ``<!-- wug: name words -->``; an unknown name fails the build. No generated
file is kept.
"""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from generators import commands, data_sets, experiments, layers, results, units
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from wug.core import index

FIRST = "mistry2022.single_module"
MARKER = re.compile(r"<!-- wug: ([a-z-]+) (.*?)-->")


def from_result(make: Callable[..., str], nothing: str = results.NOTHING) -> Callable[..., str]:
    """Turn a function of the first experiment's result into one that copes without results."""

    def block(*words: str) -> str:
        result = results.main_result(FIRST)
        return nothing if result is None else make(result, *words)

    return block


def source(path: str) -> str:
    """Return a file of the repository as a code block under its name."""
    text = (Path(__file__).parent.parent / path).read_text(encoding="utf-8")
    return f'```python title="{path}"\n{text}```\n'


BLOCKS: dict[str, Callable[..., str]] = {
    "overview": from_result(lambda result: results.overview(result.table, "")),
    "ranking": from_result(lambda result, name: results.ranking(result.table, name, "")),
    "share": from_result(results.share, "no results yet"),
    "crossings": from_result(results.crossings, "?"),
    "data-sets": data_sets.table,
    "layer-costs": layers.costs,
    "layer-gains": layers.gains,
    "layer-differences": layers.differences,
    "report": experiments.report,
    "help": commands.help_block,
    "help-others": commands.help_others,
    "source": source,
}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the generated pages into the navigation."""
    generated = {
        "Units": [{entry.name: f"units/{entry.key}.md"} for entry in index.entries("unit")],
        "Experiments": [
            {entry.key: f"experiments/{entry.key}.md"} for entry in index.entries("experiment")
        ],
    }
    for section in config.nav:
        for title, pages in section.items():
            if title in generated:
                section[title] = [*(pages or []), *generated[title]]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages; a hand-written page of the same name goes first."""
    pages: dict[str, Callable[[], str]] = {"units/index.md": units.units_page}
    for entry in index.entries("unit"):
        pages[f"units/{entry.key}.md"] = partial(units.unit_page, entry)
    for entry in index.entries("experiment"):
        pages[f"experiments/{entry.key}.md"] = partial(experiments.experiment_page, entry)
        if (result := results.main_result(entry.key)) is not None:
            pages[f"experiments/{entry.key}.svg"] = partial(experiments.picture, result)
    for uri, make in pages.items():
        if files.get_file_from_path(uri) is None:
            files.append(File.generated(config, uri, content=make()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fill the markers."""

    def fill(match: re.Match[str]) -> str:
        name, words = match[1], match[2].split()
        if name not in BLOCKS:
            raise ValueError(f"{page.file.src_uri}: unknown marker {name!r}; known: {[*BLOCKS]}.")
        return BLOCKS[name](*words)

    return MARKER.sub(fill, markdown)
