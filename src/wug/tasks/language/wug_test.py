"""The wug test (Berko, 1958): the plurals of words that nobody has seen before, as running text.

"This is a wug. Now there are two wugs." Which ending a word takes follows from its last letters, so
who knows the rule writes the plural of a new word, and who knows the list does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from wug.core.errors import require_at_least
from wug.core.registry import register
from wug.functional.streams import stream_key
from wug.sources.text import ByteText
from wug.sources.text_task import TextTask

ONSETS = ("b", "bl", "d", "dr", "f", "g", "gl", "k", "l", "m", "n", "p", "sk", "t", "tr", "w")
VOWELS = ("a", "e", "i", "o", "u")
ENDS = ("b", "ck", "d", "g", "m", "n", "p", "t", "ss", "sh", "ch", "x", "zz", "ty", "dy", "ny")
NUMBERS = ("two", "three", "four", "five")
# Of ten words: which are for the test alone.
NEW = 2


def plural(word: str) -> str:
    """Return the plural of a word as English spells it.

    Example:
        >>> [plural(word) for word in ("wug", "tash", "nizz", "bloty", "kex")]
        ['wugs', 'tashes', 'nizzes', 'bloties', 'kexes']
    """
    if word.endswith("y"):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "sh", "ch", "x", "z")) else f"{word}s"


@cache
def words(new: bool) -> tuple[str, ...]:
    """Return the words of the test, or those of training and validation."""
    every = ("".join(parts) for parts in product(ONSETS, VOWELS, ENDS))
    return tuple(w for w in every if (stream_key("wug", w)[0] % 10 < NEW) == new)


def tell(known: Sequence[str], size: int, split: str) -> bytes:
    """Write sentences about words until there are so many bytes."""
    generator = np.random.default_rng(stream_key("wug_test", split))
    lines, length = [], 0
    while length < size:
        word, number = known[int(generator.integers(len(known)))], NUMBERS[generator.integers(4)]
        lines.append(f"This is a {word}. Now there are {number} {plural(word)}.\n")
        length += len(lines[-1])
    return "".join(lines).encode()[:size]


@register(
    "task",
    name="Wug test",
    references=("berko1958",),
    failure_modes=("Plurals are spelled, not spoken: there are three endings, -s, -es and -ies.",),
    claim="language",
    splits=["train", "validation", "test"],
    interface="next_token",
)
@dataclass(frozen=True, kw_only=True)
class WugTest(TextTask):
    """Predict sentences with made-up words and their plurals; the test has other words.

    Departures:
        The words are ours, for networks that read letters; berko1958 asks children aloud, and for
        other endings as well.

    Args:
        train_bytes: Bytes of training text.
        held_out_bytes: Bytes of the validation text, and of the test.
        length: Bytes of a row in one step.
        num_blocks: Blocks that held-out text is read in, side by side.
        validation_tokens: How many bytes of the validation split are read; all by default.
        test_tokens: The same of the test split.
        pieces: Size of a vocabulary of word pieces; bytes by default.

    Raises:
        UserError: For sizes that are too small.

    Example:
        >>> text = WugTest().open()
        >>> bytes(text[:9]).decode()
        'This is a'

    References:
        berko1958
    """

    train_bytes: int = 200_000
    held_out_bytes: int = 8_000
    length: int = 64
    num_blocks: int = 8

    def __post_init__(self) -> None:
        """Check the sizes."""
        super().__post_init__()
        for name in ("train_bytes", "held_out_bytes"):
            require_at_least("WugTest", name, getattr(self, name), 100)

    def open(self) -> ByteText:
        """Write the text."""
        sizes = {"train": self.train_bytes, "validation": self.held_out_bytes}
        parts = {split: tell(words(False), size, split) for split, size in sizes.items()}
        parts["test"] = tell(words(True), self.held_out_bytes, "test")
        splits, end = {}, 0
        for split, part in parts.items():
            splits[split], end = (end, end + len(part)), end + len(part)
        return ByteText.of(b"".join(parts.values()), splits)
