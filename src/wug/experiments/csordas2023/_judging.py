"""Predicates and bounds that the claims of several tables share.

Accuracies are judged as errors: an accuracy of 0.98 is an error of 0.02.
"""

from collections.abc import Iterable
from math import isnan

from wug.study.claims import Cell, Entry, Key, Table
from wug.study.judgements import Judgement, Verdict, all_of
from wug.study.predicates import error_above, error_below

# Printed as 1.00; more than 0.95, which is what counts as success in section 6.3.1; less than half.
PERFECT, SOLVED, FAILED = 0.01, 0.05, 0.5


def all_below(table: Table, keys: Iterable[Key], bound: float, iid: bool = False) -> Judgement:
    """Judge whether the mean errors of all cells are below a bound."""
    return all_of(error_below(table.at(*key), bound, iid) for key in keys)


def all_above(table: Table, keys: Iterable[Key], bound: float, iid: bool = False) -> Judgement:
    """Judge whether the mean errors of all cells are above a bound."""
    return all_of(error_above(table.at(*key), bound, iid) for key in keys)


def reading(entry: Entry, measure: str) -> Entry:
    """Return a cell whose accuracy is another of its measures, to compare the two."""
    if entry.cell is None:
        return entry
    cell = Cell(None, entry.cell.trials, {"accuracy": entry.cell[measure]})
    return Entry(f"{entry.name}, {measure.replace('_', ' ')}", cell, entry.exact)


def errors_within(first: Entry, second: Entry, gap: float) -> Judgement:
    """Judge whether two mean errors differ by less than a gap."""
    a, b = first["error"], second["error"]
    farthest = max(a.high - b.low, b.high - a.low)
    closest = max(a.low - b.high, b.low - a.high)
    held, broken = farthest < gap, closest >= gap
    verdict = Verdict.HELD if held else Verdict.BROKEN if broken else Verdict.UNDECIDED
    texts = (
        f"{entry.name}: error unknown" if isnan(error.value) else f"{entry.name}: {error.value:.3g}"
        for entry, error in ((first, a), (second, b))
    )
    return Judgement(verdict, (" vs ".join(texts),))
