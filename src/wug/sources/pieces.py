"""Pieces of words instead of bytes, made and applied by SentencePiece (an extra).

A vocabulary is made from the training split of a text and kept in the cache folder, and so is the
text as tokens. As in csordas2023's runs, text is encoded line by line, line breaks are no tokens,
and digits are split.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wug.core.errors import UserError
from wug.core.paths import cache_folder
from wug.records import write_atomic
from wug.sources.text import ByteText, Range

# Bytes that are read at a time.
CHUNK = 1 << 20
LARGEST = 1 << 16
# SentencePiece passes over longer lines; by itself at some kilobytes, less than a paragraph.
LONGEST_LINE = 1 << 30


def library() -> Any:
    """Return SentencePiece.

    Raises:
        UserError: It is not installed.
    """
    try:
        import sentencepiece  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        raise UserError(
            "pieces: word pieces need SentencePiece: pip install 'wug[subword]'; or read bytes."
        ) from None
    return sentencepiece


def lines_of(text: ByteText, bounds: Range) -> Iterator[str]:
    """Yield the lines of a part of a text, without line breaks and without empty ones."""
    rest = b""
    for start in range(*bounds, CHUNK):
        *whole, rest = (rest + bytes(text[start : min(start + CHUNK, bounds[1])])).split(b"\n")
        for line in whole:
            if line.strip():
                yield line.decode("utf-8", "replace")
    if rest.strip():
        yield rest.decode("utf-8", "replace")


def digest_of(text: ByteText) -> str:
    """Return a checksum of a text and its splits."""
    found = hashlib.sha256(repr(sorted(text.splits.items())).encode())
    for start in range(0, len(text), CHUNK):
        found.update(text[start : start + CHUNK].tobytes())
    return found.hexdigest()[:16]


class Pieces:
    """A vocabulary of word pieces.

    Args:
        path: A model of SentencePiece.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def processor(self) -> Any:
        """SentencePiece with this vocabulary."""
        return library().SentencePieceProcessor(model_file=str(self.path))

    @classmethod
    def of(cls, text: ByteText, size: int) -> Pieces:
        """Make a vocabulary from the training split of a text, or find it in the cache.

        Args:
            text: The text.
            size: Number of pieces.

        Raises:
            UserError: There is no SentencePiece, or the text has too few different pieces.
        """
        if size > LARGEST:
            raise UserError(f"pieces: there may be {LARGEST:,} of them; got {size:,}.")
        path = cache_folder() / "pieces" / f"{digest_of(text)}-{size}.model"
        if not path.is_file():
            model = io.BytesIO()
            try:
                library().SentencePieceTrainer.train(
                    sentence_iterator=lines_of(text, text.splits["train"]), model_writer=model,
                    vocab_size=size, model_type="bpe", split_digits=True, byte_fallback=False,
                    max_sentence_length=LONGEST_LINE, minloglevel=2,
                )  # fmt: skip
            except RuntimeError as error:
                raise UserError(f"pieces: {size:,} can't be made of this text: {error}.") from None
            write_atomic(path, model.getvalue())
        return cls(path)

    def encode(self, text: str) -> list[int]:
        """Return the pieces of a text."""
        return [token for line in text.splitlines() for token in self.processor.encode(line)]

    def decode(self, tokens: Sequence[int]) -> str:
        """Return pieces as text."""
        return str(self.processor.decode(list(tokens)))

    def num_bytes(self) -> list[int]:
        """Return how many bytes each piece stands for; 0 for those that stand for no text."""
        known = self.processor
        return [
            0 if known.is_control(i) else len(known.id_to_piece(i).replace("\u2581", " ").encode())
            for i in range(known.get_piece_size())
        ]


class PieceText:
    """A text as word pieces, memory-mapped.

    Args:
        path: Its tokens, two bytes each.
        splits: First token of each split, and the one after its last.
    """

    def __init__(self, path: Path, splits: dict[str, Range]) -> None:
        self.tokens, self.splits = np.memmap(path, dtype=np.uint16, mode="r"), splits

    def __getitem__(self, bounds: slice) -> NDArray[Any]:
        """Return a copy of some consecutive tokens."""
        return np.array(self.tokens[bounds])


def piece_text(text: ByteText, pieces: Pieces) -> PieceText:
    """Return a text as word pieces, from the cache if it was encoded before."""
    found, splits, end = [], {}, 0
    for name, bounds in text.splits.items():
        path = pieces.path.with_name(f"{pieces.path.stem}-{name}.tokens")
        if not path.is_file():
            tokens = [pieces.encode(line) for line in lines_of(text, bounds)]
            flat = np.fromiter((token for line in tokens for token in line), np.uint16)
            write_atomic(path, flat.tobytes())
        size = path.stat().st_size // 2
        splits[name], end = (end, end + size), end + size
        found.append(path)
    whole = pieces.path.with_name(f"{pieces.path.stem}.tokens")
    if not whole.is_file() or whole.stat().st_size != 2 * end:
        write_atomic(whole, b"".join(path.read_bytes() for path in found))
    return PieceText(whole, splits)
