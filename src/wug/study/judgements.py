"""Verdicts on claims: held, broken or undecided, in Kleene's three-valued logic.

What too few runs leave open stays open through every "all", "any" and "exactly n".
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum


class Verdict(StrEnum):
    """What a table says about a claim."""

    HELD = "held"
    BROKEN = "broken"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Judgement:
    """A verdict and the cells that decided it, in words.

    Args:
        verdict: What the cells say.
        evidence: The cells, and what was measured.
        unlearnt: Cells whose failure decides nothing, as they did not learn their training set
            either, with what they have right in distribution.
    """

    verdict: Verdict
    evidence: tuple[str, ...] = ()
    unlearnt: tuple[str, ...] = ()

    def brief(self, limit: int = 4) -> str:
        """Return the first pieces of evidence as one line."""
        more = len(self.evidence) - limit
        return "; ".join(self.evidence[:limit]) + (f"; and {more} more" if more > 0 else "")


def decide(held: bool, broken: bool) -> Verdict:
    """Return held or broken if one of them is certain."""
    return Verdict.HELD if held else Verdict.BROKEN if broken else Verdict.UNDECIDED


def negate(judgement: Judgement) -> Judgement:
    """Swap held and broken."""
    opposite = {Verdict.HELD: Verdict.BROKEN, Verdict.BROKEN: Verdict.HELD}
    verdict = opposite.get(judgement.verdict, Verdict.UNDECIDED)
    return replace(judgement, verdict=verdict)


def count_at_least(number: int, judgements: Iterable[Judgement]) -> Judgement:
    """Judge whether at least `number` of the judgements hold."""
    parts = list(judgements)
    verdicts = [part.verdict for part in parts]
    held, open_ = verdicts.count(Verdict.HELD), verdicts.count(Verdict.UNDECIDED)
    verdict = decide(held >= number, held + open_ < number)
    decisive = [part for part in parts if part.verdict is verdict]
    return Judgement(
        verdict,
        tuple(dict.fromkeys(line for part in decisive for line in part.evidence)),
        tuple(dict.fromkeys(cell for part in decisive for cell in part.unlearnt)),
    )


def count_is(number: int, judgements: Iterable[Judgement]) -> Judgement:
    """Judge whether exactly `number` of the judgements hold."""
    parts = list(judgements)
    return all_of([count_at_least(number, parts), negate(count_at_least(number + 1, parts))])


def all_of(judgements: Iterable[Judgement]) -> Judgement:
    """Judge whether all hold: Kleene's conjunction."""
    parts = list(judgements)
    return count_at_least(len(parts), parts)


def any_of(judgements: Iterable[Judgement]) -> Judgement:
    """Judge whether any holds: Kleene's disjunction."""
    return count_at_least(1, judgements)
