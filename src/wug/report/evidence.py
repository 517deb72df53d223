"""What decided a claim, in words: the same on pages and in the terminal."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from wug.stats.measures import Measure

MOST_BRIEF = 3
NUMBER = r"-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf)"
# Measures that evidence calls otherwise than by their names.
WORDS = {"sparsity": "sparsity error", "iid_error": "IID error", "iid_accuracy": "IID accuracy"}


def brief(judged: Mapping[str, Any]) -> str:
    """Return what decided it, in a line; if nothing did, why not.

    Example:
        >>> brief({"verdict": "held", "evidence": ["a: 1", "b: 2", "c: 3", "d: 4"], "open": ""})
        'a: 1; b: 2; c: 3; and 1 more'
        >>> brief({"verdict": "undecided", "evidence": ["a: 1"], "open": "Not run yet: b."})
        'Not run yet: b.'
    """
    if judged["verdict"] == "undecided" and judged.get("open"):
        return str(judged["open"])
    evidence = judged["evidence"]
    more = f"; and {len(evidence) - MOST_BRIEF} more" if len(evidence) > MOST_BRIEF else ""
    return "; ".join(evidence[:MOST_BRIEF]) + more


def spoken(judged: Mapping[str, Any], measures: Iterable[Measure]) -> dict[str, Any]:
    """Return a judgement whose evidence calls measures as tables do, with their units.

    Args:
        judged: Of a claim of a catalog.
        measures: Those of the run.
    """
    known = {measure.name: measure for measure in measures}
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
