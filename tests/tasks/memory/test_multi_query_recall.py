import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from wug.core.errors import UserError
from wug.tasks.memory.multi_query_recall import MultiQueryRecall

SMALL = {"vocabulary": 300, "train_sizes": ((32, 4), (64, 8))}
SMALL |= {"ood_validation_sizes": ((96, 12),), "test_sizes": ((128, 16),)}


def check(task, batch, pairs):
    for tokens, targets, asked in zip(*(part.tolist() for part in batch[:3]), strict=True):
        keys, values = tokens[: 2 * pairs : 2], tokens[1 : 2 * pairs : 2]
        half = task.vocabulary // 2
        assert all(0 < key < half for key in keys) and len(set(keys)) == pairs
        assert all(half <= value < task.vocabulary for value in values)
        assert len(set(values)) == pairs
        memory, seen = dict(zip(keys, values, strict=True)), []
        for step, (token, target, due) in enumerate(zip(tokens, targets, asked, strict=True)):
            if due:
                assert step >= 2 * pairs and step % 2 == 0
                assert target == memory[token]
                seen.append(token)
            else:
                assert target == 0
        assert sorted(seen) == sorted(keys)


@pytest.mark.parametrize("filler", ["random", "blank"])
def test_the_value_of_a_key_is_due_when_it_comes_back(filler):
    task = MultiQueryRecall(filler=filler, **SMALL)
    for step in range(4):
        batch = task.batch("train", step=step, size=5)
        pairs = batch.level[0].item()
        assert batch.inputs.shape == {4: (5, 32), 8: (5, 64)}[pairs]
        check(task, batch, pairs)
        if filler == "blank":
            rest = batch.inputs[:, 2 * pairs :][~batch.asked[:, 2 * pairs :]]
            assert not rest.any()


def test_gaps_follow_the_power_law():
    task = MultiQueryRecall(vocabulary=50, train_sizes=((20, 1),), power=0.3,
                            ood_validation_sizes=((24, 2),), test_sizes=((24, 2),))  # fmt: skip
    batch = task.batch("train", size=4_000)
    slots = (batch.asked.int().argmax(1) - 2) // 2
    chances = np.arange(1, 10) ** (0.3 - 1)
    expected = 4_000 * chances / chances.sum()
    assert chisquare(np.bincount(slots, minlength=9), expected).pvalue > 1e-4


def test_longer_sequences_out_of_distribution():
    task = MultiQueryRecall(**SMALL)
    for split, size in (("ood_validation", (96, 12)), ("test", (128, 16))):
        batch = task.batch(split, size=2)
        assert (batch.inputs.shape[1], batch.level[0].item()) == size
        check(task, batch, size[1])
    assert task.batch("train", size=1, level=8).inputs.shape == (1, 64)


def test_paper_scale():
    task = MultiQueryRecall()
    assert task.vocabulary == 8_192 and task.train_sizes == ((64, 4), (128, 8), (256, 16))
    check(task, task.batch("train", size=2, level=16), 16)


def test_batches_depend_on_split_seed_and_step_alone():
    task = MultiQueryRecall(**SMALL)
    first = task.batch("train", seed=1, step=2, level=4)
    assert all(map(torch.equal, first, task.batch("train", seed=1, step=2, level=4)))
    for split, seed, step in (("validation", 1, 2), ("train", 2, 2), ("train", 1, 3)):
        other = task.batch(split, seed=seed, step=step, level=4)
        assert not torch.equal(first.inputs, other.inputs)


def test_bad_arguments():
    with pytest.raises(UserError, match="8 pairs and their questions need 32 steps; got 30"):
        MultiQueryRecall(train_sizes=((30, 8),))
    with pytest.raises(UserError, match="vocabulary must be at least 130; got 100"):
        MultiQueryRecall(vocabulary=100)
    with pytest.raises(UserError, match="train has no sequences of 5 pairs"):
        MultiQueryRecall().batch("train", level=5)
