"""Stories of bAbI (Weston et al., 2016): read from their files, told step by step, and judged."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

NUM_TASKS = 20
# Tokens of every vocabulary, in this order.
BLANK, QUESTION, UNKNOWN = "-", "?", "<unknown>"
WORD = re.compile(r"[^\s.,?]+|[.,?]")
# A task counts as solved below this share of wrong answer words.
SOLVED = 0.05

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


def error_counts(predictions: Tensor, targets: Tensor, asked: Tensor, tasks: Tensor) -> Tensor:
    """Count wrong and all answer words of each task.

    Args:
        predictions: The word that is said in every step.
        targets: The word that is due.
        asked: In which steps one is due.
        tasks: The task of every story, from 1 on.

    Shape:
        predictions, targets and asked (batch, seq), tasks (batch,) -> (task, 2), float64.
    """
    rows = (tasks - 1).unsqueeze(-1).expand_as(asked)[asked]
    wrong = (predictions != targets)[asked].double()
    counts = torch.zeros(NUM_TASKS, 2, dtype=torch.float64, device=wrong.device)
    return counts.index_add(0, rows, torch.stack((wrong, torch.ones_like(wrong)), -1))


def error_rates(counts: Tensor) -> dict[int, float]:
    """Return the share of wrong answer words of every task that was asked.

    Example:
        >>> counts = torch.zeros(20, 2)
        >>> counts[2] = torch.tensor([1.0, 4.0])
        >>> error_rates(counts)
        {3: 0.25}
    """
    rows = enumerate(counts.tolist(), 1)
    return {task: wrong / total for task, (wrong, total) in rows if total}
