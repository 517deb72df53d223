"""What every task on pairs of token sequences promises, over the whole register."""

from itertools import combinations

import pytest
import torch

from wug.core.errors import UserError
from wug.core.index import build, get
from wug.interfaces.interface import SPLITS
from wug.sources.pairs import PairTask

TASKS = [
    entry for entry in build()
    if entry.kind == "task" and entry.details.get("interface") == "transduction"
]  # fmt: skip
# Quick sizes for tasks that make much data.
SMALL = {
    "pcfg_productivity": {"num_train": 2_000, "num_validation": 200},
    "pcfg_systematicity": {"num_train": 2_000, "num_validation": 200},
    "film_queries": {"num_questions": 2_000, "num_train": 1_000, "num_test": 200},
    "mathematics": {"num_train": 2_000, "num_evaluation": 200},
}
# Files that no machine has unless its user put them there.
NEEDS_FILES = {"cfq"}

every_task = pytest.mark.parametrize("entry", TASKS, ids=lambda entry: entry.key)


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WUG_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


MADE = {}


def sets(entry):
    """Return a task and its written splits, made once for all tests."""
    if entry.key not in MADE:
        task = get("task", entry.key)(**SMALL.get(entry.key, {}))
        try:
            MADE[entry.key] = task, {split: task.pairs(split) for split in SPLITS}
        except UserError as error:
            MADE[entry.key] = str(error)
    if isinstance(MADE[entry.key], str):
        pytest.skip(MADE[entry.key])
    return MADE[entry.key]


def test_there_are_tasks():
    keys = {entry.key for entry in TASKS}
    assert {"scan", "scan_length", "cogs", "slog", "cfq", "mathematics"} | set(SMALL) == keys


@every_task
def test_facts(entry):
    task = get("task", entry.key)()
    assert isinstance(task, PairTask)
    assert entry.details["splits"] == list(SPLITS)
    assert hash(task) == hash(get("task", entry.key)())
    assert task.group in ("type", "length", "depth")
    assert 0 < task.threshold() < 1


@every_task
def test_vocabularies(entry):
    task, _ = sets(entry)
    for tokens in (task.source_tokens, task.target_tokens):
        assert len(set(tokens)) == len(tokens) < 2**15


@every_task
def test_no_source_is_in_two_splits(entry):
    _, made = sets(entry)
    sources = {split: {pair.source for pair in pairs} for split, pairs in made.items()}
    assert all(sources.values())
    for one, other in combinations(SPLITS, 2):
        shared = sources[one] & sources[other]
        assert not shared, (one, other, list(shared)[:3])


@every_task
def test_tokens_round_trip(entry):
    task, made = sets(entry)
    for pairs in made.values():
        for pair in pairs[:: max(len(pairs) // 200, 1)]:
            assert task.decode_source(task.encode_source(pair.source)) == pair.source
            assert task.decode_target(task.encode_target(pair.target)) == pair.target
            assert task.same(pair.target, pair.target)
            assert not task.same(pair.target + task.separator + pair.target[:1], pair.target)


@every_task
def test_sets_are_well_formed(entry):
    task, made = sets(entry)
    for split in ("validation", "test"):
        examples = task.examples(split)
        assert len(examples) == len(made[split])
        sides = (
            (examples.source, examples.source_lengths, task.num_source_tokens),
            (examples.target, examples.target_lengths, task.num_target_tokens),
        )
        for ids, lengths, num_tokens in sides:
            assert ids.dtype == torch.int16 and 0 <= int(ids.min()) <= int(ids.max()) < num_tokens
            assert lengths.dtype == torch.int64 and int(lengths.max()) == ids.shape[1]
            assert not ids[torch.arange(ids.shape[1]) >= lengths[:, None]].any()
        assert int(examples.source_lengths.min()) >= 1
        names = [examples.group_names[group] for group in examples.groups[:50]]
        assert names == [pair.group for pair in made[split][:50]]
        assert set(examples.group_names) == {pair.group for pair in made[split]}


@every_task
def test_same_data_each_time(entry):
    task, made = sets(entry)
    again = get("task", entry.key)(**SMALL.get(entry.key, {}))
    for split in ("test", "train"):
        assert again.pairs(split) == made[split]


@pytest.mark.slow
@pytest.mark.parametrize("entry", [e for e in TASKS if e.key not in SMALL], ids=lambda e: e.key)
def test_every_line_round_trips(entry):
    task, made = sets(entry)
    for pairs in made.values():
        for pair in pairs:
            assert task.decode_source(task.encode_source(pair.source)) == pair.source
            assert task.decode_target(task.encode_target(pair.target)) == pair.target
