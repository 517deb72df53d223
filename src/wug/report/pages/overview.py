"""The front page: a network at work that a person can ask, figures at a glance, the experiments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from wug.records import kept_accuracy
from wug.report.asking import asking, choices
from wug.report.markup import Markup, markup, tag, verdict_bar
from wug.report.page import Page, PageKind, attempted, duration
from wug.report.papers import paper_fold, papers_of
from wug.report.sources import Sources

HOOK = "This is a wug. Now there is another one. There are two ___."
TITLE = "A network that learnt the rule, not the list"
WHAT = (
    "wug is a Python library for networks that learn the rule: units, routers and memories, tasks "
    "that test them outside of what they were trained on, an engine that trains thousands of seeds "
    "on a laptop, and the published numbers and claims beside ours."
)


def make(sources: Sources) -> Iterator[Page]:
    """Yield the one page."""
    found = asking(sources)
    box, scripts = found if found is not None else (None, {})
    page = attempted("index.html", "Networks that learn the rule", partial(body, sources, box))
    yield replace(page, body=markup([page.body, problems(sources)]), scripts=scripts)


def body(sources: Sources, box: Markup | None) -> Markup:
    """Return what is on the page, but for the problems."""
    hero = (
        [tag("p", HOOK, class_="hook"), tag("h1", TITLE), box]
        if box is not None
        else [tag("p", HOOK, class_="hook"), tag("h1", "Networks that learn the rule")]
    )
    folds = [paper_fold(paper) for paper in papers_of(sources)]
    return markup(
        [
            tag("div", hero, class_="hero"),
            tag("section", tag("p", WHAT, class_="lead"), figures(sources), id="claims"),
            tag("section", tag("h2", "Experiments by paper"), folds, id="runs") if folds else None,
        ]
    )


def figure(value: object, words: object, href: str, below: object = None) -> Markup:
    """Return one headline figure, which leads to where it is from."""
    return tag("a", tag("b", value), tag("span", words), below, href=href, class_="headline")


def figures(sources: Sources) -> Markup:
    """Return the four figures at a glance; those that nothing is known of are left out."""
    kinds = (agreement, generalisation, claims, trainings)
    found = [made for made in (kind(sources) for kind in kinds) if made is not None]
    return tag("div", found, class_="headlines")


def agreement(sources: Sources) -> Markup | None:
    """Return how many published success rates ours agree with."""
    counted = [(run.table.agreement(), run) for run in sources.mains]
    agree, compared = (sum(pair[place] for pair, _ in counted) for place in (0, 1))
    if not compared:
        return None
    most = max(counted, key=lambda one: one[0][1])[1]
    words = "published success rates that ours agree with, by 95 % intervals"
    return figure(f"{agree} of {compared}", words, most.page)


def generalisation(sources: Sources) -> Markup | None:
    """Return how a router does on problems that are longer than those of training."""
    for run, router, _, problem in choices(sources)[:1]:
        accuracy, levels = kept_accuracy(router.about), problem["levels"]
        if accuracy is not None and {"train", "test"} <= levels.keys():
            train, test = levels["train"][1], " and ".join(map(str, levels["test"]))
            words = f"right at {problem['level']} {test}, trained up to {train}: {run.short_title}"
            kind = "routing" if run.traces_of("routing") else "run"
            return figure(f"{100 * accuracy:.3g} %", words, run.page_of(kind))
    return None


def claims(sources: Sources) -> Markup | None:
    """Return how many claims of the papers are decided."""
    verdicts: Counter[str] = Counter()
    for run in sources.mains:
        verdicts.update(run.verdicts)
    if not verdicts:
        return None
    words = "claims of the papers: held, broken, undecided"
    return figure(sum(verdicts.values()), words, "claims.html", verdict_bar(verdicts))


def trainings(sources: Sources) -> Markup | None:
    """Return how many trainings there are, and what they cost."""
    runs = [run for run in sources.runs if not run.is_smoke]
    count = sum(run.num_records for run in runs)
    if not count:
        return None
    cost = duration(sum(run.seconds for run in runs))
    ranked = any(run.records for run in sources.mains)
    href = "leaderboard.html" if ranked else sources.mains[0].page
    return figure(f"{count:,}", f"trainings, {cost} of computing", href)


def problems(sources: Sources) -> Markup:
    """Return what can't be shown, by name."""
    lines = [
        *sources.problems,
        *(f"{run.name}: {problem}" for run in sources.runs for problem in run.problems),
    ]
    if not lines:
        return Markup()
    return tag(
        "section",
        tag("h2", "Problems"),
        tag("p", "These can't be read or shown in full. What could be read is shown."),
        tag("ul", [tag("li", line) for line in lines], class_="problems"),
    )


PAGE = PageKind(
    name="Overview",
    start="index.html",
    place=0,
    made_from=frozenset({"scalar", "curve", "table", "formula", "trace"}),
    make=make,
)
