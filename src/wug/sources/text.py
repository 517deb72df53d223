"""Text as a stream of bytes, memory-mapped, in contiguous segments.

A language model reads each row of a batch on from where the row before it ended, and carries its
state along. Which bytes a row has is a pure function of seed and step, so a resumed training and
any number of workers see the same text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wug.core.errors import UserError, require_at_least, require_choice
from wug.functional.streams import stream_key
from wug.sources.files import plain_path
from wug.sources.unpack import PACKINGS, is_archive

Range = tuple[int, int]
# Of 100: what a text without splits of its own is cut into.
SHARES = {"train": 90, "validation": 5, "test": 5}


def cut(num_bytes: int, shares: Mapping[str, int]) -> dict[str, Range]:
    """Cut a text into consecutive ranges of bytes.

    Args:
        num_bytes: Length of the text.
        shares: Weight of each split, in order.

    Example:
        >>> cut(100, {"train": 90, "validation": 5, "test": 5})
        {'train': (0, 90), 'validation': (90, 95), 'test': (95, 100)}
    """
    bounds = [0, *np.cumsum([*shares.values()]).tolist()]
    ends = [num_bytes * bound // bounds[-1] for bound in bounds]
    return {name: (ends[i], ends[i + 1]) for i, name in enumerate(shares)}


class Text(Protocol):
    """Numbered tokens one after the other, and where each split begins and ends."""

    splits: dict[str, Range]

    def __getitem__(self, bounds: slice) -> NDArray[Any]:
        """Return a copy of some consecutive tokens."""
        ...


class ByteText:
    """The bytes of one file or of several, one after the other, without reading them all.

    Args:
        paths: The files, in order.
        splits: First byte of each split, and the one after its last; `SHARES` if not given.

    Raises:
        UserError: A file can't be read, there is nothing in them, or a split is not in the text.

    Example:
        >>> text = ByteText([Path(__file__)])
        >>> bytes(text[3:7])
        b'Text'
    """

    def __init__(self, paths: Sequence[Path], splits: Mapping[str, Range] | None = None) -> None:
        try:
            # numpy can't map what is empty.
            self.parts: list[NDArray[np.uint8]] = [
                np.memmap(path, dtype=np.uint8, mode="r") for path in paths if path.stat().st_size
            ]
        except OSError as error:
            raise UserError(f"text: {error.filename}: {error.strerror or error}.") from error
        self._cut(splits, ", ".join(map(str, paths)) or "no file")

    @classmethod
    def of(cls, content: bytes, splits: Mapping[str, Range] | None = None) -> ByteText:
        """Return a text of these bytes.

        Example:
            >>> ByteText.of(b"wug" * 100).splits["test"]
            (285, 300)
        """
        text = cls.__new__(cls)
        text.parts = [np.frombuffer(content, np.uint8)]
        text._cut(splits, "the text")
        return text

    def _cut(self, splits: Mapping[str, Range] | None, name: str) -> None:
        """Check the splits, or make the usual ones."""
        self.ends = np.cumsum([0, *(len(part) for part in self.parts)])
        if not len(self):
            raise UserError(f"text: there is nothing in {name}.")
        self.splits = dict(splits or cut(len(self), SHARES))
        for name, (start, stop) in self.splits.items():
            if not 0 <= start <= stop <= len(self):
                raise UserError(
                    f"text: split {name!r} must lie within 0 to {len(self):,}; "
                    f"got {start:,} to {stop:,}."
                )

    def __len__(self) -> int:
        """Return the number of bytes."""
        return int(self.ends[-1])

    def __getitem__(self, bounds: slice) -> NDArray[np.uint8]:
        """Return a copy of some consecutive bytes."""
        start, stop, _ = bounds.indices(len(self))
        pieces = [
            part[max(start - begin, 0) : max(stop - begin, 0)]
            for part, begin in zip(self.parts, self.ends[:-1].tolist(), strict=True)
            if begin < stop and begin + len(part) > start
        ]
        return np.concatenate(pieces) if pieces else np.empty(0, np.uint8)


def open_text(path: Path, splits: Mapping[str, Range] | None = None) -> ByteText:
    """Open a text file, or all files of a folder in the order of their paths.

    Args:
        path: A file or a folder; hidden files in a folder are left out.
        splits: As for `ByteText`.
    """
    if path.is_dir():
        found = sorted(p.relative_to(path) for p in path.rglob("*") if p.is_file())
        paths = [path / p for p in found if not any(part.startswith(".") for part in p.parts)]
        if not paths:
            raise UserError(f"text: {path} is a folder without files.")
    else:
        paths = [path]
    for one in paths:
        if one.suffix in PACKINGS or is_archive(one.name):
            raise UserError(f"text: {one} is packed; unpack it first.")
    return ByteText(paths, splits)


def enwik8(folder: Path | None = None) -> ByteText:
    """Open enwik8 with its usual splits: 90, 5 and 5 million bytes.

    Args:
        folder: Where to look for it first.

    Raises:
        UserError: It is missing, or its checksums (sha256 and md5) are wrong.
    """
    return ByteText([plain_path("enwik8", "enwik8", folder)])


@dataclass(frozen=True, kw_only=True)
class Segments:
    """Batches of contiguous segments of one split.

    Training: the split is cut into segments of ``length`` tokens. The rows begin evenly spaced,
    from a segment that the seed chooses, and each moves on by one segment per step; after the last
    segment comes the first. So ``rows`` rows read the whole split once in about
    ``num_segments / rows`` steps, and each row reads all of it in time.

    Evaluation: each row has a track of its own, and each token but the first is predicted once.

    A batch has, with rows on axis 0: ``inputs`` and ``targets`` (the token after each input),
    int64; ``mask``, False where there is no text left; ``starts``, True for rows that begin anew,
    whose carried state must be reset.

    Args:
        text: The tokens: bytes, or pieces of words.
        split: Which of its splits.
        rows: Rows of a batch.
        length: Tokens per row.
        limit: How many tokens of the split are read, the first ones; all by default.

    Shape:
        inputs, targets and mask (rows, length); starts (rows,).

    Example:
        >>> segments = Segments(text=ByteText([Path(__file__)]), split="train", rows=2, length=8)
        >>> first, second = segments.batch(0, 0), segments.batch(0, 1)
        >>> bool((first["targets"][:, -1] == second["inputs"][:, 0]).all())
        True
    """

    text: Text
    split: str
    rows: int
    length: int
    limit: int | None = None

    def __post_init__(self) -> None:
        """Check the arguments.

        Raises:
            UserError: There is no such split, or it is too short.
        """
        require_choice("Segments", "split", self.split, self.text.splits)
        require_at_least("Segments", "rows", self.rows, 1)
        require_at_least("Segments", "length", self.length, 1)
        if self.num_targets < 1:
            raise UserError(f"Segments: split {self.split!r} must have at least 2 tokens.")

    @cached_property
    def num_targets(self) -> int:
        """Number of tokens that can be predicted: all but the first."""
        start, stop = self.text.splits[self.split]
        size = stop - start if self.limit is None else min(stop - start, self.limit)
        return size - 1

    @property
    def num_segments(self) -> int:
        """Number of whole segments of the split, as training reads it."""
        return self.num_targets // self.length

    def batch(self, seed: int, step: int) -> dict[str, Tensor]:
        """Return the training batch of a step.

        Args:
            seed: Chooses where the rows begin.
            step: Counted from 0.

        Raises:
            UserError: The split has fewer segments than there are rows.
        """
        require_at_least("Segments", "step", step, 0)
        if self.num_segments < self.rows:
            raise UserError(
                f"Segments: split {self.split!r} must have at least {self.rows} segments of "
                f"{self.length} tokens, one per row; got {self.num_segments}. Take fewer rows."
            )
        first, _ = stream_key("text", self.split, seed)
        spread = np.arange(self.rows) * self.num_segments // self.rows
        index = (first + spread + step) % self.num_segments
        return self.cut_out(index * self.length, (index == 0) | (step == 0))

    @cached_property
    def track(self) -> int:
        """Number of tokens that a row predicts in an evaluation."""
        return -(-self.num_targets // self.rows)

    @property
    def num_parts(self) -> int:
        """Number of batches of an evaluation."""
        return -(-self.track // self.length)

    def part(self, index: int) -> dict[str, Tensor]:
        """Return a batch of an evaluation; they are read in order.

        Args:
            index: From 0 to `num_parts` - 1.
        """
        if not 0 <= index < self.num_parts:
            raise UserError(f"Segments: index must be below {self.num_parts}; got {index}.")
        tracks = np.arange(self.rows) * self.track
        ends = np.minimum(tracks + self.track, self.num_targets)
        return self.cut_out(tracks + index * self.length, np.full(self.rows, index == 0), ends=ends)

    def cut_out(
        self,
        begins: NDArray[np.int64],
        starts: NDArray[np.bool_],
        ends: NDArray[np.int64] | None = None,
    ) -> dict[str, Tensor]:
        """Make a batch of the segments that begin at these tokens of the split.

        Args:
            begins: First token of each row.
            starts: Which rows begin anew.
            ends: The token that each row's inputs stay below; None if all segments are whole.
        """
        first = self.text.splits[self.split][0]
        block = np.zeros((self.rows, self.length + 1), np.int64)
        mask = np.ones((self.rows, self.length), np.bool_)
        for row, begin in enumerate(begins.tolist()):
            left = self.length if ends is None else int(ends[row]) - begin
            size = min(max(left, 0), self.length)
            if size:
                block[row, : size + 1] = self.text[first + begin : first + begin + size + 1]
            mask[row, size:] = False
        return {
            "inputs": torch.from_numpy(block[:, :-1].copy()),
            "targets": torch.from_numpy(block[:, 1:].copy()),
            "mask": torch.from_numpy(mask),
            "starts": torch.from_numpy(np.ascontiguousarray(starts)),
        }
