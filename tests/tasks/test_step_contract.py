"""What every task with an answer at some of its time steps promises, over the whole register."""

import pytest
import torch

from wug.core.errors import UserError
from wug.core.index import build, get
from wug.interfaces.interface import SPLITS
from wug.interfaces.steps import STEPS

TASKS = [
    entry for entry in build()
    if entry.kind == "task" and entry.details.get("interface") == "steps"
]  # fmt: skip
BATCH = 3

every_task = pytest.mark.parametrize("entry", TASKS, ids=lambda entry: entry.key)


def made(entry):
    """Return the task and its source; skip where its files are missing."""
    task = get("task", entry.key)()
    source = task.source(BATCH)
    try:
        source.num_parts("validation")
    except UserError as error:
        pytest.skip(str(error))
    return task, source


def test_there_are_tasks():
    assert {"copy", "associative_recall", "key_value", "multi_query_recall", "babi"} == {
        entry.key for entry in TASKS
    }


@every_task
def test_batches_have_the_shapes_of_the_interface(entry):
    task, source = made(entry)
    sizes = STEPS.sizes(task)
    for batch in (source.draw({}, (0,), 5, 0), source.part("validation", 0)):
        inputs, targets, asked = (batch[name] for name in ("inputs", "targets", "asked"))
        rows, length = asked.shape
        assert inputs.shape[:2] == targets.shape[:2] == (rows, length) and asked.any(1).all()
        if inputs.is_floating_point():
            assert inputs.shape[2:] == (sizes["in_features"],)
        else:
            assert inputs.min() >= 0 and inputs.max() < sizes["in_features"]
        if targets.is_floating_point():
            assert targets.shape[2:] == (sizes["out_features"],)
            assert set(targets.unique().tolist()) <= {0.0, 1.0}
        else:
            assert targets.dtype == torch.int64 and targets.max() < sizes["out_features"]


@every_task
def test_evaluations_are_judged_level_by_level(entry):
    _, source = made(entry)
    for split in SPLITS[1:]:
        groups = source.groups(split)
        parts = (0, source.num_parts(split) - 1)
        seen = torch.cat([source.part(split, index)["group"] for index in parts])
        assert len(set(groups)) == len(groups) > seen.max() and seen.min() >= 0
        assert source.part(split, 0) is source.part(split, 0)


@every_task
def test_seeds_have_batches_of_their_own_and_the_same_again(entry):
    _, source = made(entry)
    first, again, other = (source.draw({}, (seed,), 1, 0)["inputs"] for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert other.shape != first.shape or not torch.equal(other, first)


@every_task
def test_seeds_can_be_stacked_unless_stories_differ_in_length(entry):
    _, source = made(entry)
    if entry.key != "babi":
        for step in range(4):
            shapes = {source.draw({}, (seed,), step, 0)["inputs"].shape for seed in range(3)}
            assert len(shapes) == 1
