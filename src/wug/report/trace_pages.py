"""The pages of one kind of trace: one that opens on the best run, and a page for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from wug.report.markup import Markup, markup, tag
from wug.report.page import Page, attempted
from wug.report.run_source import RunSource
from wug.report.sources import Sources

Inside = Callable[[RunSource], Markup]
Weight = Callable[[RunSource], float]


def trace_pages(
    sources: Sources, kind: str, lead: str, inside: Inside, weight: Weight | None = None
) -> Iterator[Page]:
    """Yield the pages of the runs that have traces of a kind.

    Args:
        sources: What a site is made from.
        kind: Of the traces; the pages are called so.
        lead: What is seen on them.
        inside: Makes what is below that on the page of a run.
        weight: Says how much a run has to show; the first page opens on the one with most.
    """
    runs = [run for run in sources.runs if run.traces_of(kind)]
    return run_pages(runs, kind, lead, inside, weight)


def run_pages(
    runs: Sequence[RunSource], kind: str, lead: str, inside: Inside, weight: Weight | None = None
) -> Iterator[Page]:
    """Yield a page that opens on the best of some runs, and a page for each.

    Args:
        runs: Those that have something to show.
        kind: What the pages are called.
        lead: What is seen on them.
        inside: Makes what is below that on the page of a run.
        weight: Says how much a run has to show; else trials come after the others.
    """
    title = kind.capitalize()

    def body(heading: str, run: RunSource) -> Markup:
        parts = [tag("h1", heading), tag("p", lead, class_="lead"), ways(runs, run, kind)]
        return markup([*parts, inside(run)])

    if runs:
        best = max(runs, key=weight or (lambda run: run.label == run.run.scale))
        yield attempted(f"{kind}.html", title, partial(body, title, best))
    for run in runs:
        named = run.short_title.startswith(title)  # such as Masks of two additions
        heading = run.short_title if named else f"{title}: {run.short_title}"
        yield attempted(run.page_of(kind), heading, partial(body, heading, run))


def ways(runs: Sequence[RunSource], here: RunSource, kind: str) -> Markup | None:
    """Return links to all runs; those of one experiment also have their label."""
    if len(runs) < 2:
        return None
    titles = Counter(run.short_title for run in runs)
    links = [
        tag("a", f"{run.short_title} · {run.label}" if titles[run.short_title] > 1
            else run.short_title,
            href=run.page_of(kind), aria_current="page" if run is here else None)
        for run in runs
    ]  # fmt: skip
    return tag("nav", links, class_="runs", aria_label="Experiments")


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


def told_apart(names: Sequence[str]) -> list[str]:
    """Return names of networks without the parts that all of them share.

    Example:
        >>> told_apart(["NDR · A · seed 0", "LSTM · A · seed 0"])
        ['NDR', 'LSTM']
        >>> told_apart(["NDR · A · seed 0"])
        ['NDR · A · seed 0']
    """
    parts = [name.split(" · ") for name in names]
    if len(set(names)) < 2 or len({len(one) for one in parts}) > 1:
        return list(names)
    kept = [i for i, some in enumerate(zip(*parts, strict=True)) if len(set(some)) > 1]
    return [" · ".join(one[i] for i in kept) for one in parts]
