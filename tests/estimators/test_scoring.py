"""The front: size, error and what a formula needs beyond arithmetic."""

from __future__ import annotations

import numpy as np

from wug.estimators.candidate import Candidate, Function
from wug.estimators.front import Equation, Front
from wug.estimators.scoring import Scored, front_of, near_front


def power(exponent: float, function: str | None = None) -> Candidate:
    """Return a power of an input, or of a function of it."""
    line = Candidate(exponents=np.ones((1, 1)), coefficients=np.ones((1, 1)), powers=np.ones(1))
    functions = (Function(function, line),) if function else ()
    row = [0.0] * len(functions) + [exponent] if function else [exponent]
    return Candidate(
        exponents=np.array([row]), coefficients=np.ones((1, 1)), powers=np.ones(1),
        functions=functions,
    )  # fmt: skip


def scored(candidate: Candidate, size: int, error: float, *, met: bool = False) -> Scored:
    return Scored(
        candidate=candidate, complexity=size, error=error, relative_error=error, criterion=0.0,
        seconds=0.0, met=met, exact=met,
    )  # fmt: skip


PLAIN, ROOT, EXP, LOG = power(2.0), power(0.5), power(1.0, "exp"), power(1.0, "log")


def test_ingredients() -> None:
    assert not PLAIN.ingredients and ROOT.ingredients == {"root"}
    assert power(1.5, "exp").ingredients == {"exp", "root"}
    assert not power(2.0, "positive").ingredients  # a square of a sum


def test_a_root_does_not_beat_whole_powers_but_they_beat_it() -> None:
    root, plain = scored(ROOT, 3, 0.1), scored(PLAIN, 5, 0.2)
    assert front_of([plain, root]) == [root, plain]
    assert front_of([scored(PLAIN, 3, 0.1), scored(ROOT, 5, 0.2)])[0].candidate is PLAIN
    assert len(front_of([scored(PLAIN, 3, 0.1), scored(ROOT, 5, 0.2)])) == 1
    assert len(front_of([scored(EXP, 4, 0.1), scored(LOG, 6, 0.3)])) == 2


def test_the_front_of_fewer_ingredients_is_a_part_of_the_front() -> None:
    generator = np.random.default_rng(0)
    kinds = (PLAIN, ROOT, EXP, LOG, power(0.5, "exp"))
    found = [
        scored(kinds[generator.integers(5)], int(generator.integers(2, 20)), generator.uniform())
        for _ in range(200)
    ]
    front = front_of(found)
    for needs in (frozenset(), frozenset({"root"}), frozenset({"exp", "root"})):
        part = [one for one in front if one.candidate.ingredients <= needs]
        assert part == front_of([one for one in found if one.candidate.ingredients <= needs])


def test_nothing_follows_a_formula_that_meets_the_rows() -> None:
    met, larger = scored(EXP, 5, 0.0, met=True), scored(PLAIN, 9, 0.1)
    assert front_of([met, larger]) == [met]


def test_the_front_comes_before_what_is_near_it() -> None:
    small, near, large = scored(PLAIN, 3, 0.2), scored(PLAIN, 4, 0.3), scored(PLAIN, 9, 0.1)
    assert near_front([small, near, large, scored(PLAIN, 5, 0.9)]) == [small, large, near]


def test_scores_are_of_falling_errors() -> None:
    def equation(size: int, error: float) -> Equation:
        return Equation(
            expression=None, complexity=size, error=error, r2=0.0, seconds=0.0, candidate=PLAIN
        )

    front = Front([equation(2, 1.0), equation(3, 2.0), equation(4, np.exp(-3.0))], 0)
    np.testing.assert_allclose(front.scores(), [0.0, 0.0, 1.5])
