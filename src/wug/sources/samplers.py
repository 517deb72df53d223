"""Which examples of a finite set make the batch of a step, as data; the same after a resume.

References:
    csordas2023
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal, Protocol

import torch
from torch import Tensor

from wug.core.errors import require_at_least, require_choice
from wug.functional.streams import stream_key

Key = tuple[str | int, ...]
Values = Mapping[str, Tensor]
Choose = Callable[[Values, Key, int], Tensor]

GRADINGS = ("level", "length")
# Problems of one grade alone may show nothing composed.
FIRST_GRADES = 2
# By length, grades have about equally many problems of the training set.
NUM_LENGTH_GRADES = 12
# Every width of a batch is compiled anew, which takes some seconds: few widths, each about so much
# of the next.
NARROWER = 0.75
# More than the tokens of any problem; numbers kinds of problems.
NUM_LENGTHS = 512


def seeded(*parts: str | int) -> torch.Generator:
    """Return a generator that depends on the given names and numbers alone."""
    low, high = stream_key(*parts)
    return torch.Generator().manual_seed(low + (high << 32))


def size_of_batch(batch_size: int, num_examples: int) -> int:
    """Return how many examples make a batch: no more than there are.

    Raises:
        UserError: There are none.
    """
    require_at_least("sampler", "number of examples", num_examples, 1)
    return min(batch_size, num_examples)


def widths_below(longest: int) -> list[int]:
    """Return the widths that batches of up to so many tokens are padded to.

    Example:
        >>> widths_below(6), widths_below(50)
        ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 29, 38, 50])
    """
    widths = [longest]
    while widths[-1] > 1:
        widths.append(min(widths[-1] - 1, math.ceil(NARROWER * widths[-1])))
    return widths[::-1]


class Sampled(Protocol):
    """What samplers know of a set of examples."""

    @property
    def lengths(self) -> Tensor:
        """Number of tokens of each example."""
        ...

    @property
    def levels(self) -> Tensor:
        """How long or deep each example's problem is."""
        ...


class Sampler(Protocol):
    """Chooses the examples of a step, and may learn from which of them were answered wrongly."""

    learns: ClassVar[bool]

    def first_values(self, examples: Sampled) -> dict[str, Tensor]:
        """Return what it knows before the first step."""
        ...

    def learn(self, values: Values, batch: Mapping[str, Tensor], wrong: Tensor) -> Values:
        """Return what it knows after a batch."""
        ...

    def chooser(self, examples: Sampled, batch_size: int) -> Choose:
        """Return a function to the indices of a batch.

        It takes what the sampler has learnt so far (see `ByError`), the stream's key and the step.
        """
        ...


class Fixed:
    """What samplers share that don't depend on how the training goes."""

    learns: ClassVar[bool] = False

    def first_values(self, examples: Sampled) -> dict[str, Tensor]:
        """Return nothing."""
        return {}

    def learn(self, values: Values, batch: Mapping[str, Tensor], wrong: Tensor) -> Values:
        """Return what was there."""
        return values


@dataclass(frozen=True)
class Bucketed(Fixed):
    """Every example once in an epoch, with others of about its length in a batch.

    Example:
        >>> from types import SimpleNamespace
        >>> lengths = torch.tensor([1, 2, 1, 2])
        >>> examples = SimpleNamespace(lengths=lengths, levels=lengths)
        >>> choose = Bucketed().chooser(examples, batch_size=2)
        >>> sorted(tuple(lengths[choose({}, (0,), step)].tolist()) for step in (0, 1))
        [(1, 1), (2, 2)]
    """

    def chooser(self, examples: Sampled, batch_size: int) -> Choose:
        """Shuffle, sort by length, cut into batches and visit them in random order."""
        lengths = examples.lengths
        size = size_of_batch(batch_size, len(lengths))
        num_batches = len(lengths) // size

        @lru_cache(maxsize=2)
        def make_epoch(key: Key, epoch: int) -> Tensor:
            generator = seeded("epoch", *key, epoch)
            order = torch.randperm(len(lengths), generator=generator)[: num_batches * size]
            order = order[lengths[order].argsort(stable=True)]
            batches = order.view(num_batches, size)
            return batches[torch.randperm(num_batches, generator=generator)]

        def choose(values: Values, key: Key, step: int) -> Tensor:
            epoch, index = divmod(step, num_batches)
            return make_epoch(key, epoch)[index]

        return choose


