"""Stories of bAbI (Weston et al., 2016): read from their files, and told step by step."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

NUM_TASKS = 20
# Tokens of every vocabulary, in this order.
BLANK, QUESTION, UNKNOWN = "-", "?", "<unknown>"
WORD = re.compile(r"[^\s.,?]+|[.,?]")

Lines = tuple[str, ...]


@dataclass(frozen=True)
class Story:
    """A story as words, with an answer in some of its steps.

    Args:
        task: Number of its task, from 1 on.
        words: What is seen in every step.
        answers: The word that is due in a step, by the number of the step.
    """

    task: int
    words: tuple[str, ...]
    answers: dict[int, str]


def split_words(text: str) -> list[str]:
    """Return words in lower case; points, commas and question marks stand alone.

    Example:
        >>> split_words("Where is Mary?")
        ['where', 'is', 'mary', '?']
    """
    return WORD.findall(text.lower())


def read_lines(path: Path) -> Iterator[Lines]:
    """Yield the lines of every story of a file, without their numbers; it may be gzipped."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        story: list[str] = []
        for line in file:
            number, _, text = line.rstrip("\n").partition(" ")
            if number == "1" and story:
                yield tuple(story)
                story = []
            if number:
                story.append(text)
        if story:
            yield tuple(story)


def tell(task: int, lines: Sequence[str], thinking_steps: int) -> Story:
    r"""Turn the lines of a story into steps.

    Example:
        >>> story = tell(8, ["Al got a cat.", "What has Al?\tcat,hat\t1"], thinking_steps=1)
        >>> " ".join(story.words), story.answers
        ('al got a cat . what has al ? - - -', {10: 'cat', 11: 'hat'})
    """
    words: list[str] = []
    answers: dict[int, str] = {}
    for line in lines:
        text, *rest = line.split("\t")
        words += split_words(text)
        if rest:
            words += [BLANK] * thinking_steps
            for answer in rest[0].lower().split(","):
                answers[len(words)] = answer.strip()
                words.append(BLANK)
    return Story(task, tuple(words), answers)
