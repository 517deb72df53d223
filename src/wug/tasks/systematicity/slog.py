"""SLOG (Li et al., 2023): sentences to logical forms, in 17 structures beyond training.

COGS with structures in place of words: phrases modify what they never modified, questions ask for
what was never asked for, clauses stand deeper in each other or less deep than ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from wug.core.errors import UserError, require_at_least
from wug.core.registry import register
from wug.interfaces.interface import SPLITS, Split
from wug.sources.files import lines, lines_inside
from wug.sources.pairs import Pair, PairTask, first_of_each, lent

# Its authors keep the generalisation sets in a zip, so that crawlers don't train on them, and print
# the password beside it (wug/sources/catalog.json has it). Don't pass the unpacked file on.
ZIP, MEMBER = "slog/generalization_sets.zip", "gen_varfreeLF.tsv"


@register(
    "task",
    name="SLOG",
    references=("li2023", "kim2020"),
    equation=r"\text{the girl slept} \mapsto \mathrm{sleep}(\mathrm{agent} = *\,\mathrm{girl})",
    failure_modes=(
        "Transformers have 40.6 % of the 17 structures (li2023), of some of them none.",
    ),
    claim="systematicity",
    splits=list(SPLITS),
    interface="transduction",
)
@dataclass(frozen=True, kw_only=True)
class SLOG(PairTask):
    """Sentences to logical forms without variables; in the tests structures that training lacks.

    Training and IID validation are the official train and dev files. Of each of the 17 types of the
    official generalisation sets a share, chosen by a hash of the sentence, is the OOD validation
    set, and the others are the test. Groups are types. Sources and targets have one vocabulary.

    Departures:
        SLOG has no OOD validation set: with ``ood_validation_share=0`` the test is the official
        one. Only the variable-free form is here: the official training file in the COGS form is
        not.

    Args:
        ood_validation_share: Share of each type for OOD validation.
        most_of_a_type: If above 0, every set has only so many pairs of a type, for a quick try.

    Raises:
        UserError: For a share outside of [0, 1), or missing files.

    Example:
        >>> SLOG().words("sleep ( agent = * girl )")
        ['sleep', '(', 'agent', '=', '*', 'girl', ')']

    References:
        li2023, kim2020
    """

    ood_validation_share: float = 0.1
    most_of_a_type: int = 0

    question: ClassVar[str] = "The girl saw a cat ."

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_at_least("SLOG", "most_of_a_type", self.most_of_a_type, 0)
        if not 0 <= self.ood_validation_share < 1:
            raise UserError(
                f"SLOG: ood_validation_share must be in [0, 1); got {self.ood_validation_share}."
            )

    def _read(self, name: str) -> list[Pair]:
        rows = lines_inside(ZIP, MEMBER) if name == "gen" else lines(f"slog/{name}.varfree.tsv")
        return [Pair(*row.split("\t")) for row in rows]

    @cached_property
    def source_tokens(self) -> tuple[str, ...]:  # type: ignore[override]
        """The words of all official files, in alphabetical order."""
        files = ("train", "dev", "test", "gen")
        texts = (text for name in files for pair in self._read(name) for text in pair[:2])
        return tuple(sorted({word for text in texts for word in text.split(" ")}))

    @property
    def target_tokens(self) -> tuple[str, ...]:  # type: ignore[override]
        """The same vocabulary."""
        return self.source_tokens

    def pairs(self, split: Split) -> list[Pair]:
        """Write a split, in the order of its file."""
        if split in ("train", "validation"):
            chosen = self._read("train" if split == "train" else "dev")
        else:
            share, wanted = self.ood_validation_share, split == "ood_validation"
            chosen = lent(self._read("gen"), share, "slog", by_group=True, wanted=wanted)
        return first_of_each(chosen, self.most_of_a_type)
