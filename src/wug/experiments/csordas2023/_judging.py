"""Predicates and bounds that the claims of several tables share.

Accuracies are judged as errors: an accuracy of 0.98 is an error of 0.02.
"""

from collections.abc import Iterable, Mapping
from math import isnan

from wug.study.claims import Cell, Entry, Key, Table
from wug.study.judgements import Judgement, Verdict, all_of
from wug.study.predicates import ROUNDING, at_most, error_above, error_below, lower_error

# Printed as 1.00; more than 0.95, which is what counts as success in section 6.3.1; less than half.
PERFECT, SOLVED, FAILED = 0.01, 0.05, 0.5
# From this share of right answers in distribution on a network's failure elsewhere counts.
LEARNT = 1 - SOLVED


def all_below(table: Table, keys: Iterable[Key], bound: float, iid: bool = False) -> Judgement:
    """Judge whether the mean errors of all cells are below a bound."""
    return all_of(error_below(table.at(*key), bound, iid) for key in keys)


def all_above(table: Table, keys: Iterable[Key], bound: float, iid: bool = False) -> Judgement:
    """Judge whether the mean errors of all cells are above a bound."""
    return all_of(error_above(table.at(*key), bound, iid) for key in keys)


def all_fail(
    table: Table, keys: Iterable[Key], bound: float, published: Mapping[Key, float] | None = None
) -> Judgement:
    """Judge whether networks that learnt their training set err more than a bound outside of it.

    Args:
        table: Ours or the published one.
        keys: Its cells.
        bound: Of their mean errors.
        published: What cells have right in distribution that the paper has not solved there either.
    """
    printed = published or {}
    entries = [(table.at(*key), printed.get(key, 1.0)) for key in keys]
    return all_of(
        where_learnt(entry, error_above(entry, bound), inside) for entry, inside in entries
    )


def where_learnt(entry: Entry, judgement: Judgement, published: float = 1.0) -> Judgement:
    """Return a judgement on what a network can't do; undecided where it did not learn to.

    A network that fails on its training set's own kind of problems fails on others as well, so
    that this tells nothing of how it generalises. One that does well outside has learnt.

    Args:
        entry: The network.
        judgement: Held if it fails.
        published: What the paper's own has right in distribution: ours need not have more.
    """
    bound = max(SOLVED, 1 - published + ROUNDING)
    learnt = at_most(entry, bound, "iid_error")
    if Verdict.HELD is learnt.verdict or judgement.verdict is Verdict.BROKEN:
        return judgement
    error = entry["iid_error"].value
    cells = (f"{entry.name} ({100 * (1 - error):.0f} % in distribution)",) if error > bound else ()
    return Judgement(Verdict.UNDECIDED, (*judgement.evidence, *learnt.evidence), cells)


def worse(table: Table, one: Key, other: Key) -> Judgement:
    """Judge whether one network errs more than another; undecided where it did not learn to."""
    entry = table.at(*one)
    return where_learnt(entry, lower_error(table.at(*other), entry))


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
