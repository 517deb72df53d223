"""Mathematics (Saxton et al., 2019): questions and answers, character by character.

"What is -5 - 110911?" becomes "-110916". Train on three levels of difficulty, test on questions
with more digits, more terms or more numbers than any of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.interfaces.interface import SPLITS, Split
from wug.records import Json
from wug.sources.pairs import Pair, PairTask, lent, named_random
from wug.sources.supplied import SUPPLIED
from wug.tasks.productivity._mathematics_questions import CHARACTERS, MODULES, draw_questions

Module: TypeAlias = Literal[
    "add_or_sub", "place_value", "linear_1d", "differentiate", "sort", "collect"
]
LEVELS = {1: "easy", 2: "medium", 3: "hard", 4: "beyond by one", 5: "beyond by two"}
# Names of the modules in the published files, and of those with larger questions.
PUBLISHED: dict[str, tuple[str, str | None]] = {
    "add_or_sub": ("arithmetic__add_or_sub", "arithmetic__add_or_sub_big"),
    "place_value": ("numbers__place_value", "numbers__place_value_big"),
    "linear_1d": ("algebra__linear_1d", None),
    "differentiate": ("calculus__differentiate", None),
    "sort": ("comparison__sort", "comparison__sort_more"),
    "collect": ("polynomials__collect", None),
}
LEVEL_FOLDERS = ("train-easy", "train-medium", "train-hard")
# The published files have every character of a keyboard.
KEYBOARD = tuple(map(chr, range(32, 127)))


def _unreadable(error: OSError) -> UserError:
    return UserError(
        f"Mathematics: {error.filename} can't be read: {error.strerror}. Put the published files, "
        f"or those that the published generator writes ({SUPPLIED['mathematics'].home}), there; "
        "docs/sequences.md says how."
    )


@register(
    "task",
    name="Mathematics",
    references=("saxton2019", "csordas2023"),
    equation=r"\text{``What is } a + b \text{?''} \mapsto a + b",
    failure_modes=(
        "Our generators are simpler than the published ones: results can't be compared number by "
        "number.",
    ),
    claim="productivity",
    splits=list(SPLITS),
    interface="transduction",
)
@dataclass(frozen=True, kw_only=True)
class Mathematics(PairTask):
    """Questions to answers; in the tests larger ones than in training.

    Training and IID validation (the interpolation set) have the levels easy, medium and hard in
    equal parts. Questions for OOD validation are beyond these by one step and those of the test by
    two, of what grows with the level: digits, terms or numbers. Groups are levels.

    Departures:
        Questions and levels are ours, for six of the published modules: fewer wordings, no modules
        within modules. saxton2019 has extrapolation sets for add_or_sub, place_value and sort
        alone, and no OOD validation set. With a folder of published files (or of files that the
        published generator wrote), a share of the extrapolation set is the OOD validation set.

    Args:
        module: ``"add_or_sub"``, ``"place_value"``, ``"linear_1d"``, ``"differentiate"``,
            ``"sort"`` or ``"collect"``.
        folder: Of published files, with the folders train-easy, train-medium, train-hard,
            interpolate and extrapolate; none for our own questions.
        num_train: Number of training questions of our own; csordas2023 has about 2 million.
        num_evaluation: Number of our own questions of each other set.
        ood_validation_share: Share of a published extrapolation set for OOD validation.
        seed: Another one gives other questions of our own.

    Raises:
        UserError: For an unknown module, sizes below 1, missing files, or a published module
            without an extrapolation set.

    Example:
        >>> task = Mathematics(module="add_or_sub", num_train=30, num_evaluation=5)
        >>> pair = task.pairs("train")[0]
        >>> task.decode_target(task.encode_target(pair.target)) == pair.target
        True

    References:
        saxton2019, csordas2023
    """

    module: Module = "add_or_sub"
    folder: str | None = None
    num_train: int = 100_000
    num_evaluation: int = 10_000
    ood_validation_share: float = 0.1
    seed: int = 0

    separator: ClassVar[str] = ""
    question: ClassVar[str] = "What is 12 + 7?"
    kept: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_choice("Mathematics", "module", self.module, MODULES)
        require_at_least("Mathematics", "num_train", self.num_train, 1)
        require_at_least("Mathematics", "num_evaluation", self.num_evaluation, 1)
        if not 0 <= self.ood_validation_share < 1:
            raise UserError(
                "Mathematics: ood_validation_share must be in [0, 1); "
                f"got {self.ood_validation_share}."
            )

    @property
    def source_tokens(self) -> tuple[str, ...]:  # type: ignore[override]
        """The characters of questions and answers."""
        return CHARACTERS if self.folder is None else KEYBOARD

    @property
    def target_tokens(self) -> tuple[str, ...]:  # type: ignore[override]
        """The same characters."""
        return self.source_tokens

    def _files(self, split: Split) -> list[Path]:
        """Return the published files that a split is made of."""
        name, larger = PUBLISHED[self.module]
        if larger is None and split in ("ood_validation", "test"):
            raise UserError(
                f"Mathematics: {self.module} has no published extrapolation set; leave folder out."
            )
        folders = {
            "train": [f"{each}/{name}" for each in (*LEVEL_FOLDERS, "interpolate")],
            "validation": [f"interpolate/{name}"],
        }
        wanted = folders.get(split, [f"extrapolate/{larger}"])
        return [Path(self.folder or "") / f"{path}.txt" for path in wanted]

    def files_state(self, split: Split) -> Json:
        """Return sizes and times of the files of a split; None for questions of our own."""
        if self.folder is None:
            return None
        try:
            stats = [path.stat() for path in self._files(split)]
        except OSError as error:
            raise _unreadable(error) from error
        return [[one.st_size, one.st_mtime_ns] for one in stats]

    def require_files(self) -> None:
        """Check that the files are there before anything is trained.

        Raises:
            UserError: One is missing.
        """
        for split in SPLITS:
            self.files_state(split)

    def _read(self, folder: str, name: str, group: str) -> list[Pair]:
        path = Path(self.folder or "") / folder / f"{name}.txt"
        try:
            rows = path.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise _unreadable(error) from error
        if len(rows) % 2:
            raise UserError(f"Mathematics: {path} must have a line of answer for each question.")
        return [Pair(q, a, group) for q, a in zip(rows[::2], rows[1::2], strict=True)]

    def _published(self, split: Split) -> list[Pair]:
        name, larger = PUBLISHED[self.module]
        if split == "validation":
            return self._read("interpolate", name, "interpolation")
        if split == "train":
            known = {pair.source for pair in self._published("validation")}
            pairs = [
                pair
                for folder in LEVEL_FOLDERS
                for pair in self._read(folder, name, folder.removeprefix("train-"))
            ]
            return list({p.source: p for p in pairs if p.source not in known}.values())
        self._files(split)
        pairs = self._read("extrapolate", str(larger), "extrapolation")
        pairs = list({pair.source: pair for pair in pairs}.values())
        share, wanted = self.ood_validation_share, split == "ood_validation"
        return lent(pairs, share, "mathematics", by_group=False, wanted=wanted)

    def pairs(self, split: Split) -> list[Pair]:
        """Write a split."""
        if self.folder is not None:
            return self._published(split)
        rng = named_random("mathematics", self.module, int(split in SPLITS[:2]), self.seed)
        number = self.num_evaluation
        if split in ("ood_validation", "test"):
            levels = (4,) if split == "ood_validation" else (5,)
            drawn = draw_questions(self.module, levels, number, rng)
        else:
            # One list, so that no question is in both; what a small level lacks, training lacks.
            drawn = draw_questions(self.module, (1, 2, 3), self.num_train + number, rng)
        pairs = [Pair(question, answer, LEVELS[level]) for question, answer, level in drawn]
        if split in ("ood_validation", "test"):
            return pairs
        share = min(number, len(pairs) // 10) / len(pairs)
        return lent(pairs, share, "math", by_group=False, wanted=split == "validation")

    def group_names(self, split: Split, pairs: object) -> tuple[str, ...]:
        """Return the levels of a split, the easiest first."""
        found = {pair.group for pair in pairs}  # type: ignore[attr-defined]
        return tuple(name for name in (*LEVELS.values(), "interpolation", "extrapolation") if
                     name in found)  # fmt: skip
