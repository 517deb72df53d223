"""The pages of one kind of trace: a list of the runs that have some, and a page for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from wug.report.markup import Markup
from wug.report.page import Page, attempted
from wug.report.sources import RunSource, Sources


def trace_pages(
    sources: Sources,
    kind: str,
    index: Callable[[list[RunSource]], Markup],
    body: Callable[[RunSource], Markup],
) -> Iterator[Page]:
    """Yield the list of runs, and a page for each that has traces of a kind.

    Args:
        sources: What a site is made from.
        kind: Of the traces; the pages are called so.
        index: Makes the list.
        body: Makes what is inside the page of a run.
    """
    runs = [run for run in sources.runs if run.traces_of(kind)]
    title = kind.capitalize()
    if runs:
        yield attempted(f"{kind}.html", title, partial(index, runs))
    for run in runs:
        yield attempted(run.page_of(kind), f"{title}: {run.short_title}", partial(body, run))
