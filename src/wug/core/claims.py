"""A paper's claims as predicates over a table of success rates and errors.

A claim is judged held, broken or undecided, in Kleene's three-valued logic: what too few runs
leave open stays open through every "all", "any" and "exactly n". The same claim is judged on a
paper's printed numbers, taken at face value, and on ours, with their uncertainty: a cell without
runs, or without the interval that a comparison needs, decides nothing.

References:
    newcombe1998: the interval of a difference of rates, from two Wilson intervals.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from math import hypot, isnan, nan

from wug.stats.interval import Estimate
from wug.stats.wilson import wilson

# 20 successes of 20 put the true rate above 0.83 (Wilson, 95 %); 5 of 5 only above 0.56.
DECISIVE_TRIALS = 20
# Two units at 0 of 25 runs may still differ by 0.133. A claimed lead counts as absent once we see
# none and can exclude one above this margin; without it such a pair would stay undecided.
NEGLIGIBLE_LEAD = 0.15
# "Hardly any" is said of cells at 0 of 25 runs, whose own interval reaches 0.133.
HARDLY_ANY_RATE = 0.15
# Rates are printed in whole per cent.
ROUNDING = 0.005

Key = tuple[str, ...]
Interval = tuple[float, float]


class Verdict(StrEnum):
    """What a table says about a claim."""

    HELD = "held"
    BROKEN = "broken"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Judgement:
    """A verdict and the cells that decided it, in words."""

    verdict: Verdict
    evidence: tuple[str, ...] = ()

    def brief(self, limit: int = 4) -> str:
        """Return the first pieces of evidence as one line."""
        more = len(self.evidence) - limit
        return "; ".join(self.evidence[:limit]) + (f"; and {more} more" if more > 0 else "")


@dataclass(frozen=True)
class Cell:
    """The runs of one cell: how many succeeded, and how fast and how sparsely those did.

    Args:
        successes: Number of successful runs; None if the source counts none.
        trials: Number of runs.
        solved_at: Mean iteration at which the successful runs were solved.
        sparsity: Mean sparsity error of the successful runs.
        solved_at_interval: 95 % interval of `solved_at`; comparisons of our own cells need it.
        sparsity_interval: 95 % interval of `sparsity`; comparisons of our own cells need it.
        error: Mean error of all runs outside the training distribution.
        iid_error: Mean error of all runs inside it.
        error_interval: 95 % interval of `error`.
        iid_error_interval: 95 % interval of `iid_error`.

    Raises:
        ValueError: If there are no trials, or more successes than trials.
    """

    successes: int | None
    trials: int
    solved_at: float | None = None
    sparsity: float | None = None
    solved_at_interval: Interval | None = None
    sparsity_interval: Interval | None = None
    error: float | None = None
    iid_error: float | None = None
    error_interval: Interval | None = None
    iid_error_interval: Interval | None = None

    def __post_init__(self) -> None:
        if not 0 <= (self.successes or 0) <= self.trials or self.trials == 0:
            raise ValueError(
                "Cell: trials must be at least 1 and successes between 0 and trials; "
                f"got {self.successes} of {self.trials}. Leave cells without runs out of the table."
            )

    @property
    def rate(self) -> float:
        """The share of successful runs; NaN if they were not counted."""
        return nan if self.successes is None else self.successes / self.trials


@dataclass(frozen=True)
class Entry:
    """A cell as its table sees it: named, possibly missing, exact or uncertain.

    What is unknown is NaN, so that no comparison with it decides anything.
    """

    name: str
    cell: Cell | None
    exact: bool

    @property
    def rate(self) -> Estimate:
        """The success rate with its Wilson interval."""
        if self.cell is None or self.cell.successes is None:
            return Estimate.none()
        interval = wilson(self.cell.successes, self.cell.trials)
        return self._estimate(self.cell.rate, (interval.low, interval.high))

    @property
    def solved_at(self) -> Estimate:
        """The mean iteration of success."""
        if self.cell is None:
            return Estimate.none()
        return self._estimate(self.cell.solved_at, self.cell.solved_at_interval)

    @property
    def sparsity(self) -> Estimate:
        """The mean sparsity error of the successful runs."""
        if self.cell is None:
            return Estimate.none()
        return self._estimate(self.cell.sparsity, self.cell.sparsity_interval)

    @property
    def error(self) -> Estimate:
        """The mean error of all runs out of distribution."""
        if self.cell is None:
            return Estimate.none()
        return self._estimate(self.cell.error, self.cell.error_interval)

    @property
    def iid_error(self) -> Estimate:
        """The mean error of all runs in distribution."""
        if self.cell is None:
            return Estimate.none()
        return self._estimate(self.cell.iid_error, self.cell.iid_error_interval)

    def uncertain(self) -> "Entry":
        """Return the same cell with its uncertainty, for claims that say "significantly"."""
        return replace(self, exact=False)

    def _estimate(self, value: float | None, interval: Interval | None) -> Estimate:
        if value is None or self.cell is None:
            return Estimate.none()
        low, high = (value, value) if self.exact else interval or (nan, nan)
        return Estimate(value, low, high, "exact" if self.exact else "given", self.cell.trials)

    def __str__(self) -> str:
        if self.cell is None:
            return f"{self.name}: no runs"
        if self.cell.successes is None:
            return f"{self.name}: successes not counted"
        return f"{self.name}: {self.cell.successes}/{self.cell.trials}"


@dataclass(frozen=True)
class Table:
    """Cells by key, e.g. (unit, operation, range).

    Args:
        cells: The cells that have runs.
        exact: Whether to take the numbers at face value (published ones) or with their
            uncertainty (ours).
    """

    cells: Mapping[Key, Cell]
    exact: bool = False

    def at(self, *key: str) -> Entry:
        """Return the entry of one key, which may be missing."""
        return Entry(" ".join(key), self.cells.get(key), self.exact)

    def pooled(self, name: str, keys: Iterable[Key]) -> Entry:
        """Return the runs of several cells as one entry, missing if any of them is.

        The Wilson interval of pooled cells of unlike rates errs on the wide side: their sum varies
        less than a binomial of their mean rate.
        """
        cells = [self.cells.get(key) for key in keys]
        present = [cell for cell in cells if cell is not None]
        if not cells or len(present) < len(cells):
            return Entry(name, None, self.exact)
        successes = [cell.successes for cell in present if cell.successes is not None]
        if len(successes) < len(present):
            return Entry(name, None, self.exact)
        total = Cell(sum(successes), sum(c.trials for c in present))
        return Entry(name, total, self.exact)


@dataclass(frozen=True)
class Claim:
    """One statement of a paper, with the predicate that tests it.

    Args:
        key: Short unique name.
        statement: The claim in our own words.
        source: Where the paper makes it, e.g. "mistry2022, section 6.5.1, addition".
        evaluate: Judges the claim on a table.

    Example:
        >>> claim = Claim("adds", "NAU adds.", "none", lambda t: full_success(t.at("nau", "add")))
        >>> claim.evaluate(Table({("nau", "add"): Cell(5, 5)})).verdict.value
        'undecided'
        >>> claim.evaluate(Table({("nau", "add"): Cell(24, 25)})).brief()
        'nau add: 24/25'
    """

    key: str
    statement: str
    source: str
    evaluate: Callable[[Table], Judgement]


def negate(judgement: Judgement) -> Judgement:
    """Swap held and broken."""
    opposite = {Verdict.HELD: Verdict.BROKEN, Verdict.BROKEN: Verdict.HELD}
    return Judgement(opposite.get(judgement.verdict, Verdict.UNDECIDED), judgement.evidence)


def count_at_least(number: int, judgements: Iterable[Judgement]) -> Judgement:
    """Judge whether at least `number` of the judgements hold."""
    parts = list(judgements)
    verdicts = [part.verdict for part in parts]
    held, open_ = verdicts.count(Verdict.HELD), verdicts.count(Verdict.UNDECIDED)
    verdict = _decide(held >= number, held + open_ < number)
    decisive = (part.evidence for part in parts if part.verdict is verdict)
    return Judgement(verdict, tuple(dict.fromkeys(line for lines in decisive for line in lines)))


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
    return Judgement(_decide(entry.rate.low >= bound, entry.rate.high < bound), (str(entry),))


def rate_at_most(entry: Entry, bound: float) -> Judgement:
    """Judge whether the success rate is `bound` or less."""
    return Judgement(_decide(entry.rate.high <= bound, entry.rate.low > bound), (str(entry),))


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
    return Judgement(_decide(lead.low > 0 and not excluded, excluded), (_pair(first, second),))


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
    return Judgement(_decide(error.high <= bound, error.low > bound), (_sparsity(entry),))


def error_below(entry: Entry, bound: float, iid: bool = False) -> Judgement:
    """Judge whether the mean error is below `bound`."""
    error = entry.iid_error if iid else entry.error
    return Judgement(_decide(error.high < bound, error.low >= bound), (_error(entry, iid),))


def error_above(entry: Entry, bound: float, iid: bool = False) -> Judgement:
    """Judge whether the mean error is above `bound`."""
    error = entry.iid_error if iid else entry.error
    return Judgement(_decide(error.low > bound, error.high <= bound), (_error(entry, iid),))


def lower_error(first: Entry, second: Entry, factor: float = 1.0, iid: bool = False) -> Judgement:
    """Judge whether the first's mean error is below `factor` times that of the second.

    Errors are heavy-tailed and may be infinite, so the intervals must lie apart.
    """
    ours, theirs = (entry.iid_error if iid else entry.error for entry in (first, second))
    verdict = _decide(ours.high < factor * theirs.low, ours.low >= factor * theirs.high)
    return Judgement(verdict, (f"{_error(first, iid)} vs {_error(second, iid)}",))


def _decide(held: bool, broken: bool) -> Verdict:
    return Verdict.HELD if held else Verdict.BROKEN if broken else Verdict.UNDECIDED


def _unanimous(entry: Entry, contradicted: bool) -> Judgement:
    counted = entry.cell is not None and entry.cell.successes is not None
    enough = counted and (entry.exact or entry.rate.n >= DECISIVE_TRIALS)
    return Judgement(_decide(enough and not contradicted, contradicted), (str(entry),))


def _positive(difference: Estimate, margin: float = 0.0) -> Verdict:
    return _decide(difference.low > 0, difference.value <= 0 and difference.high <= margin)


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
