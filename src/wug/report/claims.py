"""A claim of a paper on a page: its verdicts, the evidence, and what would decide it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from wug.report.markup import Markup, markup, pill, tag
from wug.report.run_source import RunSource
from wug.stats.comparison_table import measures_of
from wug.stats.measures import Measure

SIDES = (("ours", "our results"), ("published", "published numbers"))
MOST_BRIEF = 3
NUMBER = r"-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf)"
# Measures that evidence calls otherwise than by their names.
WORDS = {"sparsity": "sparsity error", "iid_error": "IID error", "iid_accuracy": "IID accuracy"}


def claim_item(claim: Mapping[str, Any], run: RunSource, *, named: bool = False) -> Markup:
    """Return one claim: its verdict and evidence in a line or two, all of it when opened.

    Args:
        claim: Of a cleaned catalog.
        run: What it was judged on.
        named: Whether it says what it was judged on, for pages of several runs.
    """
    sides = []
    judgements = {who: spoken(claim[who], run) for who, _ in SIDES}
    for who, name in SIDES:
        judged = judgements[who]
        evidence = tag("ul", [tag("li", item) for item in judged["evidence"]])
        title = tag("h4", name, " ", pill(judged["verdict"]))
        sides.append(tag("div", title, evidence if judged["evidence"] else None))
    ours = judgements["ours"]
    verdict = ours["verdict"]
    statement = tag("span", claim["statement"], tag("small", brief(ours), class_="brief"))
    where = f"{run.short_title} · {claim['source']}" if named else claim["source"]
    summary = tag("summary", pill(verdict), statement, tag("small", where))
    more = tag("p", tag("a", run.title, href=run.page), class_="soft") if named else None
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


def spoken(judged: Mapping[str, Any], run: RunSource) -> dict[str, Any]:
    """Return a judgement whose evidence calls measures as tables do, with their units."""
    known = {measure.name: measure for measure in measures_of(run.catalog)}
    words = {WORDS.get(name, name.replace("_", " ")): one for name, one in known.items()}
    longest = sorted(words, key=len, reverse=True)
    pattern = re.compile(f": ({'|'.join(map(re.escape, longest))}) ({NUMBER})(?![\\w.])")

    def told(found: re.Match[str]) -> str:
        measure, value = words[found[1]], float(found[2])
        return f": {lowered(measure.title)} {number(value, measure)}"

    evidence = [pattern.sub(told, line) if words else line for line in judged["evidence"]]
    return {**judged, "evidence": evidence}


def number(value: float, measure: Measure) -> str:
    """Write a number of a measure for people.

    Example:
        >>> from wug.stats.measures import MEASURES
        >>> number(0.748, MEASURES["accuracy"]), number(15700.0, MEASURES["solved_at"])
        ('74.8 %', '15,700 steps')
    """
    if measure.is_share:
        return f"{measure.text(value)} %"
    if math.isinf(value):
        return "infinite"
    large = 1000 <= abs(value) < 1e7
    text = f"{value:,.0f}" if large else f"{value:.3g}".replace("e+", "e").replace("e-0", "e-")
    return f"{text} {measure.unit}".strip()


def lowered(title: str) -> str:
    """Return a title inside of a sentence; abbreviations stay as they are.

    Example:
        >>> lowered("Time of a layer"), lowered("FLOPs per token")
        ('time of a layer', 'FLOPs per token')
    """
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]
