"""enwik8 (Mahoney, 2006): the first 100 million bytes of an English Wikipedia, byte by byte.

The usual splits are 90, 5 and 5 million bytes, in this order; results are in bits per byte, which
the literature calls bits per character.
"""

from __future__ import annotations

from dataclasses import dataclass

from wug.core.registry import register
from wug.sources import text
from wug.sources.text_task import TextTask


@register(
    "task",
    name="enwik8",
    references=("mahoney2006", "dai2019", "csordas2023"),
    failure_modes=("Markup of the dump is text like any other, and easier than prose.",),
    claim="language",
    splits=["train", "validation", "test"],
    interface="next_token",
)
@dataclass(frozen=True, kw_only=True)
class Enwik8(TextTask):
    """Predict the bytes of an encyclopedia.

    Departures:
        The test is read in blocks side by side, so that the beginning of each block lacks what
        came before; csordas2023 reads four rows, as ``num_blocks=4`` does.

    Args:
        length: Bytes of a row in one step.
        num_blocks: Blocks that held-out text is read in, side by side.
        validation_tokens: How many bytes of the validation split are read; all by default.
        test_tokens: The same of the test split.
        pieces: Size of a vocabulary of word pieces; bytes by default, as everywhere.

    Raises:
        UserError: The file is missing, or its checksums (sha256 and md5) are wrong.

    Example:
        >>> task = Enwik8()
        >>> task.num_tokens, task.decode(task.encode("wug"))
        (256, 'wug')

    References:
        mahoney2006, dai2019, csordas2023
    """

    def open(self) -> text.ByteText:
        """Open the file, checked."""
        return text.enwik8()
