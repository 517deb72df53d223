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


def slower(first: Entry, second: Entry, factor: float = 1.0) -> Judgement:
    """Judge whether the first needs more than `factor` times the iterations of the second."""
    evidence = f"{_solved_at(first)} vs {_solved_at(second)}"
    return Judgement(_positive(_difference(first.solved_at, second.solved_at, factor)), (evidence,))


def less_sparse(first: Entry, second: Entry) -> Judgement:
    """Judge whether the first has the larger sparsity error."""
    evidence = f"{_sparsity(first)} vs {_sparsity(second)}"
    return Judgement(_positive(_difference(first.sparsity, second.sparsity)), (evidence,))


def sparsity_at_most(entry: Entry, bound: float) -> Judgement:
    """Judge whether the sparsity error is `bound` or less."""
    error = entry.sparsity
    return Judgement(decide(error.high <= bound, error.low > bound), (_sparsity(entry),))


def error_below(entry: Entry, bound: float, iid: bool = False) -> Judgement:
    """Judge whether the mean error is below `bound`."""
    error = entry.iid_error if iid else entry.error
    return Judgement(decide(error.high < bound, error.low >= bound), (_error(entry, iid),))


def error_above(entry: Entry, bound: float, iid: bool = False) -> Judgement:
    """Judge whether the mean error is above `bound`."""
    error = entry.iid_error if iid else entry.error
    return Judgement(decide(error.low > bound, error.high <= bound), (_error(entry, iid),))


def lower_error(first: Entry, second: Entry, factor: float = 1.0, iid: bool = False) -> Judgement:
    """Judge whether the first's mean error is below `factor` times that of the second.

    Errors are heavy-tailed and may be infinite, so the intervals must lie apart.
    """
    ours, theirs = (entry.iid_error if iid else entry.error for entry in (first, second))
    verdict = decide(ours.high < factor * theirs.low, ours.low >= factor * theirs.high)
    return Judgement(verdict, (f"{_error(first, iid)} vs {_error(second, iid)}",))


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


def _solved_at(entry: Entry) -> str:
    return f"{entry.name}: solved at {_number(entry.solved_at)}"


def _sparsity(entry: Entry) -> str:
    return f"{entry.name}: sparsity error {_number(entry.sparsity)}"


def _error(entry: Entry, iid: bool) -> str:
    error = entry.iid_error if iid else entry.error
    return f"{entry.name}: {'IID ' if iid else ''}error {_number(error)}"


def _number(estimate: Estimate) -> str:
    return "unknown" if isnan(estimate.value) else f"{estimate.value:.3g}"
