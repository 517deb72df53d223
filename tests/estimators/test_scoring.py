"""The front, and what is near it."""

from __future__ import annotations

import numpy as np

from wug.estimators.candidate import Candidate
from wug.estimators.scoring import Scored, front_of, near_front

LINE = Candidate(exponents=np.ones((1, 1)), coefficients=np.ones((1, 1)), powers=np.ones(1))


def scored(size: int, error: float, *, met: bool = False) -> Scored:
    return Scored(
        candidate=LINE, complexity=size, error=error, relative_error=error, criterion=0.0,
        seconds=0.0, met=met, exact=met,
    )  # fmt: skip


def test_nothing_follows_a_formula_that_meets_the_rows() -> None:
    met = scored(5, 0.0, met=True)
    assert front_of([met, scored(9, 0.1)]) == [met]


def test_the_front_comes_before_what_is_near_it() -> None:
    small, near, large = scored(3, 0.2), scored(4, 0.3), scored(9, 0.1)
    assert near_front([small, near, large, scored(5, 0.9)]) == [small, large, near]
