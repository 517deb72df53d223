"""A paper's claims, and the table of measured cells that they are judged on.

The same claim is judged on a paper's printed numbers and on ours (wug.study.predicates), and is
held, broken or undecided (wug.study.judgements).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import isnan

from wug.stats.interval import Estimate
from wug.stats.wilson import wilson
from wug.study.judgements import Judgement

Key = tuple[str, ...]


@dataclass(frozen=True)
class Cell:
    """The runs of one cell: how many succeeded, and what was measured.

    Args:
        successes: Number of successful runs; None if the source counts none.
        trials: Number of runs.
        values: By the names of measures (`wug.stats.measures`); comparisons of our own cells need
            the 95 % intervals, too.

    Raises:
        ValueError: If there are no trials, or more successes than trials.
    """

    successes: int | None
    trials: int
    values: Mapping[str, Estimate] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 <= (self.successes or 0) <= self.trials or self.trials == 0:
            raise ValueError(
                "Cell: trials must be at least 1 and successes between 0 and trials; "
                f"got {self.successes} of {self.trials}. Leave cells without runs out of the table."
            )

    def __getitem__(self, measure: str) -> Estimate:
        """Return what was measured; of the success rate the Wilson interval is known."""
        if measure != "success":
            return self.values.get(measure, Estimate.none())
        return Estimate.none() if self.successes is None else wilson(self.successes, self.trials)


@dataclass(frozen=True)
class Entry:
    """A cell as its table sees it: named, possibly missing, exact or uncertain.

    What is unknown is NaN, so that no comparison with it decides anything.
    """

    name: str
    cell: Cell | None
    exact: bool

    def __getitem__(self, measure: str) -> Estimate:
        """Return a measure by its name; taken at face value if the entry is exact."""
        found = Estimate.none() if self.cell is None else self.cell[measure]
        if self.cell is None or isnan(found.value):
            return Estimate.none()
        if self.exact:
            return Estimate(*(found.value,) * 3, "exact", self.cell.trials)
        return replace(found, n=self.cell.trials)

    @property
    def rate(self) -> Estimate:
        """The success rate."""
        return self["success"]

    def uncertain(self) -> "Entry":
        """Return the same cell with its uncertainty, for claims that say "significantly"."""
        return replace(self, exact=False)

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
        less than a binomial of their mean rate. The cells must hold trainings of their own: one
        network that is tested several times is one trial (`wug.stats.wilson.wilson_of_shares`).
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
        note: What a reader of the verdict on our records should know.

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
    note: str = ""
