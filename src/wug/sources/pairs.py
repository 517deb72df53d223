"""Pairs of token sequences: what tasks that map one sequence to another make.

A task writes each split as texts, the same on every machine; here they become ids, padded, with
the group (a type, a length, a depth) that each pair counts for.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from wug.core.errors import UserError, require_choice, unknown_name
from wug.core.paths import cache_folder
from wug.functional.streams import stream_key
from wug.interfaces.interface import SPLITS, Split
from wug.records import Json, config_hash, write_atomic
from wug.sources.finite import FiniteSource
from wug.sources.held_out import held_out
from wug.sources.samplers import Bucketed, Curriculum, Sampler

TENSORS = ("source", "source_lengths", "target", "target_lengths", "groups")


def named_random(*name: str | int) -> Random:
    """Return a generator of one's own, the same for the same name.

    Example:
        >>> named_random("train", 0).random() == named_random("train", 0).random()
        True
    """
    first, second = stream_key(*name)
    return Random(first << 32 | second)


class Pair(NamedTuple):
    """A pair as a person reads it: source, target, and the group that it counts for."""

    source: str
    target: str
    group: str


def lent(
    pairs: Sequence[Pair], share: float, name: str, *, by_group: bool, wanted: bool
) -> list[Pair]:
    """Return the pairs that a set lends to its validation set, or those that it keeps.

    Args:
        pairs: Of the whole set.
        share: Share to lend; see `held_out` for which ones.
        name: Another name lends other pairs.
        by_group: Whether each group lends this share of its own.
        wanted: True for the pairs that are lent, False for the others.

    Example:
        >>> pairs = [Pair(text, text, "all") for text in "abcd"]
        >>> [len(lent(pairs, 0.25, "", by_group=False, wanted=wanted)) for wanted in (True, False)]
        [1, 3]
    """
    strata = [pair.group if by_group else "" for pair in pairs]
    out = held_out([pair.source for pair in pairs], strata, share, name)
    return [pair for pair, is_out in zip(pairs, out, strict=True) if is_out == wanted]


def first_of_each(pairs: Sequence[Pair], most: int) -> list[Pair]:
    """Return the first pairs of each group, at most so many of each; all of them for 0.

    Example:
        >>> pairs = [Pair("a", "a", "x"), Pair("b", "b", "x"), Pair("c", "c", "y")]
        >>> [pair.source for pair in first_of_each(pairs, 1)]
        ['a', 'c']
    """
    if not most:
        return list(pairs)
    counts: Counter[str] = Counter()
    chosen = []
    for pair in pairs:
        counts[pair.group] += 1
        if counts[pair.group] <= most:
            chosen.append(pair)
    return chosen


def padded(rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Return rows of any lengths as one int16 tensor, zero behind their ends, and their lengths.

    Example:
        >>> padded([[3, 1], [2]])
        (tensor([[3, 1],
                [2, 0]], dtype=torch.int16), tensor([2, 1]))
    """
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    ids: NDArray[np.int16] = np.zeros((len(rows), int(lengths.max(initial=1))), dtype=np.int16)
    ids[np.arange(ids.shape[1]) < lengths[:, None]] = [one for row in rows for one in row]
    return torch.from_numpy(ids), torch.from_numpy(lengths)


