"""Why a claim is undecided, and how many seeds would decide it.

Cells without runs decide nothing. Of the others, runs are thought of as many times as often, with
the same rates and means and intervals that shrink with the square root: the smallest number that
gives a verdict is what it would take, if what was seen so far is what there is to see.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan, sqrt

from wug.stats.interval import Estimate
from wug.study.claims import Cell, Claim, Entry, Key, Table
from wug.study.judgements import Verdict

TIMES = (2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 60, 80, 100, 200, 400)
MOST_NAMED = 4
LEAST_SEEDS = 3


@dataclass(frozen=True)
class WatchedEntry(Entry):
    """An entry that notes its name where runs lack what a claim asked for."""

    lacking: dict[str, None] = field(default_factory=dict)

    def __getitem__(self, measure: str) -> Estimate:
        """Return a measure, and note whether the cell has it."""
        found = super().__getitem__(measure)
        if self.cell is not None and isnan(found.value):
            self.lacking[self.name] = None
        return found


@dataclass(frozen=True)
class WatchedTable(Table):
    """A table that remembers which cells a claim asked for, and which of them lacked the number."""

    asked: dict[Key, None] = field(default_factory=dict)
    lacking: dict[str, None] = field(default_factory=dict)

    def at(self, *key: str) -> Entry:
        """Return an entry, and remember it."""
        self.asked[key] = None
        return WatchedEntry(" ".join(key), self.cells.get(key), self.exact, self.lacking)

    def pooled(self, name: str, keys: Iterable[Key]) -> Entry:
        """Return several cells as one entry, and remember them."""
        keys = list(keys)
        self.asked.update(dict.fromkeys(keys))
        return super().pooled(name, keys)


class ManyTimes(Mapping[str, Estimate]):
    """Measures of a cell as they would be with so many times the runs.

    Args:
        values: As they are.
        times: How often.
    """

    def __init__(self, values: Mapping[str, Estimate], times: int) -> None:
        self.values_now, self.times = values, times

    def __getitem__(self, name: str) -> Estimate:
        """Return a measure with a narrower interval."""
        now, shrink = self.values_now[name], sqrt(self.times)
        low, high = now.value - now.minus / shrink, now.value + now.plus / shrink
        return replace(now, low=low, high=high, n=now.n * self.times)

    def __iter__(self):  # type: ignore[no-untyped-def]
        """Yield the names."""
        return iter(self.values_now)

    def __len__(self) -> int:
        """Count them."""
        return len(self.values_now)


def many_times(cell: Cell, times: int) -> Cell:
    """Return a cell as it would be with so many times its runs.

    Example:
        >>> many_times(Cell(3, 5), 4)["success"].n
        20
    """
    successes = None if cell.successes is None else cell.successes * times
    return Cell(successes, cell.trials * times, ManyTimes(cell.values, times))


@dataclass(frozen=True)
class Never:
    """Cells that no run of a table fills with numbers of ours.

    Args:
        reported: Printed cells of others.
        substituted: Cell -> the data set that its task stands in for.
    """

    reported: Collection[Key] = ()
    substituted: Mapping[Key, str] = field(default_factory=dict)


def why_undecided(claim: Claim, table: Table, never: Never | None = None) -> str:
    """Say why a claim is undecided, and what would decide it; empty if it is decided.

    Args:
        claim: What is judged.
        table: Our cells.
        never: What is no cell of ours.
    """
    never = never or Never()
    watched = WatchedTable(table.cells, table.exact)
    judged = claim.evaluate(watched)
    if judged.verdict is not Verdict.UNDECIDED:
        return ""
    absent = [key for key in watched.asked if key not in table.cells]
    replaced = {key: name for key in absent if (name := _stands_in_for(key, never.substituted))}
    if replaced:
        which = named([" ".join(key) for key in replaced])
        sets = " and ".join(dict.fromkeys(replaced.values()))
        return f"{which}: data of ours stands in for {sets}, and says nothing of this."
    not_run = [f"Not run yet: {named([' '.join(key) for key in absent])}."] if absent else []
    if judged.unlearnt:
        its = "its" if len(judged.unlearnt) == 1 else "their"
        unlearnt = (
            f"{named(judged.unlearnt)} did not learn the training set here, so {its} failure "
            "outside says nothing."
        )
        return " ".join((unlearnt, *not_run))
    if not_run:
        return not_run[0]
    if watched.lacking:
        return f"The records of {named(list(watched.lacking))} lack the number that this is about."
    ours = [key for key in watched.asked if key not in never.reported]
    seeds = min([table.cells[key].trials for key in ours] or [0])
    for times in TIMES:
        cells = {
            key: cell if key in never.reported else many_times(cell, times)
            for key, cell in table.cells.items()
        }
        if claim.evaluate(Table(cells, table.exact)).verdict is not Verdict.UNDECIDED:
            return (
                f"Open after {counted(seeds)}: about {seeds * times} would decide it, if rates and "
                "means stay as they are."
            )
    if seeds < LEAST_SEEDS:
        return f"{counted(seeds).capitalize()} gives no interval: {LEAST_SEEDS} are the least."
    return (
        f"Open after {counted(seeds)}, and it would be after {TIMES[-1]} times as many, if rates "
        "and means stay as they are: what was seen is right at the boundary of the claim."
    )


def _stands_in_for(key: Key, substituted: Mapping[Key, str]) -> str:
    """Return what the data of a cell stands in for; further cells have a label more."""
    return next((name for cell, name in substituted.items() if key[: len(cell)] == cell), "")


def named(entries: Sequence[str]) -> str:
    """Name the first entries, and count the others.

    Example:
        >>> named(["a", "b"]), named(["a", "b", "c", "d", "e"])
        ('a, b', 'a, b, c, d and 1 more')
    """
    more = f" and {len(entries) - MOST_NAMED} more" if len(entries) > MOST_NAMED else ""
    return ", ".join(entries[:MOST_NAMED]) + more


def counted(seeds: int) -> str:
    """Spell a number of seeds.

    Example:
        >>> counted(1), counted(25)
        ('one seed', '25 seeds')
    """
    return "one seed" if seeds == 1 else f"{seeds} seeds"
