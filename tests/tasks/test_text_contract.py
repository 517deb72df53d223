"""What every task of running text promises, over the whole register."""

from dataclasses import replace

import pytest

from wug.core.errors import UserError
from wug.core.index import build, get
from wug.sources.text import ByteText

TASKS = [
    entry for entry in build()
    if entry.kind == "task" and entry.details.get("interface") == "next_token"
]  # fmt: skip
every_task = pytest.mark.parametrize("entry", TASKS, ids=lambda entry: entry.key)


@pytest.fixture
def task(entry, monkeypatch):
    """The task with a short text in the place of what may not be here."""
    found = get("task", entry.key)
    text = ByteText.of(bytes(range(32, 96)) * 50)
    monkeypatch.setattr(found, "open", lambda self: text)
    return found(length=8, num_blocks=3, pieces=0)


@every_task
def test_training_text_is_read_on_from_step_to_step(task):
    source = task.source(4)
    first, second = (source.draw({}, (7,), step, 0) for step in (5, 6))
    assert first["inputs"].shape == (4, 8)
    assert (first["inputs"][:, 1:] == first["targets"][:, :-1]).all()
    goes_on = ~second["starts"]
    assert (first["targets"][goes_on, -1] == second["inputs"][goes_on, 0]).all()
    assert first["inputs"].max() < task.num_tokens


@every_task
@pytest.mark.parametrize("split", ["validation", "test"])
def test_every_held_out_token_is_predicted_once_and_by_its_block(task, split):
    source = task.source(4)
    parts = [source.part(split, index) for index in range(source.num_parts(split))]
    start, stop = task.text.splits[split]
    assert sum(int(part["mask"].sum()) for part in parts) == stop - start - 1
    rows = [
        [part["targets"][row][part["mask"][row]].tolist() for part in parts] for row in range(3)
    ]
    read = [token for row in rows for tokens in row for token in tokens]
    assert read == task.text[start + 1 : stop].tolist()
    assert len(source.groups(split)) == (3 if split == "test" else 1)
    assert ("group" in parts[0]) == (split == "test")


@every_task
def test_held_out_text_can_be_cut_short(task):
    short = replace(task, test_tokens=20)
    source = short.source(4)
    parts = [source.part("test", index) for index in range(source.num_parts("test"))]
    assert sum(int(part["mask"].sum()) for part in parts) == 19
    assert source.num_parts("ood_validation") == 0


@every_task
def test_text_becomes_bytes_and_text_again(task):
    assert task.decode(task.encode("wug, wugs: äö")) == "wug, wugs: äö"
    with pytest.raises(UserError, match="empty"):
        task.encode("")


@every_task
def test_bad_sizes_are_sentences(entry):
    make = get("task", entry.key)
    for name in ("length", "num_blocks"):
        with pytest.raises(UserError, match=f"{name} must be at least 1"):
            make(**{name: 0})
    with pytest.raises(UserError, match="test_tokens must be at least 2"):
        make(test_tokens=1)
    with pytest.raises(UserError, match="in its order"):
        make().source(2, sampler=object())
