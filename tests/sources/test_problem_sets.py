import pytest
import torch

from wug.sources.problem_sets import collect, fingerprints, interleave, join
from wug.sources.sequences import SequenceSet


def draw(rng):
    """Draw 100 problems of one to three tokens."""
    lengths = rng.integers(1, 4, size=100)
    problems = [rng.integers(1, 9, size=length).tolist() for length in lengths]
    return SequenceSet.from_lists(problems, [sum(p) for p in problems], lengths.tolist())


def as_texts(problems):
    rows = zip(problems.tokens.tolist(), problems.lengths.tolist(), strict=True)
    return [tuple(row[:length]) for row, length in rows]


def test_smaller_sets_are_the_beginning_of_larger_ones():
    small, large = (as_texts(collect(draw, size, (1, 2))) for size in (150, 1_000))
    assert small == large[:150]
    assert small != as_texts(collect(draw, 150, (1, 3)))


def test_disjoint_shares_have_nothing_in_common():
    held_out = collect(draw, 500, (1, 2), share=(0.0, 0.1))
    rest = collect(draw, 5_000, (3, 4), share=(0.1, 1.0))
    assert not set(as_texts(held_out)) & set(as_texts(rest))
    whole = set(as_texts(collect(draw, 20_000, (5, 6))))
    assert len(set(as_texts(held_out))) / len(whole) == pytest.approx(0.1, abs=0.03)


def test_problems_are_distinct_if_asked():
    once = as_texts(collect(draw, 400, (1, 2), distinct=True))
    assert len(set(once)) == 400
    every = as_texts(collect(draw, 5_000, (1, 2)))
    assert len(set(every)) < 5_000
    assert list(dict.fromkeys(every))[:400] == once


def test_fingerprints_do_not_depend_on_padding():
    problems = collect(draw, 100, (1, 2))
    wider = join([problems, SequenceSet.from_lists([[1] * 9], [9], [9])])
    assert (fingerprints(wider)[:100] == fingerprints(problems)).all()


def test_sets_are_interleaved():
    parts = [SequenceSet.from_lists([[n]] * n, [n] * n, [n] * n) for n in (3, 1, 2)]
    assert interleave(parts).labels.tolist() == [3, 1, 2, 3, 2, 3]
    assert interleave(parts).tokens.dtype == torch.uint8
