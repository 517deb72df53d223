"""Against the counts of a run of the published code."""

import numpy as np
from scipy.stats import norm

from wug.tasks.productivity._ctl_as_published import (
    NUM_VALIDATION,
    SEED,
    TRAIN,
    pools,
    published_problems,
    reserve,
    tables,
)

SPLITS = ("train", "validation", "ood_validation", "test")


def rows(split, **lengths):
    return [tuple(row) for part in published_problems(split, **lengths) for row in part.tolist()]


def counts(problems):
    lengths, numbers = np.unique([len(problem) - 1 for problem in problems], return_counts=True)
    return dict(zip(lengths.tolist(), numbers.tolist(), strict=True))


def test_tables():
    assert tables().shape == (11, 8)
    assert (np.sort(tables()) == np.arange(8)).all()


def test_reserve():
    rng = np.random.RandomState(SEED)
    tables(rng)
    # The empty composition, then a quarter of each length, at most 200.
    assert np.bincount([len(one) for one in reserve(rng)]).tolist() == [1, 3, 21, 183, 200, 200]


def test_training_set():
    train = rows("train")
    assert len(train) == 53_704
    assert counts(train) == {1: 568, 2: 421, 3: 3_788, 4: 20_932, 5: 27_995}
    assert len(set(train)) == 53_224
    assert counts(set(train))[1] == 88
    # Two functions are seen alone only, 31 times with each symbol.
    repeated = [problem for problem in train if problem[1] in (9, 10)]
    assert len(repeated) == 31 * 16 and {len(problem) for problem in repeated} == {2}


def test_reserved_compositions_are_never_composed_in_training():
    rng = np.random.RandomState(SEED)
    tables(rng)
    reserved = reserve(rng)
    for split in ("train", "validation"):
        assert not {one[:0:-1] for one in rows(split) if len(one) > 2} & reserved


def test_the_split_is_a_likely_one():
    # The pool by length is ours; the training set's share of each is from a run of the original,
    # where it was drawn without regard to length.
    pool = counts(pools((6, 8), (9, 10))[0])
    total = sum(pool.values())
    assert total == sum(TRAIN.values()) + 2 * NUM_VALIDATION
    share = sum(TRAIN.values()) / total
    for length, number in pool.items():
        deviation = np.sqrt(number * share * (1 - share) * (1 - number / total))
        assert abs(TRAIN[length] - number * share) < norm.isf(1e-3) * deviation


def test_iid_validation_is_cut_from_an_ordered_set():
    # In runs of the original it had no problems of two functions, and 123 to 181 of three.
    found = counts(rows("validation"))
    assert 2 not in found and 123 <= found[3] <= 181


def test_other_sets():
    assert len(set(rows("validation"))) == 4_000
    assert len(set(rows("ood_validation"))) == len(set(rows("test"))) == 1_000
    assert set(counts(rows("ood_validation"))) == {6, 7, 8}
    assert set(counts(rows("test"))) == {9, 10}
    assert len(set().union(*map(rows, SPLITS))) == 53_224 + 4_000 + 2_000
    assert max(max(one[1:]) for split in SPLITS[1:] for one in rows(split)) == 8


def test_lengths_of_the_rows_without_a_gate():
    lengths = {"ood_validation_lengths": (6, 7), "test_lengths": (8, 10)}
    assert set(counts(rows("ood_validation", **lengths))) == {6, 7}
    assert set(counts(rows("test", **lengths))) == {8, 9, 10}
