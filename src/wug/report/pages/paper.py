"""One page for each paper: what it says, what holds, and which of its tables were run."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from wug.report.claims import claim_group, claim_item
from wug.report.markup import Markup, markup, tag, verdict_bar
from wug.report.page import Page, PageKind, attempted
from wug.report.papers import Paper, paper_body, paper_fold, papers_of
from wug.report.sources import Sources

LEAD = (
    "What each paper says, which of its tables were run here, and which of its claims hold on our "
    "results."
)


def make(sources: Sources) -> Iterator[Page]:
    """Yield the list and a page for each paper."""
    papers = papers_of(sources)
    if papers:
        yield attempted("papers.html", "Papers", partial(index, papers))
    for paper in papers:
        yield attempted(paper.page, paper.title, partial(body, paper))


def index(papers: list[Paper]) -> Markup:
    """Return the list of all."""
    folds = [paper_fold(paper) for paper in papers]
    return markup([tag("h1", "Papers"), tag("p", LEAD, class_="lead"), folds])


def body(paper: Paper) -> Markup:
    """Return the page of one."""
    verdicts = paper.verdicts
    words = ", ".join(f"{verdicts[name]} {name}" for name in ("held", "broken", "undecided"))
    groups = [
        claim_group(tag("a", run.short_title, href=run.page), items)
        for run in paper.done
        if (items := [claim_item(claim, run) for claim in run.catalog["claims"]])
    ]
    return markup(
        [
            tag("h1", paper.title),
            tag("p", paper.cited, class_="soft") if paper.cited else None,
            tag("p", paper.says, class_="lead") if paper.says else None,
            tag("section", tag("h2", "Its tables here"), paper_body(paper, waiting=True)),
            tag("section", tag("h2", "What holds"),
                tag("p", f"{sum(verdicts.values())} claims were judged: {words}."),
                tag("div", verdict_bar(verdicts), class_="glance"),
                tag("div", groups, class_="claims filterable")) if groups else None,
        ]
    )  # fmt: skip


PAGE = PageKind(
    name="Papers", start="papers.html", place=16, made_from=frozenset({"run"}), make=make
)
