import re

import pytest

from wug.core.errors import UserError
from wug.tasks.language.wug_test import WugTest, plural, words

SENTENCE = re.compile(r"This is a (\w+)\. Now there are (?:two|three|four|five) (\w+)\.")


def told(task, split):
    text = task.open()
    return SENTENCE.findall(bytes(text[slice(*text.splits[split])]).decode())


def test_english_spells_plurals_like_this():
    # The words of berko1958 that are spelled with a rule.
    known = {"wug": "wugs", "gutch": "gutches", "kazh": "kazhs", "tor": "tors", "niz": "nizes",
             "lun": "luns", "cra": "cras", "bass": "basses", "spy": "spies"}  # fmt: skip
    assert {word: plural(word) for word in known} == known


def test_every_sentence_has_the_plural_of_its_word():
    for split in ("train", "validation", "test"):
        pairs = told(WugTest(), split)
        assert len(pairs) > 100
        assert all(plural(word) == many for word, many in pairs)


def test_words_of_the_test_are_new():
    task = WugTest()
    seen = {word for word, _ in told(task, "train")}
    assert seen.isdisjoint({word for word, _ in told(task, "test")})
    assert seen >= {word for word, _ in told(task, "validation")} - set(words(True))
    assert set(words(True)).isdisjoint(words(False))


def test_the_text_is_the_same_every_time():
    assert bytes(WugTest().open()[:1000]) == bytes(WugTest().open()[:1000])
    with pytest.raises(UserError, match="train_bytes must be at least 100"):
        WugTest(train_bytes=1)
