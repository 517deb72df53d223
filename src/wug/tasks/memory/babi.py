"""bAbI (Weston et al., 2016): short stories with questions, twenty kinds of them.

The standard files of version 1.2. A story goes to the network word by word; after a question
come a few steps to think, then one step for each word of the answer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from wug.core.errors import MissingFileError, UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.functional.streams import generator_for
from wug.sources.files import search_folders
from wug.sources.generated import GeneratedSource
from wug.sources.step_batch import SPLITS, StepBatch, StepTask, as_batch
from wug.tasks.memory._babi_stories import (
    BLANK,
    NUM_TASKS,
    QUESTION,
    UNKNOWN,
    Lines,
    Story,
    read_lines,
    tell,
)

# A task counts as solved up to this share of wrong answer words.
SOLVED = 0.05
# Size of the vocabulary of all standard files.
NUM_TOKENS = 160
# Training stories of each task in en-10k; what a folder has less of is said.
NUM_STORIES = (
    2000, 2000, 2000, 10000, 2000, 2000, 2000, 2000, 2000, 2000,
    2000, 2000, 2000, 2000, 2500, 10000, 1250, 1978, 10000, 933,
)  # fmt: skip


@register(
    "task",
    name="bAbI",
    references=("weston2016", "csordas2023"),
    equation=r"\text{story}, \text{question} \mapsto \text{answer}",
    failure_modes=("Tasks 16, 17 and 19 stay unsolved by all variants of csordas2023.",),
    claim="memory",
    splits=list(SPLITS),
    interface="steps",
)
@dataclass(frozen=True, kw_only=True)
class Babi(StepTask):
    """Questions about short stories, all tasks together.

    Tokens 0, 1 and 2 are the blank of thinking, answering and padding, the question mark, and words
    that no file has. The level of a story is the number of its task.

    Departures:
        None from csordas2023's text, where the network answers in one step for each answer word
        after 3 steps to think. Its code (``version="as_published"``) drops the last story of every
        file. Validation is a share of the training stories; in csordas2023 there is none. Nothing
        here is out of distribution: OOD validation is the validation set once more.

    Args:
        folder: Holds ``en-10k/qa1_..._train.txt`` and so on, gzipped or not; by default the folder
            ``babi`` of the data folders. Where the training file of a task is missing, stories of
            it are taken from ``qa<task>-partial``, each one once; `gaps` says what is missing.
        tasks: Numbers of the tasks.
        version: ``"text"`` or ``"as_published"``.
        thinking_steps: Number of blank steps between a question and its answer.
        validation_share: Share of the training stories that are kept for validation.
        longest: Stories of more steps are left out; `gaps` says how many. None keeps all.
        similar_lengths: If above 0, the stories of a training batch are drawn from so many that are
            next to each other by length, so that little of a batch is padding.

    Raises:
        UserError: For a folder without these files, or arguments out of their range.

    Example:
        >>> Babi(folder="nowhere").vocabulary  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
        wug.core.errors.MissingFileError: Babi: nowhere/en-10k has no file of task 1 (test).

    References:
        weston2016, csordas2023
    """

    # A published error is the mean over tasks, however many questions each has.
    averages_groups: ClassVar[bool] = True
    # Groups are numbers of tasks, which are kinds and no sizes.
    kinds: ClassVar[str] = "task"

    folder: str | Path | None = None
    tasks: tuple[int, ...] = tuple(range(1, NUM_TASKS + 1))
    version: Literal["text", "as_published"] = "text"
    thinking_steps: int = 3
    validation_share: float = 0.1
    longest: int | None = None
    similar_lengths: int = 0

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_choice("Babi", "version", self.version, ("text", "as_published"))
        require_at_least("Babi", "thinking_steps", self.thinking_steps, 0)
        require_at_least("Babi", "similar_lengths", self.similar_lengths, 0)
        if not self.tasks or not set(self.tasks) <= set(range(1, NUM_TASKS + 1)):
            raise UserError(f"Babi: tasks must be numbers from 1 to 20; got {self.tasks}.")
        if not 0 <= self.validation_share < 1:
            raise UserError(
                f"Babi: validation_share must be in [0, 1); got {self.validation_share}."
            )

    @property
    def home(self) -> Path:
        """The folder of the files: the one that is named, or the first data folder that has it."""
        if self.folder is not None:
            return Path(self.folder)
        places = [place / "babi" for place in search_folders()]
        return next((place for place in places if place.is_dir()), places[0])

    def files(self, task: int, part: Literal["train", "test"]) -> list[Path]:
        """Return the file of a task, or those that hold a part of its stories."""
        folder = self.home
        found = sorted((folder / "en-10k").glob(f"qa{task}_*_{part}.txt*"))
        if not found and part == "train":
            found = sorted((folder / f"qa{task}-partial").glob("*.txt*"))
        if not found:
            raise MissingFileError(
                f"Babi: {folder / 'en-10k'} has no file of task {task} ({part})."
            )
        return found

    def all_stories(self, part: Literal["train", "test"]) -> dict[int, list[Story]]:
        """Return the stories of every task in the order of the files, whatever their length."""
        stories = {}
        for task in self.tasks:
            files = self.files(task, part)
            lines: list[Lines] = []
            for path in files:
                read = list(read_lines(path))
                lines += read[:-1] if self.version == "as_published" else read
            if len(files) > 1:  # parts of one set that may overlap
                lines = list(dict.fromkeys(lines))
            stories[task] = [tell(task, story, self.thinking_steps) for story in lines]
        return stories

    @cached_property
    def _parts(self) -> dict[str, dict[int, list[Story]]]:
        return {part: self.all_stories(part) for part in ("test", "train")}

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """All words of stories and answers, sorted, after the three special ones."""
        words = {
            word
            for part in self._parts.values()
            for stories in part.values()
            for story in stories
            for word in (*story.words, *story.answers.values())
        }
        special = (BLANK, QUESTION, UNKNOWN)
        return (*special, *sorted(words - set(special)))

    @cached_property
    def token_of(self) -> dict[str, int]:
        """The token of every word."""
        return {word: token for token, word in enumerate(self.vocabulary)}

    @property
    def in_features(self) -> int:
        """Size of the vocabulary; of the standard files it is known without reading them."""
        return NUM_TOKENS if self.folder is None else len(self.vocabulary)

    @property
    def out_features(self) -> int:
        """Number of classes: all words."""
        return self.in_features

    def gaps(self) -> tuple[str, ...]:
        """Say which stories of the full set are not here, and which were too long."""
        lines = []
        for task in self.tasks:
            have, full = len(self._parts["train"][task]), NUM_STORIES[task - 1]
            if have < full:
                lines.append(f"task {task}: {have:,} of {full:,} training stories")
            for part, stories in self._parts.items():
                long = [story for story in stories[task] if not self.fits(story)]
                if long:
                    lines.append(
                        f"task {task}: {len(long):,} of {len(stories[task]):,} {part} stories have "
                        f"more than {self.longest} steps"
                    )
        return tuple(lines)

    def fits(self, story: Story) -> bool:
        """Say whether a story is short enough."""
        return self.longest is None or len(story.words) <= self.longest

    def stories(self, split: str) -> list[Story]:
        """Return the stories of a split, task after task; validation is spread over a file."""
        require_choice("Babi", "split", split, SPLITS)
        chosen = []
        for task in self.tasks:
            stories = self._parts["test" if split == "test" else "train"][task]
            if split != "test":
                kept = round(self.validation_share * len(stories))
                order = torch.randperm(
                    len(stories), generator=generator_for("babi", "validation", task)
                ).tolist()
                picked = sorted(order[kept:] if split == "train" else order[:kept])
                stories = [stories[index] for index in picked]
            chosen += [story for story in stories if self.fits(story)]
        return chosen

    @cached_property
    def _by_split(self) -> dict[str, list[Story]]:
        return {split: self.stories(split) for split in SPLITS}

    @cached_property
    def _by_length(self) -> list[Story]:
        return sorted(self._by_split["train"], key=lambda story: len(story.words))

    def threshold(self) -> float:
        """Return the largest share of wrong answer words that counts as solved: 5 %."""
        return SOLVED

    def encode(self, stories: Sequence[Story]) -> StepBatch:
        """Put stories below each other, padded with blanks."""
        longest = max(len(story.words) for story in stories)
        inputs = torch.zeros(len(stories), longest, dtype=torch.int64)
        targets, asked = torch.zeros_like(inputs), torch.zeros_like(inputs, dtype=torch.bool)
        unknown = self.token_of[UNKNOWN]
        for row, story in enumerate(stories):
            tokens = [self.token_of.get(word, unknown) for word in story.words]
            inputs[row, : len(tokens)] = torch.tensor(tokens)
            for step, answer in story.answers.items():
                targets[row, step], asked[row, step] = self.token_of.get(answer, unknown), True
        return StepBatch(inputs, targets, asked, torch.tensor([story.task for story in stories]))

    def batch(self, split: str, *, seed: int = 0, step: int = 0, size: int = 2) -> StepBatch:
        """Draw stories of all tasks, with replacement; the same on every machine.

        Args:
            split: One of `SPLITS`.
            seed: Of the data.
            step: Number of the batch.
            size: Number of stories.
        """
        require_choice("Babi", "split", split, SPLITS)
        stories = self._by_split[split]
        if not stories:
            raise UserError(f"Babi: there are no {split} stories of up to {self.longest} steps.")
        generator = generator_for("babi", split, seed, step)
        if self.similar_lengths and split == "train":
            middle = int(torch.randint(len(stories), (), generator=generator))
            first = min(middle - self.similar_lengths // 2, len(stories) - self.similar_lengths)
            stories = self._by_length[max(first, 0) :][: self.similar_lengths]
        chosen = torch.randint(len(stories), (size,), generator=generator).tolist()
        return self.encode([stories[index] for index in chosen])

    def shortest(self, task: int, split: str = "test") -> StepBatch:
        """Return the shortest story of a task, by which a network can be looked at best.

        Args:
            task: Its number.
            split: One of `SPLITS`.

        Raises:
            UserError: The split has no story of it.
        """
        require_choice("Babi", "split", split, SPLITS)
        stories = [story for story in self._by_split[split] if story.task == task]
        if not stories:
            raise UserError(f"Babi: there are no {split} stories of task {task}.")
        return self.encode([min(stories, key=lambda story: len(story.words))])

    def source(self, batch_size: int, **_: Any) -> GeneratedSource:
        """Return where batches come from: drawn ones in training, else all stories of a split."""

        @cache
        def parts(split: str) -> list[list[Story]]:
            stories = sorted(self._by_split[split], key=lambda story: len(story.words))
            return [
                stories[first : first + self.part_size]
                for first in range(0, len(stories), self.part_size)
            ]

        def make(split: str, seed: int, step: int) -> dict[str, Tensor]:
            if split == "train":
                return as_batch(self.batch(split, seed=seed, step=step, size=batch_size))
            made = self.encode(parts(split)[step])
            group = torch.tensor([self.tasks.index(task) for task in made.level.tolist()])
            return as_batch(made) | {"group": group}

        return GeneratedSource(
            make, lambda split: len(parts(split)), lambda _: tuple(map(str, self.tasks))
        )

    example = "Mary went to the kitchen. John went home. Where is Mary?"

    reads = "It reads a story of simple sentences, with questions."

    def read(self, text: str) -> dict[str, Tensor]:
        """Return a story with questions, as a person types it, as a batch.

        Raises:
            UserError: There is no question.
        """
        sentences = [part.strip() for part in re.findall(r"[^.?]+[.?]", text)]
        if not any(sentence.endswith("?") for sentence in sentences):
            raise UserError(f"Babi: a story needs a question, such as: {self.example}")
        # What the answer is nobody knows yet; a blank has its place.
        lines = [s + f"\t{BLANK}" if s.endswith("?") else s for s in sentences]
        return as_batch(self.encode([tell(self.tasks[0], lines, self.thinking_steps)]))

    def write(self, logits: Tensor, batch: dict[str, Tensor]) -> dict[str, Any]:
        """Return the word that a network said to every question.

        Args:
            logits: Of every step.
            batch: What `read` returned.
        """
        asked = batch["asked"][0] > 0
        tokens = logits[asked].argmax(-1)
        labels = self.spell(batch["inputs"][0])
        return {"said": ", ".join(self.spell(tokens)), "due": None, "labels": labels}

    def spell(self, tokens: Tensor) -> list[str]:
        """Return the words of tokens."""
        known = self.vocabulary
        return [known[token] if token < len(known) else UNKNOWN for token in tokens.tolist()]

    def most_frequent_answers(self) -> dict[int, tuple[str, float]]:
        """Return the most frequent answer word of each task in training, and its error in tests."""
        answers = {}
        for task in self.tasks:
            train, test = (
                Counter(word for story in part[task] for word in story.answers.values())
                for part in (self._parts["train"], self._parts["test"])
            )
            word = min(train, key=lambda one: (-train[one], one))
            answers[task] = (word, 1 - test[word] / test.total())
        return answers
