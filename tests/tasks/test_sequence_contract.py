"""What every task on token sequences promises, over the whole register."""

from dataclasses import fields, replace
from graphlib import TopologicalSorter
from itertools import combinations

import pytest
import torch

from wug.core.index import build, get
from wug.sources.sequences import SPLITS, SequenceTask

TASKS = [
    entry for entry in build()
    if entry.kind == "task" and entry.details.get("interface") == "tokens"
]  # fmt: skip
# Enough for every level, and quick for tasks that train on a million.
NUM_TRAIN = 5_000

every_task = pytest.mark.parametrize("entry", TASKS, ids=lambda entry: entry.key)


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WUG_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def small(entry):
    return get("task", entry.key)(num_train=NUM_TRAIN)


def problems(examples):
    rows = zip(examples.tokens.tolist(), examples.lengths.tolist(), strict=True)
    return [tuple(row[:length]) for row, length in rows]


def some(examples, number=100):
    return examples[torch.linspace(0, len(examples) - 1, number).long()]


def test_there_are_tasks():
    assert {"ctl", "ctlpp"} <= {entry.key for entry in TASKS}


@every_task
def test_facts(entry):
    task = small(entry)
    assert isinstance(task, SequenceTask)
    assert entry.details["splits"] == list(SPLITS)
    assert task.level in ("length", "depth")
    assert len(set(task.tokens)) == task.num_tokens <= 256
    assert len(set(task.classes)) == task.num_classes > 1
    assert 0 < task.threshold() < 1
    assert hash(task) == hash(small(entry))


@every_task
def test_sets_are_well_formed(entry):
    task = small(entry)
    for split in SPLITS:
        examples = task.examples(split)
        num_items, width = examples.tokens.shape
        assert examples.tokens.dtype == torch.uint8 and int(examples.tokens.max()) < task.num_tokens
        for part in (examples.lengths, examples.labels, examples.levels):
            assert part.shape == (num_items,) and part.dtype == torch.int64
        assert examples.lengths.min() >= 1 and examples.lengths.max() <= width
        after_end = torch.arange(width) >= examples.lengths[:, None]
        assert (examples.tokens[after_end] == 0).all()
        assert set(examples.labels.tolist()) <= set(range(task.num_classes))
    assert set(task.examples("train").labels.tolist()) == set(range(task.num_classes))


@every_task
def test_no_problem_is_in_two_splits(entry):
    task = small(entry)
    sets = {split: problems(task.examples(split)) for split in SPLITS}
    assert len(sets["train"]) == NUM_TRAIN
    for one, other in combinations(SPLITS, 2):
        assert not set(sets[one]) & set(sets[other])
    if any(len(set(rows)) < len(rows) for rows in sets.values()):
        assert "more than once" in type(task).__doc__


@every_task
def test_labels_are_the_answers(entry):
    task = small(entry)
    for split in SPLITS:
        examples = some(task.examples(split))
        assert [task.answer(problem) for problem in problems(examples)] == examples.labels.tolist()


@every_task
def test_what_is_written_can_be_read(entry):
    task = small(entry)
    for problem in problems(some(task.examples("test"))):
        assert task.encode(task.decode(problem)) == list(problem)


@every_task
def test_dependencies_are_places_of_other_tokens(entry):
    task = small(entry)
    for problem in problems(some(task.examples("test"))):
        needs = task.dependencies(problem)
        assert len(needs) == len(problem)
        order = list(TopologicalSorter(dict(enumerate(needs))).static_order())
        assert sorted(order) == list(range(len(problem)))


@every_task
def test_levels(entry):
    task = small(entry)
    levels = {split: set(task.examples(split).levels.tolist()) for split in SPLITS}
    assert levels["validation"] <= levels["train"]
    for split in ("train", "ood_validation", "test"):
        declared = getattr(task, f"{split}_{task.level}s", None)
        if declared is not None:
            assert levels[split] == set(range(declared[0], declared[1] + 1))
    if entry.details["claim"] == "productivity":
        assert max(levels["train"]) < min(levels["ood_validation"] | levels["test"])


@every_task
def test_same_data_each_time(entry, monkeypatch, tmp_path):
    first = {split: small(entry).examples(split) for split in SPLITS}
    cached = {split: small(entry).examples(split) for split in SPLITS}
    monkeypatch.setenv("WUG_CACHE", str(tmp_path))
    # In another order: no split depends on what was made before.
    again = {split: small(entry).examples(split) for split in reversed(SPLITS)}
    for split in SPLITS:
        for one in fields(first[split]):
            expected = getattr(first[split], one.name)
            assert torch.equal(getattr(cached[split], one.name), expected)
            assert torch.equal(getattr(again[split], one.name), expected)


@every_task
def test_another_seed_is_other_data(entry):
    task = small(entry)
    other = replace(task, seed=task.seed + 1)
    assert set(problems(task.examples("test"))) != set(problems(other.examples("test")))


@every_task
def test_batches(entry):
    task = small(entry)
    for split in SPLITS:
        first, again, other = (
            task.batch(split, torch.Generator().manual_seed(seed), size=16) for seed in (0, 0, 1)
        )
        tokens, lengths, labels = first
        assert all(map(torch.equal, first, again))
        assert not torch.equal(labels, other[2])
        assert tokens.shape == (16, int(lengths.max())) and tokens.dtype == torch.int64
        assert set(problems(task.examples(split))) >= {
            tuple(row[:length]) for row, length in zip(tokens.tolist(), lengths, strict=True)
        }
