"""Any text of yours: a file, or all files of a folder, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wug.core.errors import UserError
from wug.core.registry import register
from wug.sources.text import ByteText, open_text
from wug.sources.text_task import TextTask


@register(
    "task",
    name="Text file",
    references=("csordas2023",),
    failure_modes=("A text that changes its subject near its end is tested on what is new.",),
    claim="language",
    splits=["train", "validation", "test"],
    interface="next_token",
)
@dataclass(frozen=True, kw_only=True)
class TextFile(TextTask):
    """Predict a text of your own, byte by byte or in pieces of words.

    The first 90 % are for training, the next 5 % for validation, and the last 5 % are the test, as
    csordas2023 cuts enwik8.

    Departures:
        None.

    Args:
        path: A file, or a folder whose files are read in the order of their paths.
        length: Tokens of a row in one step.
        num_blocks: Blocks that held-out text is read in, side by side.
        validation_tokens: How many tokens of the validation split are read; all by default.
        test_tokens: The same of the test split.
        pieces: Size of a vocabulary of word pieces, made from the training split; bytes by default.

    Raises:
        UserError: There is no such file, it is packed, or there is nothing in it.

    Example:
        >>> task = TextFile(path=__file__, length=16)
        >>> batch = task.source(2).draw({}, (0,), 0, 0)
        >>> batch["inputs"].shape
        torch.Size([2, 16])

    References:
        csordas2023
    """

    path: str = ""

    def open(self) -> ByteText:
        """Open the file or the folder."""
        if not self.path:
            raise UserError("TextFile: path must name a file or a folder; got nothing.")
        return open_text(Path(self.path))
