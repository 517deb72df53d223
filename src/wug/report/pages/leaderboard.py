"""Models against tasks, claim by claim: how well each does outside, with the inside beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import NamedTuple

from wug.report.markup import Markup, data_table, markup, tag
from wug.report.page import Page, PageKind
from wug.report.sources import RunSource, Sources, unit_page
from wug.stats.comparison_table import TableCell
from wug.stats.measures import MEASURES, Measure
from wug.stats.runs import RunSummary

# Others come behind, in the order of the alphabet; the tasks of old catalogs say nothing.
CLAIMS = ("extrapolation", "productivity", "systematicity", "memory")
# Models that were tried less often are in the boards of their claims alone.
MANY = 2


class Model(NamedTuple):
    """A row of a table, and the unit or model that it is a case of."""

    row: str
    unit: str


@dataclass(frozen=True, kw_only=True)
class Contest:
    """What the models of a run did on its tasks of one claim.

    Args:
        title: Of the run.
        measure: What its table shows.
        runs: Of each model, one for each of its cells.
    """

    title: str
    measure: Measure
    runs: dict[Model, list[RunSummary]] = field(default_factory=dict)

    @property
    def counts_answers(self) -> bool:
        """Whether its measure is a share of answers; else what was solved counts."""
        return self.measure.is_share and self.measure.name != "success"

    def score(self, model: Model) -> float:
        """Return the share of right answers out of distribution, or of solved trainings."""
        runs = self.runs[model]
        if self.counts_answers:
            return fmean(run[self.measure.name].value for run in runs)
        return sum(run.successes for run in runs) / sum(run.trials for run in runs)

    def inside(self, model: Model) -> float:
        """Return the share of right answers in distribution; NaN where answers don't count."""
        name = self.measure.inside if self.counts_answers else ""
        values = [run[name].value for run in self.runs[model] if name in run]
        return fmean(values) if values else math.nan

    def errors(self, model: Model) -> str:
        """Spell the median errors in and out of distribution."""
        whole = MEASURES["error"] if self.measure.is_share else self.measure
        inside, outside = (
            [value for run in self.runs[model] if name in run for value in run.of_runs(name)]
            for name in (whole.inside, whole.name)
        )
        if not inside or not outside:
            return ""
        return f"{spelled(inside, whole)} → {spelled(outside, whole)}"


Contests = dict[str, list[Contest]]


def make(sources: Sources) -> Iterator[Page]:
    """Yield the one page; the first run of each experiment counts."""
    contests = by_claim(runs[0] for runs in sources.experiments.values())
    if not contests:
        return
    body = [
        tag("h1", "Leaderboard"),
        tag("p", "How well models do outside of what they were trained on: per cent of right "
            "answers out of distribution, with those in distribution below; for arithmetic units, "
            "per cent of the trainings that were solved, with the median errors in distribution → "
            "out of distribution. Where the second is much worse, the rule was not learned. "
            "Experiments differ in what they ask of a model, so compare within a column.",
            class_="lead"),
        glance(contests),
        *(
            tag("section", tag("h2", claim.capitalize() or "Tasks"), board(some, claim))
            for claim, some in contests.items()
        ),
    ]  # fmt: skip
    yield Page(path="leaderboard.html", title="Leaderboard", body=markup(body))


def by_claim(runs: Iterable[RunSource]) -> Contests:
    """Return what was tried for each claim; the columns of a run may test different ones."""
    found: dict[str, dict[str, Contest]] = {}
    for run in runs:
        columns: Mapping[str, str] = run.catalog.get("column_claims", {})
        units: Mapping[str, str] = run.catalog.get("row_units", {})
        cells: Iterable[TableCell] = run.table.shown() if run.records else ()
        for cell in cells:
            if cell.ours is not None:
                claim = columns.get(cell.column, run.catalog.get("claim", ""))
                empty = Contest(title=run.short_title, measure=run.table.measure)
                contest = found.setdefault(claim, {}).setdefault(run.name, empty)
                model = Model(cell.row[0], units.get(cell.row[0], cell.row[0]))
                contest.runs.setdefault(model, []).append(cell.ours)
    order = {claim: place for place, claim in enumerate(CLAIMS)}
    claims = sorted(found, key=lambda claim: (order.get(claim, len(order)), claim))
    return {claim: list(found[claim].values()) for claim in claims}


