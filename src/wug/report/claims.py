"""A claim of a paper on a page: its verdicts, the evidence, and what would decide it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wug.report.evidence import brief, spoken
from wug.report.markup import Markup, pill, tag
from wug.report.run_source import RunSource
from wug.stats.comparison_table import measures_of

SIDES = (("ours", "our results"), ("published", "published numbers"))
# What stands in place of a source where no paper makes the claim.
OWN = "a question of our own"


def claim_item(claim: Mapping[str, Any], run: RunSource, *, named: bool = False) -> Markup:
    """Return one claim: its verdict and evidence in a line or two, all of it when opened.

    Args:
        claim: Of a cleaned catalog.
        run: What it was judged on.
        named: Whether it says what it was judged on, for pages of several runs.
    """
    sides = []
    measures = measures_of(run.catalog)
    judgements = {who: spoken(claim[who], measures) for who, _ in SIDES}
    for who, name in SIDES:
        judged = judgements[who]
        evidence = tag("ul", [tag("li", item) for item in judged["evidence"]])
        title = tag("h4", name, " ", pill(judged["verdict"]))
        sides.append(tag("div", title, evidence if judged["evidence"] else None))
    ours = judgements["ours"]
    verdict = ours["verdict"]
    note = tag("small", claim["note"], class_="brief") if claim.get("note") else None
    said = tag("small", brief(ours), class_="brief")
    statement = tag("span", claim["statement"], said, note)
    source = OWN if claim["source"] == "ours" else claim["source"]
    where = f"{run.short_title} · {source}" if named else source
    summary = tag("summary", pill(verdict), statement, tag("small", where))
    more = tag("p", tag("a", run.title, href=run.page), class_="soft") if named else None
    return tag("details", summary, tag("div", sides, class_="evidence"), more, data_verdict=verdict)


def claim_group(title: object, items: Sequence[Markup]) -> Markup | None:
    """Return claims under a heading, which the filter hides with them; None without any."""
    return tag("div", tag("h3", title), items, class_="group") if items else None
