"""Numbers in words."""

import pytest
import torch

from wug.core.errors import UserError
from wug.tasks.language.number_words import (
    LARGEST,
    SIZES,
    WORDS,
    NumberWords,
    in_words,
    numbers_of,
    tokens_of,
)

KNOWN = {
    1: "one", 12: "twelve", 20: "twenty", 47: "forty seven", 100: "one hundred",
    310: "three hundred and ten", 999: "nine hundred and ninety nine",
}  # fmt: skip


def test_words():
    assert {number: " ".join(in_words(number)) for number in KNOWN} == KNOWN
    spelled = {" ".join(in_words(number)) for number in range(1, LARGEST + 1)}
    assert len(spelled) == LARGEST


def test_targets_are_what_the_words_spell():
    task, numbers = NumberWords(), torch.arange(1, LARGEST + 1)
    assert torch.equal(task.targets(task.target_values(0), tokens_of(numbers))[:, 0], numbers)


def test_sets_are_apart_and_training_has_every_word():
    train, validation, test = (set(numbers_of(s).tolist()) for s in ("train", "validation", "test"))
    assert [len(s) for s in (train, validation, test)] == [169, 200, 630]
    assert len(train | validation | test) == sum(SIZES.values()) - 200 == LARGEST
    seen = tokens_of(torch.tensor(sorted(train)))
    assert set(seen.flatten().tolist()) == set(range(len(WORDS)))
    with pytest.raises(UserError):
        NumberWords(tolerance=0)
