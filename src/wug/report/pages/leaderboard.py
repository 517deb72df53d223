"""Models against tasks: how much of each was solved, and the error inside beside that outside."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median

from wug.report.markup import Markup, data_table, markup, tag
from wug.report.page import Page, PageKind
from wug.report.sources import RunSource, Sources, unit_page
from wug.report.table import TableCell
from wug.report.table_text import number


def make(sources: Sources) -> Iterator[Page]:
    """Yield the one page; the first run of each experiment counts."""
    groups: dict[str, list[RunSource]] = {}
    for runs in sources.experiments.values():
        if runs[0].records:
            groups.setdefault(runs[0].catalog.get("claim", ""), []).append(runs[0])
    if not groups:
        return
    body: list[object] = [
        tag("h1", "Leaderboard"),
        tag("p", "Per cent of the trainings that were solved, of all cells of an experiment. Below "
            "it the median error in distribution → out of distribution: where the second is much "
            "larger, the rule was not learned. Experiments differ in what they ask of a model, so "
            "compare within a column.", class_="lead"),
    ]  # fmt: skip
    for claim in sorted(groups):
        body.append(
            tag("section", tag("h2", claim.capitalize() or "Tasks"), board(groups[claim], claim))
        )
    yield Page(path="leaderboard.html", title="Leaderboard", body=markup(body))


def board(runs: Sequence[RunSource], claim: str) -> Markup:
    """Return the table of one claim."""
    found: dict[str, dict[int, list[TableCell]]] = {}
    for place, run in enumerate(runs):
        for cell in run.table.shown():
            if cell.ours is not None:
                found.setdefault(cell.row[0], {}).setdefault(place, []).append(cell)
    # What was tried on many tasks comes first.
    names = sorted(found, key=lambda name: (-len(found[name]), name))
    rows = [
        [
            tag("a", name, href=unit_page(name)),
            *(summary(found[name].get(place, [])) for place in range(len(runs))),
        ]
        for name in names
    ]
    headings = ["model", *(run.short_title for run in runs)]
    return data_table(
        headings, rows, caption=f"Leaderboard {claim}".strip(), numeric=range(1, len(headings)),
        name=f"board-{claim}" if claim else "board",
    )  # fmt: skip


def summary(cells: Sequence[TableCell]) -> Markup:
    """Return one cell: the share of solved trainings, and both errors."""
    runs = [cell.ours for cell in cells if cell.ours is not None]
    if not runs:
        return tag("td", class_="number", data_sort="-1")
    share = sum(run.successes for run in runs) / sum(run.trials for run in runs)
    inside = [v for run in runs for v in run.validation_errors]
    outside = [v for run in runs for v in run.test_errors]
    both = f"{spelled(inside)} → {spelled(outside)}" if inside and outside else ""
    bar = tag("span", class_="share", style=f"width:{100 * share:.0f}%")
    return tag(
        "td", tag("b", f"{100 * share:.0f}"), tag("small", both), bar, class_="number board",
        data_sort=share,
    )  # fmt: skip


def spelled(errors: Sequence[float]) -> str:
    """Spell the median of errors; a diverged training is worse than any other."""
    middle = median(math.inf if math.isnan(error) else error for error in errors)
    return "∞" if middle == math.inf else number(middle, "error")


PAGE = PageKind(
    name="Leaderboard",
    start="leaderboard.html",
    place=10,
    made_from=frozenset({"scalar", "curve"}),
    make=make,
)
