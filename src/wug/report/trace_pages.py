"""The pages of one kind of trace: a list of the runs that have some, and a page for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from wug.report.markup import Markup, markup, tag
from wug.report.page import Page, attempted
from wug.report.run_source import RunSource
from wug.report.sources import Sources


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


def chooser(
    run: RunSource,
    label: str,
    groups: Mapping[str, Sequence[Markup]],
    figures: Sequence[Markup],
    left_out: Sequence[str],
) -> Markup:
    """Return players with a choice between them, which the address keeps.

    Args:
        run: Whose they are.
        label: Of the choice.
        groups: The options, by network.
        figures: The players, all but one hidden.
        left_out: What can't be shown, and why.
    """
    options = [tag("optgroup", found, label=name) for name, found in groups.items()]
    choice = tag("label", label, tag("select", options), class_="choice")
    problems = [tag("li", line) for line in left_out]
    return markup(
        [
            tag("div", choice, figures, class_="switch", data_kept=True) if figures else None,
            tag("p", tag("a", "All results of this run", href=run.page)),
            tag("section", tag("h2", "Left out"), tag("ul", problems, class_="problems"))
            if problems
            else None,
        ]
    )
