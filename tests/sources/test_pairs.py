from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch

from wug.core.errors import UserError
from wug.sources.pairs import Pair, PairSet, PairTask


@dataclass(frozen=True, kw_only=True)
class Shout(PairTask):
    """Words in capital letters."""

    number: int = 3

    kept: ClassVar[bool] = True
    made: ClassVar[list[str]] = []
    source_tokens = ("a", "b")
    target_tokens = ("A", "B")

    def pairs(self, split):
        self.made.append(split)
        texts = [" ".join("ab"[: 1 + n % 2]) for n in range(self.number)]
        return [Pair(text, text.upper(), str(len(text))) for text in texts]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WUG_CACHE", str(tmp_path))
    Shout.made.clear()


def rows(examples):
    return [examples.source.tolist(), examples.target.tolist(), examples.groups.tolist()]


def test_ids_lengths_and_groups():
    made = Shout().examples("train")
    assert rows(made) == [[[0, 0], [0, 1], [0, 0]], [[0, 0], [0, 1], [0, 0]], [0, 1, 0]]
    assert made.source_lengths.tolist() == made.target_lengths.tolist() == [1, 2, 1]
    assert made.group_names == ("1", "3") and len(made) == 3
    assert made.source.dtype == torch.int16 and made.groups.dtype == torch.int64


def test_splits_are_made_once_and_kept():
    first, again = Shout().examples("test"), Shout().examples("test")
    assert Shout.made == ["test"]
    assert rows(first) == rows(again) and first.group_names == again.group_names
    Shout(number=2).examples("test")
    assert Shout.made == ["test", "test"]


def test_parts_are_no_wider_than_needed():
    made = Shout().examples("train")
    part = made[torch.tensor([0, 2])]
    assert part.source.shape == (2, 2) and part.trimmed().source.shape == (2, 1)
    batch = Shout().batch("train", torch.Generator().manual_seed(0), size=5)
    assert len(batch) == 5 and batch.source.shape[1] == int(batch.source_lengths.max())


def test_groups_with_names_of_their_own_order():
    made = PairSet.from_lists([[1], [2]], [[1], []], ["b", "a"], ["a", "b", "c"])
    assert made.groups.tolist() == [1, 0] and made.target_lengths.tolist() == [1, 0]


def test_errors_for_people():
    with pytest.raises(UserError, match="unknown token 'c'"):
        Shout().encode_source("a c")
    with pytest.raises(UserError, match="Shout: an empty source has no target"):
        Shout().encode_source("")
    with pytest.raises(UserError, match="split must be one of train"):
        Shout().examples("dev")
    with pytest.raises(UserError, match="Shout: test is empty"):
        Shout(number=0).examples("test")
    assert Shout().encode_target("") == []
