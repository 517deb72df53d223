import pytest
import torch

from wug.core.errors import UserError
from wug.tasks.memory.copy import Copy


def blocks(row, bits, echo):
    """Cut one sequence of inputs in words, marks and silence, and say what is due when."""
    due, words, step = {}, [], 0
    lengths = []
    while step < len(row):
        if row[step][bits] > 0:  # the mark
            spoken = words + ([[0] * bits + [1]] if echo else [])
            for i, word in enumerate(spoken):
                due[step + 1 + i] = word
            lengths.append(len(words))
            step += 1 + len(spoken)
            words = []
        else:
            word = [int(value > 0) for value in row[step][:bits]]
            words.append(word + [0] if echo else word)
            step += 1
    return due, lengths


@pytest.mark.parametrize("version", ["text", "as_published"])
def test_targets_repeat_every_block(version):
    task, echo = Copy(version=version, bits=4), version == "as_published"
    for step in range(5):
        batch = task.batch("train", step=step, size=3)
        assert batch.inputs.shape[-1] == 5 and batch.targets.shape[-1] == (5 if echo else 4)
        for row in range(3):
            due, lengths = blocks(batch.inputs[row].tolist(), 4, echo)
            for t in range(batch.inputs.shape[1]):
                assert bool(batch.asked[row, t]) == (t in due)
                expected = due.get(t, [0] * task.out_features)
                assert batch.targets[row, t].tolist() == expected
            low, high = (2, 14) if echo else (1, 8)
            assert low <= min(lengths) and max(lengths) <= high
            low, high = (1, 8) if echo else (2, 14)
            assert low <= len(lengths) <= high
            assert batch.level[row] == max(lengths)


def test_inputs_are_signs_and_words_are_random():
    inputs = Copy().batch("train", size=200).inputs
    assert set(inputs.unique().tolist()) == {-1.0, 1.0}
    assert inputs[:, 0, :8].mean().abs() < 0.1


def test_longer_blocks_out_of_distribution():
    task = Copy(train_lengths=(1, 3), ood_validation_lengths=(4, 5), test_lengths=(6, 9))
    for split, limits in (("ood_validation", (4, 5)), ("test", (6, 9))):
        for step in range(4):
            level = task.batch(split, step=step, size=1).level.item()
            assert limits[0] <= level <= limits[1]


def test_batches_depend_on_split_seed_and_step_alone():
    task = Copy(repeats=(2, 2))
    fixed = {"level": 4, "size": 2}
    first = task.batch("train", seed=1, step=2, **fixed)
    assert all(map(torch.equal, first, task.batch("train", seed=1, step=2, **fixed)))
    for split, seed, step in (("validation", 1, 2), ("train", 2, 2), ("train", 1, 3)):
        assert not torch.equal(
            first.inputs, task.batch(split, seed=seed, step=step, **fixed).inputs
        )


def test_bad_arguments():
    with pytest.raises(UserError, match="Copy: test_lengths must begin above 8; got"):
        Copy(test_lengths=(8, 9))
    with pytest.raises(UserError, match="Copy: train_lengths must be a range from 1 on"):
        Copy(train_lengths=(0, 3))
    with pytest.raises(UserError, match="Copy: split must be one of train"):
        Copy().batch("dev")
