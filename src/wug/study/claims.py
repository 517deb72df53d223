"""A paper's claims, and the table of success rates and errors that they are judged on.

The same claim is judged on a paper's printed numbers and on ours (wug.study.predicates), and is
held, broken or undecided (wug.study.judgements).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import nan

from wug.stats.interval import Estimate
from wug.stats.wilson import wilson
from wug.study.judgements import Judgement

Key = tuple[str, ...]
Interval = tuple[float, float]


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
        >>> from wug.study.predicates import full_success
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