@dataclass(frozen=True)
class ByTokens(Fixed):
    """Every example once in an epoch, in batches of about as many tokens, not of as many examples.

    Short sequences come in large batches and long ones in small batches, so that no batch needs
    more memory than another. The batch size of a plan does not count.

    Args:
        most_tokens: Of a batch, padding included; an example with more is a batch of its own.

    Example:
        >>> from types import SimpleNamespace
        >>> sizes = torch.tensor([1, 4, 1, 2, 9, 1])
        >>> choose = ByTokens(4).chooser(SimpleNamespace(lengths=sizes, levels=sizes), batch_size=2)
        >>> sorted(sorted(sizes[choose({}, (0,), step)].tolist()) for step in range(4))
        [[1, 1, 1], [2], [4], [9]]
    """

    most_tokens: int

    def __post_init__(self) -> None:
        """Check the bound."""
        require_at_least("ByTokens", "most_tokens", self.most_tokens, 1)

    def chooser(self, examples: Sampled, batch_size: int) -> Choose:
        """Shuffle, sort by size, cut where a batch is full, and visit batches in random order."""
        # Pairs count the tokens of both sides.
        lengths: Tensor = getattr(examples, "num_tokens", examples.lengths)
        require_at_least("sampler", "number of examples", len(lengths), 1)
        ends, start = [], 0
        # Sizes in order are the same in every epoch, and so are the cuts.
        for index, size in enumerate(lengths.sort().values.tolist()):
            if index > start and size * (index + 1 - start) > self.most_tokens:
                ends.append(index)
                start = index
        cuts = [*ends, len(lengths)]
        num_batches = len(cuts)

        @lru_cache(maxsize=2)
        def make_epoch(key: Key, epoch: int) -> tuple[Tensor, Tensor]:
            generator = seeded("tokens", *key, epoch)
            order = torch.randperm(len(lengths), generator=generator)
            order = order[lengths[order].argsort(stable=True)]
            return order, torch.randperm(num_batches, generator=generator)

        def choose(values: Values, key: Key, step: int) -> Tensor:
            epoch, index = divmod(step, num_batches)
            order, visits = make_epoch(key, epoch)
            batch = int(visits[index])
            return order[cuts[batch - 1] if batch else 0 : cuts[batch]]

        return choose


@dataclass(frozen=True)
class Drawn(Fixed):
    """Examples of all lengths, drawn with replacement."""

    def chooser(self, examples: Sampled, batch_size: int) -> Choose:
        """Draw each example as often as any other."""
        number = len(examples.lengths)
        size = size_of_batch(batch_size, number)

        def choose(values: Values, key: Key, step: int) -> Tensor:
            generator = seeded("drawn", *key, step)
            return torch.randint(number, (size,), generator=generator)

        return choose


@dataclass(frozen=True)
class ByLevel(Fixed):
    """Levels drawn in proportion to a power of theirs, with replacement, mixed in a batch.

    Args:
        power: All levels alike with 0, long or deep ones more often with 1.
    """

    power: float

    def chooser(self, examples: Sampled, batch_size: int) -> Choose:
        """Draw a level, then one of its examples."""
        size = size_of_batch(batch_size, len(examples.levels))
        known, index, counts = examples.levels.unique(return_inverse=True, return_counts=True)
        chances = (known.double() ** self.power / counts)[index].cumsum(0)

        def choose(values: Values, key: Key, step: int) -> Tensor:
            generator = seeded("levels", *key, step)
            draws = torch.rand(size, generator=generator, dtype=torch.float64)
            return torch.searchsorted(chances, draws * chances[-1])

        return choose


