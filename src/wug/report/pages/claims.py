"""All claims of the papers: which hold on our results, with the evidence, and what is open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

from wug.report.claims import claim_group, claim_item
from wug.report.markup import Markup, markup, tag, verdict_bar
from wug.report.page import Page, PageKind, attempted
from wug.report.run_source import RunSource
from wug.report.sources import Sources

ORDER = ("broken", "held", "undecided")


def make(sources: Sources) -> Iterator[Page]:
    """Yield the one page; the first run of each experiment counts."""
    runs = [run for run in sources.mains if run.catalog["claims"]]
    if runs:
        yield attempted("claims.html", "Claims", partial(body, runs))


def body(runs: list[RunSource]) -> Markup:
    """Return what is on the page."""
    verdicts: Counter[str] = Counter()
    for run in runs:
        verdicts.update(run.verdicts)
    words = ", ".join(f"{verdicts[name]} {name}" for name in ("held", "broken", "undecided"))
    lead = (
        f"{sum(verdicts.values())} claims of the papers, judged on our own trainings: {words}. A "
        "claim is held or broken where 95 % intervals leave no doubt; the rest says what is "
        "missing. Open one to see all of the evidence, ours and that of the published numbers."
    )
    groups = [
        claim_group(
            f"{verdicts[verdict]} {verdict}",
            [
                claim_item(claim, run, named=True)
                for run in runs
                for claim in run.catalog["claims"]
                if claim["ours"]["verdict"] == verdict
            ],
        )
        for verdict in ORDER
    ]
    return markup(
        [
            tag("h1", "Claims"),
            tag("p", lead, class_="lead"),
            tag("div", verdict_bar(verdicts), class_="glance"),
            tag("div", groups, class_="claims filterable"),
        ]
    )


PAGE = PageKind(
    name="Claims", start="claims.html", place=15, made_from=frozenset({"run"}), make=make
)
