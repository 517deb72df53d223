"""A claim of a paper on a page: its verdicts, the evidence, and what would decide it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wug.report.markup import Markup, markup, pill, tag

SIDES = (("ours", "our results"), ("published", "published numbers"))
MOST_BRIEF = 3


def claim_item(claim: Mapping[str, Any], link: Markup | None = None) -> Markup:
    """Return one claim: its verdict and evidence in a line or two, all of it when opened.

    Args:
        claim: Of a cleaned catalog.
        link: To its experiment, on pages of several.
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
    summary = tag("summary", pill(verdict), statement, tag("small", claim["source"]))
    more = tag("p", link, class_="soft") if link is not None else None
    return tag("details", summary, tag("div", sides, class_="evidence"), more, data_verdict=verdict)


def brief(judged: Mapping[str, Any]) -> Markup:
    """Return what decided it; if nothing did, why not."""
    if judged["verdict"] == "undecided" and judged["open"]:
        return markup(judged["open"])
    evidence = judged["evidence"]
    more = f"; and {len(evidence) - MOST_BRIEF} more" if len(evidence) > MOST_BRIEF else ""
    return markup("; ".join(evidence[:MOST_BRIEF]) + more)