@dataclass(frozen=True, kw_only=True)
class PairSet:
    """Pairs of token sequences.

    Args:
        source: int16 ids, zero behind the end of a sequence.
        source_lengths: Number of tokens of each source.
        target: As source; without any end token.
        target_lengths: Number of tokens of each target.
        groups: For each pair the place of its group's name.
        group_names: Names of the groups.

    Shape:
        source (item, seq), target (item, other seq); the others (item,), int64.
    """

    source: Tensor
    source_lengths: Tensor
    target: Tensor
    target_lengths: Tensor
    groups: Tensor
    group_names: tuple[str, ...]

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.groups)

    def __getitem__(self, items: slice | Tensor) -> Self:
        """Return some of the pairs, as wide as before."""
        tensors = {name: getattr(self, name)[items] for name in TENSORS}
        return type(self)(**tensors, group_names=self.group_names)

    def trimmed(self) -> Self:
        """Return the same pairs, no wider than the longest of them.

        Example:
            >>> pairs = PairSet.from_lists([[1, 2, 3], [4]], [[5], [6]], ["a", "b"])
            >>> pairs[1:].trimmed().source
            tensor([[4]], dtype=torch.int16)
        """
        source_width, target_width = (
            max(int(lengths.max()), 1) if len(self) else 1
            for lengths in (self.source_lengths, self.target_lengths)
        )
        tensors = {name: getattr(self, name) for name in TENSORS}
        tensors |= {
            "source": self.source[:, :source_width],
            "target": self.target[:, :target_width],
        }
        return type(self)(**tensors, group_names=self.group_names)

    @classmethod
    def from_lists(
        cls,
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
        groups: Sequence[str],
        group_names: Sequence[str] | None = None,
    ) -> Self:
        """Pad sequences of any lengths; without names, the groups are named as they come up."""
        names = tuple(dict.fromkeys(groups)) if group_names is None else tuple(group_names)
        place = {name: number for number, name in enumerate(names)}
        source, source_lengths = padded(sources)
        target, target_lengths = padded(targets)
        return cls(
            source=source, source_lengths=source_lengths,
            target=target, target_lengths=target_lengths,
            groups=torch.tensor([place[group] for group in groups], dtype=torch.int64),
            group_names=names,
        )  # fmt: skip

    @property
    def lengths(self) -> Tensor:
        """How long each pair is, for buckets and curricula: its target first, then its source."""
        widest = int(self.source_lengths.max()) + 1 if len(self) else 1
        return self.target_lengths * widest + self.source_lengths

    @property
    def num_tokens(self) -> Tensor:
        """How many tokens each pair has, for batches by tokens: of both sides, and an end."""
        return self.source_lengths + self.target_lengths + 1

    @property
    def levels(self) -> Tensor:
        """How long each target is."""
        return self.target_lengths

    def group_index(self) -> tuple[Tensor, tuple[str, ...]]:
        """Return the index of each pair's group, and the names of the groups."""
        return self.groups, self.group_names

    def to_batch(self, widths: Sequence[int] = ()) -> dict[str, Tensor]:
        """Return sources and targets with their lengths, no wider than needed."""
        pairs = self.trimmed()
        names = ("source", "source_lengths", "target", "target_lengths")
        return {name: getattr(pairs, name).long() for name in names}

    def to_bytes(self) -> bytes:
        """Return the pairs as a safetensors file."""
        tensors = {name: getattr(self, name).contiguous() for name in TENSORS}
        return save(tensors, {"group_names": json.dumps(self.group_names)})

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """Read what `to_bytes` wrote."""
        with safe_open(path, "pt") as file:
            tensors = {name: file.get_tensor(name) for name in TENSORS}
            names = json.loads(file.metadata()["group_names"])
        return cls(**tensors, group_names=tuple(names))