@dataclass(frozen=True, kw_only=True)
class ByError:
    """Kinds of problems drawn in proportion to how often they were answered wrongly so far.

    Problems are of one kind if they begin with the same token and have the same number of tokens:
    for lists that is the outermost operator and how much it has to do. A batch has problems of
    about the same length. How often a kind was wrong is an average over the training batches
    themselves, so that it costs no further evaluation; it begins at 1.

    Args:
        memory: Over about how many problems of a kind its average goes.
        least: A kind counts as wrong at least so often, so that what is solved stays so.

    Equation:
        chance of kind k ~ max(e_k, least) sqrt(n_k), with e_k its share of wrong answers and n_k
        its number of problems.
    """

    learns: ClassVar[bool] = True

    memory: int = 64
    least: float = 0.02

    def __post_init__(self) -> None:
        """Check the numbers."""
        require_at_least("ByError", "memory", self.memory, 1)
        require_at_least("ByError", "least", self.least, 1e-6)

    def kinds(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Return the index of each problem's kind."""
        kinds: Tensor = tokens[:, 0].long() * NUM_LENGTHS + lengths
        return kinds

    def first_values(self, examples: Sampled) -> dict[str, Tensor]:
        """Return the share of wrong answers of every kind, before the first step."""
        num_tokens = int(examples.tokens.max()) + 1  # type: ignore[attr-defined]
        return {"errors": torch.ones(num_tokens * NUM_LENGTHS)}

    def learn(self, values: Values, batch: Mapping[str, Tensor], wrong: Tensor) -> Values:
        """Return the shares after a batch.

        Example:
            >>> errors = {"errors": torch.ones(3)}
            >>> batch = {"tokens": torch.zeros(3, 2), "lengths": torch.tensor([0, 0, 2])}
            >>> wrong = torch.tensor([1.0, 0.0, 0.0])
            >>> ByError(memory=1).learn(errors, batch, wrong)["errors"].tolist()
            [0.625, 1.0, 0.5]
        """
        errors = values["errors"]
        kinds = self.kinds(batch["tokens"], batch["lengths"])
        counts = torch.bincount(kinds, minlength=len(errors)).to(errors.dtype)
        sums = torch.zeros_like(errors).index_add(0, kinds, wrong.to(errors.dtype))
        kept = (self.memory / (self.memory + 1)) ** counts
        return {"errors": kept * errors + (1 - kept) * sums / counts.clamp(min=1)}

    def chooser(self, examples: Sampled, batch_size: int) -> Choose:
        """Draw a length, then kinds of about that length, then a problem of each."""
        lengths = examples.lengths
        size = size_of_batch(batch_size, len(lengths))
        kinds = self.kinds(examples.tokens, lengths)  # type: ignore[attr-defined]
        known, index, counts = kinds.unique(return_inverse=True, return_counts=True)
        order, starts = index.argsort(stable=True), counts.cumsum(0) - counts
        widths = torch.tensor(widths_below(int(lengths.max())))
        # Kinds are sorted by token before length: the width of each is looked up.
        bucket = torch.bucketize(known % NUM_LENGTHS, widths)
        roots = counts.double().sqrt()

        def choose(values: Values, key: Key, step: int) -> Tensor:
            generator = seeded("errors", *key, step)
            errors = values["errors"].double().to(known.device)[known]
            chances = errors.clamp(min=self.least) * roots
            whole = torch.zeros(len(widths), dtype=torch.float64).index_add(0, bucket, chances)
            width = torch.multinomial(whole, 1, generator=generator)
            chances = torch.where(bucket == width, chances, 0.0)
            drawn = torch.multinomial(chances, size, replacement=True, generator=generator)
            offset = torch.rand(size, generator=generator, dtype=torch.float64) * counts[drawn]
            chosen: Tensor = order[starts[drawn] + offset.long()]
            return chosen

        return choose


@dataclass(frozen=True, kw_only=True)
class Curriculum:
    """Harder problems later: training begins with the two easiest grades.

    Args:
        mastery: Share of IID validation that must be right in each grade so far before the next
            grade is added.
        grading: What makes a grade: ``"level"``, or ``"length"``, where the sequences of a grade,
            a twelfth of all, are longer than those before.
        complete_by: Share of the training by which all grades are there, mastered or not; they come
            by equal parts of it at the latest.
    """

    mastery: float
    grading: Literal["level", "length"] = "level"
    complete_by: float = 0.5

    def __post_init__(self) -> None:
        """Check the numbers."""
        require_choice("Curriculum", "grading", self.grading, GRADINGS)
        require_at_least("Curriculum", "complete_by", self.complete_by, 0)

    def edges(self, lengths: Tensor, levels: Tensor) -> Tensor:
        """Return the greatest difficulty in each grade of a training set, in order.

        Example:
            >>> numbers = torch.tensor([1, 2, 3])
            >>> Curriculum(mastery=0.9).edges(numbers, numbers)
            tensor([1, 2, 3])
        """
        difficulty = self.difficulty(lengths, levels)
        if self.grading == "length":
            parts = torch.arange(1, NUM_LENGTH_GRADES + 1) * len(difficulty) // NUM_LENGTH_GRADES
            difficulty = difficulty.sort().values[parts.clamp(min=1) - 1]
        edges: Tensor = difficulty.unique()
        return edges

    def difficulty(self, lengths: Tensor, levels: Tensor) -> Tensor:
        """Return what grades are cut by."""
        return levels if self.grading == "level" else lengths

    def last_stage(self, num_grades: int) -> int:
        """Return the stage with all grades; stage 0 has the first two."""
        return max(0, num_grades - FIRST_GRADES)

    def next_stage(
        self, stage: int, num_grades: int, share: float, errors: Mapping[str, float]
    ) -> int:
        """Return the stage after an evaluation.

        Args:
            stage: The one before.
            num_grades: How many grades there are.
            share: How much of the training is done.
            errors: Share of wrong answers by grade, of the grades so far.

        Example:
            >>> Curriculum(mastery=0.9).next_stage(0, 3, 0.1, {"0": 0.0, "1": 0.1})
            1
        """
        last = self.last_stage(num_grades)
        if stage >= last:
            return stage
        late = share >= (stage + 1) / last * self.complete_by
        mastered = max(errors.values(), default=1.0) <= 1 - self.mastery + 1e-12
        return stage + 1 if late or mastered else stage
