"""What claims are made of: predicates over the entries of a table.

Ours have intervals: without runs, or without the interval that a comparison needs, nothing is
decided. A paper's printed numbers are taken at face value.

References:
    newcombe1998: the interval of a difference of rates, from two Wilson intervals.
"""

from math import hypot, isnan

from wug.stats.interval import Estimate
from wug.study.claims import Entry
from wug.study.judgements import Judgement, Verdict, all_of, decide, negate

# 20 successes of 20 put the true rate above 0.83 (Wilson, 95 %); 5 of 5 only above 0.56.
DECISIVE_TRIALS = 20
# Two units at 0 of 25 runs may still differ by 0.133. A claimed lead counts as absent once we see
# none and can exclude one above this margin; without it such a pair would stay undecided.
NEGLIGIBLE_LEAD = 0.15
# "Hardly any" is said of cells at 0 of 25 runs, whose own interval reaches 0.133.
HARDLY_ANY_RATE = 0.15
# Rates are printed in whole per cent.
ROUNDING = 0.005
# Measures that evidence calls otherwise than tables do.
WORDS = {"sparsity": "sparsity error", "iid_error": "IID error", "iid_accuracy": "IID accuracy"}


def full_success(entry: Entry) -> Judgement:
    """Judge whether every run succeeds; a single failure breaks it."""
    return _unanimous(entry, entry.rate.value < 1)


def no_success(entry: Entry) -> Judgement:
    """Judge whether no run succeeds; a single success breaks it."""
    return _unanimous(entry, entry.rate.value > 0)


def some_success(entry: Entry) -> Judgement:
    """Judge whether any run succeeds."""
    return negate(no_success(entry))


def rate_at_least(entry: Entry, bound: float) -> Judgement:
    """Judge whether the success rate is `bound` or more."""
    return Judgement(decide(entry.rate.low >= bound, entry.rate.high < bound), (str(entry),))


def rate_at_most(entry: Entry, bound: float) -> Judgement:
    """Judge whether the success rate is `bound` or less."""
    return Judgement(decide(entry.rate.high <= bound, entry.rate.low > bound), (str(entry),))


def most_succeed(entry: Entry) -> Judgement:
    """Judge whether at least half of the runs succeed."""
    return rate_at_least(entry, 0.5)


def hardly_any_succeed(entry: Entry) -> Judgement:
    """Judge whether next to no run succeeds."""
    return rate_at_most(entry, HARDLY_ANY_RATE)


def better(first: Entry, second: Entry) -> Judgement:
    """Judge whether the first has the higher success rate."""
    return Judgement(_positive(_lead(first, second), _margin(first)), (_pair(first, second),))


def same_rate(first: Entry, second: Entry) -> Judgement:
    """Judge whether neither has the higher success rate."""
    neither = all_of([negate(better(first, second)), negate(better(second, first))])
    return Judgement(neither.verdict, (_pair(first, second),))


def leads_by(first: Entry, second: Entry, gap: float) -> Judgement:
    """Judge whether the first is ahead by `gap` in success rate, as far as can be told."""
    lead = _lead(first, second)
    excluded = gap < lead.low - ROUNDING or gap > lead.high + ROUNDING
    return Judgement(decide(lead.low > 0 and not excluded, excluded), (_pair(first, second),))


def larger_lead(first: tuple[Entry, Entry], second: tuple[Entry, Entry]) -> Judgement:
    """Judge whether the first pair lies further apart in success rate than the second pair."""
    growth = _difference(_lead(*first), _lead(*second))
    evidence = f"{_pair(*first)} against {_pair(*second)}"
    return Judgement(_positive(growth, _margin(first[0])), (evidence,))


def larger(first: Entry, second: Entry, measure: str, factor: float = 1.0) -> Judgement:
    """Judge whether the first has more of a measure than `factor` times the second."""
    difference = _difference(first[measure], second[measure], factor)
    return Judgement(_positive(difference), (_both(first, second, measure),))


def within(first: Entry, second: Entry, measure: str, margin: float) -> Judgement:
    """Judge whether two entries are less than `margin` apart in a measure."""
    difference = _difference(first[measure], second[measure])
    verdict = decide(
        -margin < difference.low and difference.high < margin,
        difference.low >= margin or difference.high <= -margin,
    )
    return Judgement(verdict, (_both(first, second, measure),))


