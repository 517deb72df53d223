"""mkdocs hooks: pages that are generated, parts of the hand-written ones, and the site of results.

The site of results (docs/example) is a part of this one: its pages link here, and units have their
pages there alone.
"""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from generators import api, experiments, notebooks, results
from generators.blocks import filled
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from wug.core import index

SIGNS = re.compile(r"<!-- (?:wug: .*?|end )-->")
NOTEBOOK = re.compile(r"\]\(tutorials/(\w+)\.ipynb\)")
TABLE = re.compile(r"\]\((?:\.\./)+src/wug/experiments/(\w+)/(\w+)\.py\)")
SOURCE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+src/wug/units/(\w+)\.py\)")
BRAND = '<a href="index.html" class="brand">wug</a>'
DOCS = '<a href="../index.html">Docs</a>'
LEADS_ON = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>wug</title>
<meta http-equiv="refresh" content="0; url=../example/{target}"></head>
<body><a href="../example/{target}">This page has moved.</a></body></html>
"""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the generated pages into the navigation."""
    generated = {
        "Tutorials": [{title: uri} for title, uri, _ in notebooks.found()],
        "API": [{title: uri} for title, uri, _ in api.pages()],
        "Experiments": [
            {entry.key: f"experiments/{entry.key}.md"} for entry in index.entries("experiment")
        ],
    }

    def fill(sections: list[Any]) -> None:
        for section in sections:
            for title, pages in section.items() if isinstance(section, dict) else ():
                if title in generated:
                    section[title] = [*(pages or []), *generated[title]]
                elif isinstance(pages, list):
                    fill(pages)

    fill(config.nav)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages; a hand-written page of the same name goes first."""
    pages: dict[str, Callable[[], str]] = {uri: partial(str, text) for _, uri, text in api.pages()}
    for entry in index.entries("experiment"):
        pages[f"experiments/{entry.key}.md"] = partial(experiments.experiment_page, entry)
        if (result := results.main_result(entry.key)) is not None:
            pages[f"experiments/{entry.key}.svg"] = partial(experiments.picture, result)
    for _, uri, path in notebooks.found():
        pages[uri] = partial(notebooks.to_markdown, path)
    for uri, make in pages.items():
        if files.get_file_from_path(uri) is None:
            files.append(File.generated(config, uri, content=make()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make the parts anew, and lead from sources, as in the repository, to the pages about them."""
    up = "../" * page.file.src_uri.count("/")
    whole = SIGNS.sub("", filled(markdown, page.file.src_uri))
    whole = NOTEBOOK.sub(r"](tutorials/\1.md)", whole)
    whole = TABLE.sub(rf"]({up}experiments/\1.\2.md)", whole)
    return SOURCE.sub(rf'<a href="{up}example/unit-\2.html">\1</a>', whole)


def on_post_build(config: MkDocsConfig) -> None:
    """Link the site of results with this one; addresses of before lead on."""
    site = Path(config.site_dir)
    for path in sorted((site / "example").glob("*.html")):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(BRAND, BRAND + DOCS, 1), encoding="utf-8")
    (site / "units").mkdir(exist_ok=True)
    leads = {entry.key: f"unit-{entry.key}.html" for entry in index.entries("unit")}
    for name, target in {**leads, "index": "units.html"}.items():
        (site / "units" / f"{name}.html").write_text(LEADS_ON.format(target=target), "utf-8")
