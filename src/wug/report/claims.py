"""A claim of a paper on a page: its verdicts, the evidence, and what would decide it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wug.report.markup import Markup, markup, pill, tag
from wug.report.run_source import RunSource

SIDES = (("ours", "our results"), ("published", "published numbers"))
MOST_BRIEF = 3


def claim_item(claim: Mapping[str, Any], run: RunSource | None = None) -> Markup:
    """Return one claim: its verdict and evidence in a line or two, all of it when opened.

    Args:
        claim: Of a cleaned catalog.
        run: What it was judged on, on pages of several.
    """
    sides = []
    for who, name in SIDES:
        judged = claim[who]
        evidence = tag("ul", [tag("li", item) for item in judged["evidence"]])
        title = tag("h4", name, " ", pill(judged["verdict"]))
        sides.append(tag("div", title, evidence if judged["evidence"] else None))
    ours = claim["ours"]
    verdict = ours["verdict"]
    statement = tag("span", claim["statement"], tag("small", brief(ours), class_="brief"))
    where = f"{run.short_title} · {claim['source']}" if run else claim["source"]
    summary = tag("summary", pill(verdict), statement, tag("small", where))
    more = tag("p", tag("a", run.title, href=run.page), class_="soft") if run else None
    return tag("details", summary, tag("div", sides, class_="evidence"), more, data_verdict=verdict)


def claim_group(title: object, items: Sequence[Markup]) -> Markup | None:
    """Return claims under a heading, which the filter hides with them; None without any."""
    return tag("div", tag("h3", title), items, class_="group") if items else None


def brief(judged: Mapping[str, Any]) -> Markup:
    """Return what decided it; if nothing did, why not."""
    if judged["verdict"] == "undecided" and judged["open"]:
        return markup(judged["open"])
    evidence = judged["evidence"]
    more = f"; and {len(evidence) - MOST_BRIEF} more" if len(evidence) > MOST_BRIEF else ""
    return markup("; ".join(evidence[:MOST_BRIEF]) + more)
