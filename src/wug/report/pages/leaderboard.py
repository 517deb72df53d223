"""How well models do outside of what they were trained on, as a picture and ranked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from wug.report.markup import Markup, markup, tag
from wug.report.page import Page, PageKind, attempted
from wug.report.papers import Paper, papers_of
from wug.report.scatter import Point, scatter
from wug.report.sources import Sources, unit_page
from wug.report.standings import Contest, Standing, by_claim
from wug.report.tracks import in_words, legend, scale_of, track

COLOURS = tuple(f"var(--group-{place})" for place in range(6))
LEAD = "Who has learnt the rule? How much models get right where they were trained, and outside."
HOW = (
    "Each point is a model in one experiment, at its best case. On the line nothing is lost "
    "outside; far below it, the list was learnt and not the rule.",
    "For arithmetic units, trainings count whose error is within the bound of the experiment; for "
    "the others, right answers.",
    "Points lead to the experiment, which says how they came about; points that would cover each "
    "other stand side by side, at their true height.",
)
MOST_ROWS = 8


def make(sources: Sources) -> Iterator[Page]:
    """Yield the one page; the first run of each experiment counts."""
    contests = by_claim(sources.mains)
    if contests:
        yield attempted("leaderboard.html", "Leaderboard", partial(body, sources, contests))


def body(sources: Sources, contests: Mapping[str, list[Contest]]) -> Markup:
    """Return what is on the page."""
    papers = {item.key: paper for paper in papers_of(sources) for item in paper.items}
    sections = [
        tag(
            "section",
            tag("h2", claim.capitalize() or "Tasks"),
            tag("div", [board(sources, papers, contest) for contest in some], class_="boards"),
            id=f"board-{claim}" if claim else "board",
        )
        for claim, some in contests.items()
    ]
    return markup(
        [
            tag("h1", "Leaderboard"),
            tag("p", LEAD, class_="lead"),
            picture(sources, contests),
            legend(),
            sections,
        ]
    )


def name_of(sources: Sources, standing: Standing) -> str:
    """Return what people call the unit or model of a row."""
    unit = standing.model.unit
    return str(sources.entries.get(unit, {}).get("name") or unit)


def picture(sources: Sources, contests: Mapping[str, list[Contest]]) -> Markup | None:
    """Return the best case of each model in each experiment as a point."""
    points = [
        point_of(sources, contest, group[0])
        for some in contests.values()
        for contest in some
        if contest.kind != "measured"
        for group in contest.folded
        if not math.isnan(group[0].inside) and math.isfinite(group[0].outside.value)
    ]
    if not points:
        return None
    points.sort(key=lambda point: (point.group == "extrapolation", -point.y, -point.x))
    groups = dict.fromkeys(point.group for point in points)
    order = [claim or "tasks" for claim in contests if (claim or "tasks") in groups]
    colours = {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(order)}
    return scatter(
        points, colours, across_name="right in distribution", up_name="right out of distribution",
        about="Models: in distribution against out of distribution",
        beside=markup([tag("p", line) for line in HOW]),
    )  # fmt: skip


def point_of(sources: Sources, contest: Contest, standing: Standing) -> Point:
    """Return a row of an experiment as a point."""
    outside, (row, unit) = standing.outside, standing.model
    case = f" ({row})" if row != unit else ""
    return Point(
        x=standing.inside, y=outside.value, name=name_of(sources, standing),
        low=outside.low if outside.has_interval else None,
        high=outside.high if outside.has_interval else None,
        words=f"{name_of(sources, standing)}{case}, {contest.run.short_title}: "
        f"{in_words(contest, standing)}",
        href=contest.run.page, group=contest.claim or "tasks",
    )  # fmt: skip


def board(sources: Sources, papers: Mapping[str, Paper], contest: Contest) -> Markup:
    """Return the ranking of one experiment; the cases of a model are folded behind its best."""
    run = contest.run
    scale = scale_of(contest)
    lines = [ranked(sources, contest, group, scale) for group in contest.folded]
    what = {"answers": "right answers", "solved": "solved trainings"}.get(
        contest.kind, f"{contest.measure.title.lower()}, {contest.measure.better} is better"
    )
    paper = papers.get(run.experiment)
    source = tag("a", paper.cited or paper.title, href=paper.page) if paper is not None else None
    rest = lines[MOST_ROWS:]
    more = tag("summary", f"{len(rest)} more") if rest else None
    return tag(
        "div",
        tag("h3", tag("a", run.short_title, href=run.page)),
        tag("p", what, " · ", source, class_="soft"),
        tag("ol", lines[:MOST_ROWS], class_="ranking"),
        tag("details", more, tag("ol", rest, class_="ranking", start=MOST_ROWS + 1))
        if rest
        else None,
        class_="contest",
    )


def ranked(sources: Sources, contest: Contest, group: list[Standing], scale: float) -> Markup:
    """Return a model's line, with its other cases behind it."""
    best, *others = group
    unit = best.model.unit
    name = name_of(sources, best)
    case = tag("small", best.model.row) if best.model.row != unit else None
    who = tag("span", tag("a", name, href=unit_page(unit)), " ", case, class_="who")
    cases = [
        tag("li", tag("span", tag("small", other.model.row), class_="who"),
            track(contest, other, scale), class_="line")
        for other in others
    ]  # fmt: skip
    word = "case" if len(cases) == 1 else "cases"
    more: Any = None
    if cases:
        more = tag("details", tag("summary", f"{len(cases)} more {word}"), tag("ul", cases))
    return tag("li", tag("div", who, track(contest, best, scale), class_="line"), more)


PAGE = PageKind(
    name="Leaderboard",
    start="leaderboard.html",
    place=10,
    made_from=frozenset({"scalar", "curve"}),
    make=make,
)
