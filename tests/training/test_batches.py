import pytest
import torch

from wug.core.errors import UserError
from wug.sources.sequences import SequenceSet
from wug.training.batches import Batches
from wug.training.sequence_plan import SequencePlan


def some_examples(counts=(3, 40, 60)):
    lists = [[1] * (level + 1) for level, count in enumerate(counts) for _ in range(count)]
    levels = [len(one) for one in lists]
    return SequenceSet.from_lists(lists, labels=list(range(len(lists))), levels=levels)


def labels(batches, steps):
    return [batches.at(step).labels.tolist() for step in steps]


def test_an_epoch_visits_everything_once_but_a_remainder():
    batches = Batches(some_examples(), SequencePlan(steps=1, batch_size=10), seed=0)
    seen = [label for batch in labels(batches, range(batches.num_batches)) for label in batch]
    assert len(seen) == len(set(seen)) == 100


def test_buckets_hold_about_the_same_lengths_and_are_no_wider():
    batches = Batches(some_examples(), SequencePlan(steps=1, batch_size=10), seed=0)
    widths = []
    for step in range(batches.num_batches):
        batch = batches.at(step)
        assert batch.lengths.max() - batch.lengths.min() <= 1
        assert batch.tokens.shape[1] == batch.lengths.max()
        widths.append(batch.tokens.shape[1])
    assert widths != sorted(widths)


def test_batches_depend_on_seed_and_step_alone():
    for options in ({}, {"bucketed": False}, {"level_power": 1.0}):
        plan = SequencePlan(steps=1, batch_size=10, **options)
        first, again, other = (Batches(some_examples(), plan, seed) for seed in (0, 0, 1))
        steps = (0, 7, 25)
        assert labels(first, steps) == labels(again, reversed(steps))[::-1]
        assert labels(first, steps) != labels(other, steps)
        assert len(first.at(13)) == 10


def test_epochs_differ():
    batches = Batches(some_examples(), SequencePlan(steps=1, batch_size=10), seed=0)
    assert labels(batches, range(10)) != labels(batches, range(10, 20))


def test_a_set_of_a_multiple_of_the_batch_size_is_used_whole():
    batches = Batches(some_examples((0, 20, 20)), SequencePlan(steps=1, batch_size=20), seed=0)
    assert batches.num_batches == 2


def test_a_batch_is_no_larger_than_the_set():
    batches = Batches(some_examples((2, 0, 0)), SequencePlan(steps=1, batch_size=20), seed=0)
    assert len(batches.at(5)) == 2


@pytest.mark.parametrize(("power", "shares"), [(0.0, (2, 2, 2)), (1.0, (1, 2, 3))])
def test_levels_are_drawn_by_a_power_of_theirs(power, shares):
    plan = SequencePlan(steps=1, batch_size=3_000, level_power=power)
    examples = some_examples((30, 400, 6_000))
    counts = torch.bincount(Batches(examples, plan, seed=0).at(0).levels)[1:]
    # Binomial with n = 3,000 and p of at most 1/2: five standard deviations are at most 137.
    assert (counts - 500 * torch.tensor(shares)).abs().max() < 137


def test_no_examples_are_a_sentence():
    examples = some_examples()[torch.zeros(0, dtype=torch.int64)]
    with pytest.raises(UserError, match="number of examples must be at least 1; got 0"):
        Batches(examples, SequencePlan(steps=1), seed=0)
