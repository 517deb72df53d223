"""The site: every kind of page that there are records for, as files or as one file."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from wug.records import write_atomic
from wug.report import pages as kinds
from wug.report.page import COMMON, FONT, NEEDS, Page, PageKind, asset, single_file, stand_alone
from wug.report.sources import Sources


def page_kinds() -> list[PageKind]:
    """Return the kinds of page in the order of the navigation."""
    found = [
        importlib.import_module(f"{kinds.__name__}.{module.name}").PAGE
        for module in pkgutil.iter_modules(kinds.__path__)
    ]
    return sorted(found, key=lambda kind: (kind.place, kind.name))


def make_pages(sources: Sources) -> tuple[list[Page], list[tuple[str, str]]]:
    """Return all pages, the first one first, and the links of the navigation."""
    wanted = [k for k in page_kinds() if k.made_from & sources.kinds or not k.place]
    made: list[dict[str, Page]] = []
    for kind in reversed(wanted):  # the overview comes last, since it names what went wrong
        some, problem = pages_of(kind, sources)
        made.insert(0, some)
        if problem:
            sources = replace(sources, problems=(*sources.problems, problem))
    links = [
        (kind.name, kind.start)
        for kind, some in zip(wanted, made, strict=True)
        if kind.name and kind.start in some
    ]
    pages = {path: page for some in made for path, page in some.items()}
    return list(pages.values()), links


def pages_of(kind: PageKind, sources: Sources) -> tuple[dict[str, Page], str]:
    """Return the pages of one kind, and why those that are missing could not be made."""
    pages: dict[str, Page] = {}
    try:
        for page in kind.make(sources):
            pages[page.path] = page
    except Exception as error:  # one kind never ends the whole site
        name = kind.name or kind.make.__module__.rpartition(".")[2]
        return pages, f"{name}: some of these pages could not be made: {error!r}"
    return pages, ""


def write_site(sources: Sources, out: Path, *, one_file: bool = False) -> int:
    """Write the site and return how many pages it has.

    Args:
        sources: What it is made from.
        out: The folder; with `one_file` the file, or a folder for an index.html.
        one_file: Whether all pages go into one file.

    Raises:
        StorageError: The disk refuses.
    """
    pages, links = make_pages(sources)
    if one_file:
        path = out if out.suffix == ".html" else out / "index.html"
        write_atomic(path, single_file(pages, links))
        return len(pages)
    for name in asset_names():
        write_atomic(out / "assets" / name, asset(name))
    for page in pages:
        write_atomic(out / page.path, stand_alone(page, links))
        for name, make in page.scripts.items():
            write_atomic(out / "assets" / name, make())
    return len(pages)


def asset_names() -> Iterator[str]:
    """Yield all files that pages load, and the licences of those that are not ours."""
    yield from COMMON
    yield "vendor/LICENSES.txt"
    for names in NEEDS.values():
        yield from names
    styles = asset("vendor/katex.min.css").decode()
    yield from (f"vendor/{name}" for name in dict.fromkeys(FONT.findall(styles)))
