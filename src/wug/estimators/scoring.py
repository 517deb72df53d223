"""How good a formula is, and the front of the best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from wug.estimators.candidate import Candidate

# Relative error of a formula that meets its rows up to rounding: no error is better than that.
MET = 1e-15
# Share by which a larger formula must lower the error to be on the front.
LEAST_GAIN = 0.99
# Times the error of the front at its size that a formula near the front may have.
NEAR = 3.0


@dataclass(frozen=True, kw_only=True)
class Scored:
    """A candidate and how good it is.

    Args:
        candidate: The formula.
        complexity: Its size.
        error: Root mean square error with the rows' weights: the larger one of those on fitted and
            on held-out rows.
        relative_error: The same in deviations of the target.
        criterion: Description length: smaller is better.
        seconds: When it was found.
        met: Whether it meets the searched rows up to rounding.
        exact: Whether it is exact, as :mod:`wug.estimators.exactness` says.
    """

    candidate: Candidate
    complexity: int
    error: float
    relative_error: float
    criterion: float
    seconds: float
    met: bool
    exact: bool


def description_length(relative: float, complexity: int, num_rows: int, met: bool) -> float:
    """Return what it takes to write down a formula and what it misses."""
    error = MET if met else max(relative, 2 * MET)
    return num_rows * math.log(error) + 0.5 * complexity * math.log(num_rows)


def front_of(found: Sequence[Scored]) -> list[Scored]:
    """Return the candidates that no simpler one matches, the simplest first."""
    front: list[Scored] = []
    for scored in sorted(found, key=lambda s: (s.complexity, not s.met, s.relative_error)):
        better = not front or scored.relative_error < LEAST_GAIN * front[-1].relative_error
        if better and not (front and front[-1].met):
            front.append(scored)
    return front


def with_undominated_first(final: Sequence[Scored], num_rows: int) -> list[Scored]:
    """Return formulas with another one first if a smaller one has a smaller error than the first.

    Held-out rows chose the first; an error from leaving out each row in turn may tell otherwise.
    Then the shortest description among the front is the choice.

    Args:
        final: The chosen formula, then others.
        num_rows: That the errors are of.
    """
    chosen = final[0]
    if not any(
        one.complexity <= chosen.complexity and one.relative_error < chosen.relative_error
        for one in final
    ):
        return list(final)

    def length(one: Scored) -> float:
        return description_length(one.relative_error, one.complexity, num_rows, one.met)

    best = min(front_of(final), key=length)
    return [best, *(one for one in final if one is not best)]


def near_front(found: Sequence[Scored]) -> list[Scored]:
    """Return the front, and then what is almost as good as the front at its size.

    Each part has the simplest first. Where time is short, the front itself is not cut off.
    """
    front = front_of(found)
    on_it = {id(one) for one in front}
    near: list[Scored] = []
    smallest = math.inf
    for scored in sorted(found, key=lambda s: (s.complexity, not s.met, s.relative_error)):
        if scored.relative_error < NEAR * smallest and id(scored) not in on_it:
            near.append(scored)
        smallest = min(smallest, scored.relative_error)
    return [*front, *near]
