"""WikiText-103 (Merity et al., 2017): good articles of Wikipedia, in pieces of words.

Its three files are a training, a validation and a test set of whole articles.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wug.core.errors import UserError
from wug.core.registry import register
from wug.sources.files import search_folders
from wug.sources.text import ByteText
from wug.sources.text_task import TextTask

# Both editions: with rare words as <unk>, and raw.
ENDINGS = (".raw", ".tokens")
FILES = {"train": "wiki.train", "validation": "wiki.valid", "test": "wiki.test"}


def find_files(folder: Path) -> list[Path] | None:
    """Return the three files of a folder, of one edition; None if they are not all there."""
    for ending in ENDINGS:
        paths = [folder / f"{stem}{ending}" for stem in FILES.values()]
        if all(path.is_file() for path in paths):
            return paths
    return None


@register(
    "task",
    name="WikiText-103",
    references=("merity2017", "csordas2023"),
    failure_modes=("Perplexities of different vocabularies can't be compared.",),
    claim="language",
    splits=["train", "validation", "test"],
    interface="next_token",
)
@dataclass(frozen=True, kw_only=True)
class WikiText103(TextTask):
    """Predict articles of Wikipedia.

    Departures:
        None from csordas2023's runs but for the vocabulary's seed: 8,000 pieces made from the
        training file, digits split, text encoded line by line without line breaks.

    Args:
        folder: Holds ``wiki.train.raw``, ``wiki.valid.raw`` and ``wiki.test.raw``, or the same with
            ``.tokens``; by default ``wikitext103`` in the folders of data sets.
        length: Tokens of a row in one step.
        num_blocks: Blocks that held-out text is read in, side by side.
        validation_tokens: How many tokens of the validation split are read; all by default.
        test_tokens: The same of the test split.
        pieces: Size of the vocabulary of word pieces; 0 means bytes.

    Raises:
        UserError: The files are missing, or there is no SentencePiece.

    Example:
        >>> WikiText103().num_tokens
        8000

    References:
        merity2017, csordas2023
    """

    folder: str = ""
    pieces: int = 8_000

    def open(self) -> ByteText:
        """Open the three files as one text with their bounds as splits."""
        named = [Path(self.folder)] if self.folder else []
        folders = named or [folder / "wikitext103" for folder in search_folders()]
        for folder in folders:
            paths = find_files(folder)
            if paths is not None:
                sizes = [path.stat().st_size for path in paths]
                ends = [sum(sizes[:count]) for count in range(4)]
                bounds = zip(FILES, zip(ends, ends[1:], strict=False), strict=True)
                return ByteText(paths, dict(bounds))
        raise UserError(
            f"WikiText103: {' or '.join(map(str, folders))} must hold wiki.train.raw, "
            "wiki.valid.raw and wiki.test.raw (or .tokens); name another folder."
        )