def glance(contests: Contests) -> Markup:
    """Return the table of claims, with the models that were tried often enough."""
    entries = {
        (model, claim): [contest for contest in some if model in contest.runs]
        for claim, some in contests.items()
        for model in names(some)
    }
    tried: dict[Model, int] = {}
    for (model, _), some in entries.items():
        tried[model] = tried.get(model, 0) + len(some)
    often = sorted((m for m, count in tried.items() if count >= MANY), key=lambda m: -tried[m])
    if len(contests) < MANY or not often:
        return Markup()
    rows = [
        [model_link(model), *(mean_cell(model, entries.get((model, c), [])) for c in contests)]
        for model in often
    ]
    headings = ["model", *(claim or "other" for claim in contests)]
    return tag(
        "section",
        tag("h2", "Claims"),
        tag("p", "Means over the experiments of a claim, of models in two experiments or more."),
        data_table(
            headings, rows, caption="Claims", numeric=range(1, len(headings)), name="board-claims"
        ),
    )


def names(contests: Sequence[Contest]) -> list[Model]:
    """Return all models of some contests, those that were tried on many tasks first."""
    tried = [model for contest in contests for model in contest.runs]
    return sorted(set(tried), key=lambda model: (-tried.count(model), model))


def board(contests: Sequence[Contest], claim: str) -> Markup:
    """Return the table of one claim."""
    rows = [
        [model_link(model), *(contest_cell(model, contest) for contest in contests)]
        for model in names(contests)
    ]
    headings = ["model", *(contest.title for contest in contests)]
    return data_table(
        headings, rows, caption=f"Leaderboard {claim}".strip(), numeric=range(1, len(headings)),
        name=f"board-{claim}" if claim else "board",
    )  # fmt: skip


def model_link(model: Model) -> Markup:
    """Return the name of a row, which leads to the page of its unit, and that unit's key."""
    link = tag("a", model.row, href=unit_page(model.unit))
    case = model.unit != model.row
    return markup([link, " ", tag("small", model.unit)]) if case else link


def contest_cell(model: Model, contest: Contest) -> Markup:
    """Return one cell of a board."""
    if model not in contest.runs:
        return share_cell(None, "")
    inside = contest.inside(model)
    return share_cell(
        contest.score(model), contest.errors(model) if math.isnan(inside) else in_words(inside)
    )


def mean_cell(model: Model, contests: Sequence[Contest]) -> Markup:
    """Return one cell of the table of claims."""
    if not contests:
        return share_cell(None, "")
    known = [v for v in (contest.inside(model) for contest in contests) if not math.isnan(v)]
    count = f"{len(contests)} experiment{'s' if len(contests) > 1 else ''}"
    words = f"{in_words(fmean(known))} · {count}" if known else count
    return share_cell(fmean(contest.score(model) for contest in contests), words)


def in_words(inside: float) -> str:
    """Spell the share of right answers in distribution."""
    return f"in distribution {MEASURES['accuracy'].text(inside)}"


def share_cell(share: float | None, words: str) -> Markup:
    """Return a share with words below it and a bar."""
    if share is None:
        return tag("td", class_="number", data_sort="-1")
    bar = tag("span", class_="share", style=f"width:{100 * share:.0f}%")
    return tag(
        "td", tag("b", MEASURES["success"].text(share)), tag("small", words), bar,
        class_="number board", data_sort=share,
    )  # fmt: skip


def spelled(values: Sequence[float], measure: Measure) -> str:
    """Spell the median; a diverged training is worse than any other."""
    middle = median(values)
    return "∞" if middle == math.inf else measure.text(middle)


PAGE = PageKind(
    name="Leaderboard",
    start="leaderboard.html",
    place=10,
    made_from=frozenset({"scalar", "curve"}),
    make=make,
)