class PairTask(ABC):
    """A task that maps token sequences to token sequences.

    Subclasses are frozen dataclasses: their fields and `edition` determine the data.

    Attributes:
        source_tokens: The vocabulary of sources; a token's place is its id.
        target_tokens: The vocabulary of targets; models put their end token behind it.
        group: What the groups are: ``"type"``, ``"length"`` or ``"depth"``.
        separator: What stands between the tokens of a written sequence.
        kept: Whether splits are kept in the cache folder, for tasks that take long to make.
        edition: Raised when the same fields give other data than before.
        question: A source that a person may begin with.
    """

    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    group: ClassVar[Literal["type", "length", "depth"]] = "type"
    separator: ClassVar[str] = " "
    kept: ClassVar[bool] = False
    edition: ClassVar[int] = 1
    question: ClassVar[str] = ""
    interface: ClassVar[str] = "transduction"

    def source(
        self,
        batch_size: int,
        *,
        sampler: Sampler | None = None,
        curriculum: Curriculum | None = None,
        few_shapes: bool = False,
    ) -> FiniteSource:
        """Return where its batches come from; see `FiniteSource`."""
        return FiniteSource(self, batch_size, sampler or Bucketed(), curriculum)

    @abstractmethod
    def pairs(self, split: Split) -> list[Pair]:
        """Write a split; no source of a split is in another."""

    @property
    def literal(self) -> bool:
        """Whether only the target itself is right; else `same` is asked, of all that is written."""
        return type(self).same is PairTask.same

    @property
    def num_source_tokens(self) -> int:
        """Size of the vocabulary of sources."""
        return len(self.source_tokens)

    @property
    def num_target_tokens(self) -> int:
        """Size of the vocabulary of targets, without an end token."""
        return len(self.target_tokens)

    def threshold(self) -> float:
        """Return the largest share of wrong answers that counts as solved."""
        return 0.01

    def same(self, answer: str, target: str) -> bool:
        """Say whether an answer counts as right: here if it is the target, token by token."""
        return self.words(answer) == self.words(target)

    def true_target(self, source: str) -> str | None:
        """Return the target of a source that a person wrote, where the task can tell.

        Raises:
            UserError: The source is none of the task's.
        """
        return None

    def words(self, text: str) -> list[str]:
        """Cut a written sequence into tokens."""
        return text.split(self.separator) if self.separator else list(text)

    @cached_property
    def _source_ids(self) -> dict[str, int]:
        return {token: place for place, token in enumerate(self.source_tokens)}

    @cached_property
    def _target_ids(self) -> dict[str, int]:
        return {token: place for place, token in enumerate(self.target_tokens)}

    def typed(self, text: str) -> str:
        """Write a source as the task does that a person typed: single spaces, punctuation apart."""
        if self.separator != " ":
            return text.strip()
        words = []
        for word in text.split():
            known, last = word in self._source_ids, word[-1]
            apart = not known and last in self._source_ids and not last.isalnum() and word != last
            words += [word[:-1], last] if apart else [word]
        return " ".join(words)

    def encode_source(self, text: str) -> list[int]:
        """Return the ids of a written source.

        Raises:
            UserError: It is empty or has an unknown token.
        """
        if not text:
            raise UserError(f"{type(self).__name__}: an empty source has no target.")
        return _ids(self.words(text), self._source_ids)

    def encode_target(self, text: str) -> list[int]:
        """Return the ids of a written target; raise a UserError for an unknown token."""
        return _ids(self.words(text) if text else [], self._target_ids)

    def decode_source(self, ids: Iterable[int]) -> str:
        """Return a source as a person writes it."""
        return self.separator.join(self.source_tokens[one] for one in ids)

    def decode_target(self, ids: Iterable[int]) -> str:
        """Return a target as a person writes it."""
        return self.separator.join(self.target_tokens[one] for one in ids)

    def examples(self, split: Split) -> PairSet:
        """Return a split as ids.

        Raises:
            UserError: For an unknown split, or one that has no pairs.
        """
        require_choice(type(self).__name__, "split", split, SPLITS)
        if self.kept:
            path = self._cache_path(split)
            try:
                return PairSet.from_file(path)
            except (FileNotFoundError, SafetensorError, KeyError):
                pass
        pairs = self.pairs(split)
        if not pairs:
            raise UserError(
                f"{type(self).__name__}: {split} is empty with these settings; raise the share of "
                "pairs that it gets."
            )
        made = PairSet.from_lists(
            [self.encode_source(pair.source) for pair in pairs],
            [self.encode_target(pair.target) for pair in pairs],
            [pair.group for pair in pairs],
            self.group_names(split, pairs),
        )
        if self.kept:
            write_atomic(path, made.to_bytes())
        return made

    def group_names(self, split: Split, pairs: Sequence[Pair]) -> tuple[str, ...]:
        """Return the names of the groups of a split, in the order in which tables show them."""
        found = {pair.group for pair in pairs}
        return tuple(sorted(found, key=lambda name: (len(name), name) if name.isdigit() else name))

    def files_state(self, split: Split) -> Json:
        """Return what changes when files that a person supplies do, for what is kept; or None."""
        return None

    def _cache_path(self, split: Split) -> Path:
        name = type(self).__name__
        made_of: dict[str, Json] = {"task": repr(self), "edition": self.edition, "split": split}
        if (state := self.files_state(split)) is not None:
            made_of["files"] = state
        digest = config_hash(made_of)
        return cache_folder() / "tasks" / f"{name}-{split}-{digest}.safetensors"

    def batch(self, split: Split, generator: torch.Generator, size: int = 128) -> PairSet:
        """Draw pairs of a split, with replacement, no wider than the longest of them."""
        examples = self.examples(split)
        return examples[torch.randint(len(examples), (size,), generator=generator)].trimmed()


def _ids(words: Sequence[str], ids: dict[str, int]) -> list[int]:
    try:
        return [ids[word] for word in words]
    except KeyError as error:
        raise unknown_name("token", str(error.args[0]), ids) from None
