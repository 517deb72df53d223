"""A line from nothing to all, with a point for inside, one for outside, and how sure they are."""

from __future__ import annotations

import math

from wug.report.markup import Markup, markup, tag
from wug.report.standings import Contest, Standing
from wug.stats.interval import Estimate

SIGNS = (("in", "in distribution"), ("out", "out of distribution"), ("reach", "95 % interval"))


def legend() -> Markup:
    """Return what the signs on a track mean."""
    signs = [tag("span", tag("i", class_=sign), words) for sign, words in SIGNS]
    return tag("p", signs, class_="legend signs")


def in_words(contest: Contest, standing: Standing) -> str:
    """Say all of a standing."""
    seeds = f"{standing.trials} training{'s' if standing.trials != 1 else ''}"
    if contest.kind == "measured":
        return f"{contest.measure.title.lower()} {spelled(contest, standing.outside)}, {seeds}"
    known = not math.isnan(standing.inside)
    inside = f"{100 * standing.inside:.3g} % in distribution, " if known else ""
    return f"{inside}{spelled(contest, standing.outside)} out of distribution, {seeds}"


def spelled(contest: Contest, value: Estimate) -> str:
    """Spell a number with its interval."""
    if math.isnan(value.value):
        return "unknown"
    if contest.kind == "measured":
        text = contest.measure.text
        ends = f" ({text(value.low)} to {text(value.high)})" if value.has_interval else ""
        return f"{text(value.value)}{ends}"
    ends = f" ({100 * value.low:.0f} to {100 * value.high:.0f})" if value.has_interval else ""
    return f"{100 * value.value:.3g} %{ends}"


def scale_of(contest: Contest) -> float:
    """Return the value at the right end of a board's tracks."""
    if contest.kind != "measured":
        return 1.0
    ends = [e for s in contest.standings for e in (s.outside.value, s.outside.high)]
    return max((end for end in ends if math.isfinite(end)), default=1.0) or 1.0


def track(contest: Contest, standing: Standing, scale: float) -> Markup:
    """Return a line from 0 to the scale with the points inside and outside, and the number."""

    def place(value: float) -> str:
        return f"{100 * min(max(value / scale, 0.0), 1.0):.1f}%"

    words, outside, parts = in_words(contest, standing), standing.outside, []
    if outside.has_interval and math.isfinite(outside.high):
        wide = f"{100 * min(max((outside.high - outside.low) / scale, 0), 1):.1f}%"
        parts.append(tag("i", class_="reach", style=f"left:{place(outside.low)};width:{wide}"))
    if not math.isnan(standing.inside):
        parts.append(tag("i", class_="in", style=f"left:{place(standing.inside)}"))
    if math.isfinite(outside.value):
        parts.append(tag("i", class_="out", style=f"left:{place(outside.value)}"))
    number = spelled(contest, Estimate.point(outside.value))
    line = tag("a", parts, href=contest.run.page, class_="track", aria_label=words, title=words)
    return markup([line, tag("b", number)])
