from itertools import pairwise

import pytest
import torch

from wug.core.errors import UserError
from wug.sources.buckets import bucketed_batches


def lengths(number=1_000, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(1, 50, (number,), generator=generator)


def batches(source, target, size=64, seed=0):
    return bucketed_batches(source, target, size, torch.Generator().manual_seed(seed))


def test_every_pair_at_most_once_and_few_left_out():
    rows = batches(lengths(), lengths(seed=1))
    assert rows.shape == (15, 64)
    assert len(rows.unique()) == rows.numel()


def test_lengths_of_a_batch_are_similar():
    target = lengths()
    rows = target[batches(lengths(seed=1), target)]
    padding = 1 - rows.sum() / (rows.amax(1) * 64).sum()
    at_random = target[torch.arange(960)].view(15, 64)
    assert padding < 0.1 < 1 - at_random.sum() / (at_random.amax(1) * 64).sum()
    # Of equal targets the sources are sorted.
    source = lengths(seed=1)
    rows = source[batches(source, torch.ones(1_000, dtype=torch.int64))]
    ranges = sorted((int(one.min()), int(one.max())) for one in rows)
    assert all(before[1] <= after[0] for before, after in pairwise(ranges))


def test_another_pass_has_other_batches():
    source, target = lengths(), lengths(seed=1)
    first, again, other = (batches(source, target, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert set(map(frozenset, first.tolist())) != set(map(frozenset, other.tolist()))
    means = target[first].float().mean(1)
    assert not torch.equal(means, means.sort().values)


def test_too_few_pairs():
    with pytest.raises(UserError, match="the number of pairs must be at least 64; got 10"):
        batches(lengths(10), lengths(10))
