"""CFQ (Keysers et al., 2020): questions to queries of a knowledge base, by compound divergence.

The data set is large and not ours to pass on: put its files into a folder ``cfq``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from wug.core.errors import UserError, require_choice
from wug.core.registry import register
from wug.interfaces.interface import SPLITS, Split
from wug.sources.files import search_folders
from wug.sources.pairs import Pair, PairTask, lent
from wug.sources.supplied import SUPPLIED

Division: TypeAlias = Literal[
    "mcd1", "mcd2", "mcd3", "query_complexity_split", "question_complexity_split",
    "query_pattern_split", "question_pattern_split", "random_split",
]  # fmt: skip
QUESTION, QUERY = "questionPatternModEntities", "sparqlPatternModEntities"
INDICES = {"train": "trainIdxs", "ood_validation": "devIdxs", "test": "testIdxs"}


def question_words(text: str) -> str:
    """Write a question with spaces around its punctuation.

    Example:
        >>> question_words("Did M0's director, M1, edit M2?")
        "Did M0 ' s director , M1 , edit M2 ?"
    """
    return " ".join(re.findall(r"\w+|[^\w\s]", text))


def query_words(text: str) -> str:
    """Write a query without the prefix of names, and with brackets apart.

    Example:
        >>> query_words("SELECT count(*) WHERE { M0 ns:film.director.film m.0g }")
        'SELECT count ( * ) WHERE { M0 film.director.film m_0g }'
    """
    words = re.sub(r"([(){}])", r" \1 ", text).split()
    words = [word.removeprefix("ns:") for word in words]
    return " ".join(re.sub(r"^m\.", "m_", word) for word in words)


def _unreadable(path: Path, why: object) -> UserError:
    supplied = SUPPLIED["cfq"]
    return UserError(
        f"CFQ: {path} can't be read: {why}. Unpack the published archive ({supplied.home}) there."
    )


@register(
    "task",
    name="CFQ",
    references=("keysers2020", "csordas2023"),
    equation=r"D_C(V \| W) = 1 - C_{0.1}(\mathcal{F}_C(V) \| \mathcal{F}_C(W))",
    failure_modes=(
        "On MCD 2 and 3 all transformers of csordas2023 are near 0.1 (table 4.4): differences "
        "between them are small against the noise of seeds.",
    ),
    claim="systematicity",
    splits=list(SPLITS),
    interface="transduction",
)
@dataclass(frozen=True, kw_only=True)
class CFQ(PairTask):
    """Questions to SPARQL queries; in the tests compounds of rules that training hardly has.

    Reads ``dataset.json`` and ``splits/<division>.json`` of the published archive. The published
    development set, which diverges from training as the test does, is the OOD validation set; a
    share of the training questions, chosen by a hash, is the IID validation set. Groups are depths
    of recursion.

    Departures:
        None: questions and queries with patterns in place of entities, punctuation and prefixes as
        in csordas2023. In ``"random_split"`` the OOD sets are in distribution as well.

    Args:
        division: Which published split: ``"mcd1"`` to ``"mcd3"``, ``"query_complexity_split"``
            (csordas2023's output length), and so on.
        folder: Where ``dataset.json`` is; by default the folder ``cfq`` of the data folders.
        validation_share: Share of the training questions for IID validation.

    Raises:
        UserError: For an unknown division, a share outside of [0, 1), or missing files.

    Example:
        >>> CFQ(division="mcd1").division
        'mcd1'

    References:
        keysers2020, csordas2023
    """

    division: Division = "mcd1"
    folder: str | None = None
    validation_share: float = 0.05

    group: ClassVar[Literal["type", "length", "depth"]] = "depth"

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_choice("CFQ", "division", self.division, get_args(Division))
        if not 0 <= self.validation_share < 1:
            raise UserError(
                f"CFQ: validation_share must be in [0, 1); got {self.validation_share}."
            )

    def _path(self, name: str) -> Path:
        places = [place / "cfq" / name for place in search_folders()]
        found = next((place for place in places if place.is_file()), places[0])
        return found if self.folder is None else Path(self.folder) / name

    def require_files(self) -> None:
        """Check that the files are there before anything is trained.

        Raises:
            UserError: One is missing.
        """
        for name in ("dataset.json", f"splits/{self.division}.json"):
            if not (path := self._path(name)).is_file():
                raise _unreadable(path, "it is not there")

    def _load(self, name: str) -> Any:
        path = self._path(name)
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise _unreadable(path, error) from error

    @cached_property
    def _all_pairs(self) -> list[Pair]:
        try:
            return [
                Pair(question_words(one[QUESTION]), query_words(one[QUERY]),
                     str(one["recursionDepth"]))
                for one in self._load("dataset.json")
            ]  # fmt: skip
        except (KeyError, TypeError) as error:
            raise UserError(
                f"CFQ: dataset.json must list questions with {QUESTION}, {QUERY} and "
                f"recursionDepth; {error} is missing. Is it the published file?"
            ) from error

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        try:
            found = self._load(f"splits/{self.division}.json")
            return {split: found[name] for split, name in INDICES.items()}
        except (KeyError, TypeError) as error:
            raise UserError(f"CFQ: splits/{self.division}.json lacks {error}.") from error

    def _words(self, which: int) -> tuple[str, ...]:
        chosen = (self._all_pairs[i] for places in self._places.values() for i in places)
        return tuple(sorted({word for pair in chosen for word in pair[which].split(" ")}))

    @cached_property
    def source_tokens(self) -> tuple[str, ...]:  # type: ignore[override]
        """The words of the division's questions, in alphabetical order."""
        return self._words(0)

    @cached_property
    def target_tokens(self) -> tuple[str, ...]:  # type: ignore[override]
        """The words of the division's queries, in alphabetical order."""
        return self._words(1)

    def pairs(self, split: Split) -> list[Pair]:
        """Write a split, in the order of the division."""
        if split in ("ood_validation", "test"):
            return [self._all_pairs[i] for i in self._places[split]]
        pairs = [self._all_pairs[i] for i in self._places["train"]]
        wanted = split == "validation"
        return lent(pairs, self.validation_share, "cfq", by_group=True, wanted=wanted)
