from dataclasses import dataclass, fields

import pytest
import torch

from wug.core.errors import UserError
from wug.sources.sequences import SPLITS, SequenceSet, SequenceTask


@dataclass(frozen=True, kw_only=True)
class Parity(SequenceTask):
    """Whether a row of bits has an odd number of ones."""

    width: int = 3

    tokens = ("0", "1")
    classes = ("even", "odd")
    separator = ""

    def generate(self, split):
        calls.append(split)
        rows = [[0] * SPLITS.index(split) + [1] * ones for ones in range(1, self.width + 1)]
        return SequenceSet.from_lists(rows, list(map(self.answer, rows)), list(map(len, rows)))

    def dependencies(self, tokens):
        return [(place - 1,) if place else () for place in range(len(tokens))]

    def answer(self, tokens):
        return sum(tokens) % 2


class SpacedParity(Parity):
    separator = " "


calls = []


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("WUG_CACHE", str(tmp_path))
    calls.clear()


def equal(one, other):
    return all(
        torch.equal(getattr(one, part.name), getattr(other, part.name)) for part in fields(one)
    )


def test_from_lists():
    made = SequenceSet.from_lists([[4, 5, 6], [7], [8, 9]], [0, 1, 2], [3, 1, 2])
    assert made.tokens.tolist() == [[4, 5, 6], [7, 0, 0], [8, 9, 0]]
    assert made.tokens.dtype == torch.uint8
    assert made.lengths.tolist() == [3, 1, 2]
    assert made.labels.tolist() == [0, 1, 2] and made.levels.tolist() == [3, 1, 2]
    assert len(made) == 3


def test_some_of_a_set():
    made = SequenceSet.from_lists([[4, 5], [7], [8, 9]], [0, 1, 2], [3, 1, 2])
    assert made[1:].labels.tolist() == [1, 2]
    assert made[torch.tensor([2, 0])].tokens.tolist() == [[8, 9], [4, 5]]


def test_a_split_is_made_once():
    first, again = Parity().examples("train"), Parity().examples("train")
    assert calls == ["train"] and equal(first, again)
    Parity().examples("test")
    assert calls == ["train", "test"]


def test_other_fields_or_editions_are_other_data(monkeypatch):
    assert len(Parity().examples("train")) == 3
    assert len(Parity(width=5).examples("train")) == 5
    monkeypatch.setattr(Parity, "edition", 2)
    Parity().examples("train")
    assert calls == ["train"] * 3


@pytest.mark.parametrize("content", [b"", b"torn"])
def test_a_torn_file_is_made_anew(tmp_path, content):
    first = Parity().examples("train")
    (path,) = (tmp_path / "tasks").iterdir()
    path.write_bytes(content)
    assert equal(Parity().examples("train"), first)
    assert calls == ["train", "train"]
    assert equal(Parity().examples("train"), first) and len(calls) == 2


def test_a_batch_is_no_wider_than_its_longest():
    task = Parity(width=9)
    for seed in range(5):
        tokens, lengths, labels = task.batch("train", torch.Generator().manual_seed(seed), size=2)
        assert tokens.shape == (2, int(lengths.max())) and tokens.dtype == torch.int64
        assert labels.tolist() == (tokens.sum(1) % 2).tolist()


@pytest.mark.parametrize(("task", "text"), [(Parity(), "0110"), (SpacedParity(), "0 1 1 0")])
def test_written_and_read(task, text):
    assert task.encode(text) == task.encode(f" {text} ") == [0, 1, 1, 0]
    assert task.decode([0, 1, 1, 0]) == text


def test_sizes():
    assert (Parity().num_tokens, Parity().num_classes) == (2, 2)
    assert Parity().level == "length" and Parity().threshold() == 0.01


def test_bad_input():
    with pytest.raises(UserError, match="split must be one of train, validation, .* got 'dev'"):
        Parity().examples("dev")
    with pytest.raises(UserError, match="unknown token '2'"):
        Parity().encode("012")
    with pytest.raises(UserError, match="an empty problem has no answer"):
        Parity().encode("  ")
