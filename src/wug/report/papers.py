"""Experiments by paper and chapter: which were run, what they cost, and what they say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wug.report.markup import Markup, markup, slug, tag, verdict_bar
from wug.report.page import duration
from wug.report.run_source import RunSource
from wug.report.sources import Sources

OURS = "wug"
NUMBER = re.compile(r"(?<![\w.])(\d+)\.\d")
WHERE = re.compile(r"^(?P<name>.*?) \((?P<paper>.+?, \d{4})(?:, (?P<where>[^()]*))?\)$")


@dataclass(frozen=True, kw_only=True)
class Item:
    """An experiment of a paper.

    Args:
        key: Of the experiment.
        name: For people.
        where: The tables or figures that it is.
        runs: Of it; the first one counts.
        cost: What it takes, by scale, in words.
    """

    key: str
    name: str
    where: str
    runs: tuple[RunSource, ...] = ()
    cost: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper with its experiments.

    Args:
        key: As in a bibliography.
        title: Of the paper; the authors if nobody knows it.
        cited: Authors and year.
        says: What it says, in our words.
        chapters: Of a book, the experiments by chapter; else all under no name.
    """

    key: str
    title: str
    cited: str = ""
    says: str = ""
    chapters: dict[str, list[Item]] = field(default_factory=dict)

    @property
    def items(self) -> list[Item]:
        """All experiments."""
        return [item for items in self.chapters.values() for item in items]

    @property
    def done(self) -> list[RunSource]:
        """The runs that count."""
        return [item.runs[0] for item in self.items if item.runs]

    @property
    def verdicts(self) -> Counter[str]:
        """How many claims are held, broken and undecided."""
        found: Counter[str] = Counter()
        for run in self.done:
            found.update(run.verdicts)
        return found

    @property
    def page(self) -> str:
        """The file of its page."""
        return f"paper-{slug(self.key)}.html"


def papers_of(sources: Sources) -> list[Paper]:
    """Return the papers of all experiments, those with runs first, ours last."""
    keys = dict.fromkeys([*sources.registered, *sources.experiments])
    found: dict[str, Paper] = {}
    for key in keys:
        prefix = key.partition(".")[0] if "." in key else OURS
        runs = tuple(sources.experiments.get(key, ()))
        title = WHERE.match(runs[0].title) if runs else None
        registered = sources.registered.get(key, {})
        about = sources.papers.get(prefix, {})
        if prefix not in found:
            cited = f"{about['authors']}, {about['year']}" if about else ""
            plain = title["paper"] if title and prefix != OURS else prefix
            name = about.get("title") or ("Of our own" if prefix == OURS else plain)
            found[prefix] = Paper(
                key=prefix, title=str(name), cited=cited, says=str(about.get("says", ""))
            )
        details: Any = registered.get("details")
        source = details.get("source", "") if isinstance(details, Mapping) else ""
        where = str(source or (title["where"] if title else "") or "")
        name = registered.get("name") or (runs[0].short_title if runs else key)
        cost: Any = registered.get("cost") or {}
        item = Item(key=key, name=str(name), where=where, runs=runs, cost=cost)
        chapters = found[prefix].chapters
        chapters.setdefault(chapter_of(where, about.get("chapters") or {}), []).append(item)
    for paper in found.values():
        ordered = sorted(paper.chapters.items(), key=lambda pair: (not pair[0], pair[0]))
        paper.chapters.clear()
        paper.chapters.update(
            (name, sorted(items, key=lambda item: not item.runs)) for name, items in ordered
        )
    return sorted(found.values(), key=lambda p: (p.key == OURS, -len(p.done), p.key))


def chapter_of(where: str, chapters: Mapping[str, str]) -> str:
    """Return the chapter that a table is of; empty for papers without chapters.

    Example:
        >>> chapter_of("tables 5.1 and D.1", {"5": "Routers"}), chapter_of("figure C.3", {"5": "x"})
        ('5. Routers', 'Appendices')
        >>> chapter_of("appendix B.2.1", {"2": "Memory"})
        'Appendices'
    """
    if not chapters:
        return ""
    number = NUMBER.search(where)
    if number is None or number[1] not in chapters:
        return "Appendices"
    return f"{number[1]}. {chapters[number[1]]}"


def item_line(item: Item) -> Markup:
    """Return an experiment that was run: its state and its cost."""
    run, *others = item.runs
    more = [tag("a", other.label, href=other.page) for other in others]
    also = ["; also ", *(part for link in more for part in (link, ", "))][:-1] if more else []
    count = run.num_records
    trained = f"{count:,} training{'s' if count != 1 else ''} in {duration(run.seconds)}"
    cost = " · ".join(filter(None, (trained if count else "nothing yet", run.label, run.finished)))
    agree, compared = run.table.agreement()
    agreed = f" · {agree} of {compared} cells agree" if compared else ""
    return tag(
        "li",
        tag("span", tag("a", item.name, href=run.page), tag("small", item.where), class_="what"),
        tag("span", cost, agreed, also, class_="cost"),
        verdict_bar(run.verdicts) if run.verdicts else tag("span", "no claims", class_="cost"),
    )


def waiting_line(item: Item) -> Markup:
    """Return an experiment that was not run: what it would take, and how it is asked for."""
    cost = " · ".join(f"{scale} {words}" for scale, words in item.cost.items())
    return tag(
        "li",
        tag("span", item.name, " ", tag("small", item.where), class_="what"),
        tag("span", cost, class_="cost"),
        tag("code", f"wug run {item.key}"),
    )


def paper_body(paper: Paper, *, waiting: bool) -> Markup:
    """Return the experiments of a paper, by chapter.

    Args:
        paper: The paper.
        waiting: Whether those that were not run are named, too, with what they would take.
    """
    parts: list[object] = []
    for name, items in paper.chapters.items():
        done = [item_line(item) for item in items if item.runs]
        left = [waiting_line(item) for item in items if not item.runs] if waiting else []
        if not done and not left:
            continue
        parts.append(tag("h3", name) if name else None)
        parts.append(tag("ul", done, class_="experiments") if done else None)
        parts.append(tag("ul", left, class_="experiments waiting") if left else None)
    return markup(parts)


def paper_fold(paper: Paper) -> Markup:
    """Return a paper in one line, which opens to its experiments."""
    state = f"{len(paper.done)} of {len(paper.items)} tables run"
    seconds = sum(run.seconds for run in paper.done)
    cost = f" · {duration(seconds)} of computing" if seconds else ""
    summary = tag(
        "summary",
        tag("span", tag("b", paper.title), tag("small", paper.cited), class_="what"),
        tag("span", state, cost, class_="cost"),
        verdict_bar(paper.verdicts) if paper.verdicts else tag("span"),
    )
    link = tag("p", tag("a", "What it says, what holds, and all its tables", href=paper.page))
    inside = paper_body(paper, waiting=False)
    return tag("details", summary, inside, link, class_="paper", data_open_wide=bool(paper.done))