def at_most(entry: Entry, bound: float, measure: str) -> Judgement:
    """Judge whether a measure is `bound` or less."""
    value = entry[measure]
    return Judgement(decide(value.high <= bound, value.low > bound), (_one(entry, measure),))


def below(entry: Entry, bound: float, measure: str) -> Judgement:
    """Judge whether a measure is below `bound`."""
    value = entry[measure]
    return Judgement(decide(value.high < bound, value.low >= bound), (_one(entry, measure),))


def above(entry: Entry, bound: float, measure: str) -> Judgement:
    """Judge whether a measure is above `bound`."""
    value = entry[measure]
    return Judgement(decide(value.low > bound, value.high <= bound), (_one(entry, measure),))


def clearly_below(first: Entry, second: Entry, measure: str, factor: float = 1.0) -> Judgement:
    """Judge whether the first has less of a measure than `factor` times the second.

    For measures that are heavy-tailed and may be infinite: the intervals must lie apart.
    """
    ours, theirs = first[measure], second[measure]
    verdict = decide(ours.high < factor * theirs.low, ours.low >= factor * theirs.high)
    return Judgement(verdict, (_both(first, second, measure),))


def exceeds(entry: Entry, more: str, less: str) -> Judgement:
    """Judge whether an entry has more of one measure than of another: intervals must lie apart."""
    first, second = entry[more], entry[less]
    verdict = decide(first.low > second.high, first.high < second.low)
    return Judgement(verdict, (f"{_one(entry, more)}, {less} {second.value:.3g}",))


def slower(first: Entry, second: Entry, factor: float = 1.0) -> Judgement:
    """Judge whether the first needs more than `factor` times the iterations of the second."""
    return larger(first, second, "solved_at", factor)


def less_sparse(first: Entry, second: Entry) -> Judgement:
    """Judge whether the first has the larger sparsity error."""
    return larger(first, second, "sparsity")


def sparsity_at_most(entry: Entry, bound: float) -> Judgement:
    """Judge whether the sparsity error is `bound` or less."""
    return at_most(entry, bound, "sparsity")


def error_below(entry: Entry, bound: float, iid: bool = False) -> Judgement:
    """Judge whether the mean error is below `bound`."""
    return below(entry, bound, "iid_error" if iid else "error")


def error_above(entry: Entry, bound: float, iid: bool = False) -> Judgement:
    """Judge whether the mean error is above `bound`."""
    return above(entry, bound, "iid_error" if iid else "error")


def lower_error(first: Entry, second: Entry, factor: float = 1.0, iid: bool = False) -> Judgement:
    """Judge whether the first's mean error is clearly below `factor` times that of the second."""
    return clearly_below(first, second, "iid_error" if iid else "error", factor)


def _unanimous(entry: Entry, contradicted: bool) -> Judgement:
    counted = entry.cell is not None and entry.cell.successes is not None
    enough = counted and (entry.exact or entry.rate.n >= DECISIVE_TRIALS)
    return Judgement(decide(enough and not contradicted, contradicted), (str(entry),))


def _positive(difference: Estimate, margin: float = 0.0) -> Verdict:
    return decide(difference.low > 0, difference.value <= 0 and difference.high <= margin)


def _difference(first: Estimate, second: Estimate, factor: float = 1.0) -> Estimate:
    # Newcombe's square-and-add, which holds for any two independent estimates.
    value = first.value - factor * second.value
    low = value - hypot(first.minus, factor * second.plus)
    high = value + hypot(first.plus, factor * second.minus)
    return Estimate(value, low, high, "square-and-add", first.n + second.n)


def _lead(first: Entry, second: Entry) -> Estimate:
    return _difference(first.rate, second.rate)


def _margin(entry: Entry) -> float:
    return 0.0 if entry.exact else NEGLIGIBLE_LEAD


def _pair(first: Entry, second: Entry) -> str:
    return f"{first} vs {second}"


def _both(first: Entry, second: Entry, measure: str) -> str:
    return f"{_one(first, measure)} vs {_one(second, measure)}"


def _one(entry: Entry, measure: str) -> str:
    value = entry[measure].value
    words = WORDS.get(measure, measure.replace("_", " "))
    return f"{entry.name}: {words} {'unknown' if isnan(value) else f'{value:.3g}'}"
