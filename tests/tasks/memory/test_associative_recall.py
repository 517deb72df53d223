import pytest
import torch

from wug.core.errors import UserError
from wug.tasks.memory.associative_recall import AssociativeRecall


def answer(row, task):
    """Read one sequence as a person would: blocks, the question, and where its answer is due."""
    bits = task.bits
    blocks, current, asking, question = [], [], False, []
    for t, step in enumerate(row):
        word = [int(value > 0) for value in step]
        if word[bits + 1]:
            if asking:
                return blocks, question, t + 1
            asking = True
            blocks.append(current)
        elif word[bits]:
            blocks += [current] if current else []
            current = []
        else:
            (question if asking else current).append(word[:bits])
    raise AssertionError("there is no question")


@pytest.mark.parametrize("version", ["text", "as_published"])
def test_the_block_after_the_question_is_due(version):
    task = AssociativeRecall(version=version, bits=6)
    for step in range(5):
        batch = task.batch("train", step=step, size=4)
        length = batch.inputs.shape[1]
        for row in range(4):
            blocks, question, due = answer(batch.inputs[row].tolist(), task)
            number = len(blocks)
            assert all(len(block) == 3 for block in blocks) and number == batch.level[row]
            assert 2 <= number <= 16
            assert length == 4 * number + 8 - (version == "as_published")
            assert question in blocks[:-1]
            following = [b for a, b in zip(blocks, blocks[1:], strict=False) if a == question]
            assert batch.targets[row, due:].tolist() in following
            assert due + 3 == length and not batch.targets[row, :due].any()
            assert batch.asked[row].nonzero().flatten().tolist() == list(range(due, length))


def test_every_block_but_the_last_is_asked_about():
    batch = AssociativeRecall(bits=10).batch("train", size=200, level=3)
    asked = [answer(row, AssociativeRecall(bits=10))[:2] for row in batch.inputs.tolist()]
    positions = {blocks.index(question) for blocks, question in asked}
    assert positions == {0, 1}


def test_more_blocks_out_of_distribution():
    task = AssociativeRecall()
    assert 17 <= task.batch("ood_validation", size=1).level.item() <= 24
    assert 25 <= task.batch("test", size=1).level.item() <= 32


def test_batches_depend_on_split_seed_and_step_alone():
    task = AssociativeRecall()
    first = task.batch("train", seed=1, step=2, level=3)
    assert all(map(torch.equal, first, task.batch("train", seed=1, step=2, level=3)))
    for split, seed, step in (("validation", 1, 2), ("train", 2, 2), ("train", 1, 3)):
        other = task.batch(split, seed=seed, step=step, level=3)
        assert not torch.equal(first.inputs, other.inputs)


def test_bad_arguments():
    with pytest.raises(UserError, match="train_blocks must be a range from 2 on; got"):
        AssociativeRecall(train_blocks=(1, 4))
    with pytest.raises(UserError, match="level must be at least 2; got 1"):
        AssociativeRecall().batch("train", level=1)
