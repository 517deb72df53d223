"""COGS (Kim and Linzen, 2020): sentences to logical forms, in 21 ways beyond training.

A noun that was only a subject becomes an object, a verb that was only active becomes passive (18
lexical types); clauses and phrases stand deeper in each other or elsewhere (3 structural types).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.interfaces.interface import SPLITS, Split
from wug.sources.files import lines
from wug.sources.pairs import Pair, PairTask, first_of_each, lent
from wug.tasks.systematicity._logical_forms import same_meaning, to_positional

# Lexical types that wu2023 counts apart: new roles of proper names.
PROPER = ("prim_to_obj_proper", "prim_to_subj_proper", "subj_to_obj_proper")
STRUCTURAL = ("cp_recursion", "obj_pp_to_subj_pp", "pp_recursion")


@register(
    "task",
    name="COGS",
    references=("kim2020", "wu2023", "csordas2023"),
    equation=r"\text{the girl slept} \mapsto *\,\mathrm{girl}(x_1);\ "
    r"\mathrm{sleep.agent}(x_2, x_1)",
    failure_modes=(
        "18 of 21 types are lexical: a mean over all types says little of structure.",
        "obj_pp_to_subj_pp stays near 0 for transformers, in part for the numbers of variables.",
    ),
    claim="systematicity",
    splits=list(SPLITS),
    interface="transduction",
)
@dataclass(frozen=True, kw_only=True)
class COGS(PairTask):
    """Sentences to logical forms; in the tests words and phrases in roles that training lacks.

    Training and IID validation are the official train and dev files. Of each of the 21 types of the
    official generalisation file a share, chosen by a hash of the sentence, is the OOD validation
    set, and the others are the test. Groups are types. Sources and targets have one vocabulary, the
    871 words of the official files.

    Departures:
        COGS has no OOD validation set: with ``ood_validation_share=0`` the test is the official
        file. ReCOGS' positional form is written by our own converter; there is no official file
        here to compare it with, and words without a sentence keep their COGS form. Its order of
        events is that of COGS.

    Args:
        form: Of the targets: ``"cogs"``, compared token by token, or ``"recogs"``, where an answer
            is right whatever the order of its conjuncts and the names of its variables.
        ood_validation_share: Share of each type for OOD validation.
        most_of_a_type: If above 0, every set has only so many pairs of a type, for a quick try.

    Raises:
        UserError: For an unknown form, a share outside of [0, 1), or missing files.

    Example:
        >>> task = COGS(form="recogs")
        >>> task.same("cat ( 1 ) ; see ( 2 ) AND agent ( 2 , 1 )",
        ...     "cat ( 4 ) ; agent ( 7 , 4 ) AND see ( 7 )")
        True

    References:
        kim2020, wu2023, csordas2023
    """

    form: Literal["cogs", "recogs"] = "cogs"
    ood_validation_share: float = 0.1
    most_of_a_type: int = 0

    question: ClassVar[str] = "The girl saw a cat ."

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_at_least("COGS", "most_of_a_type", self.most_of_a_type, 0)
        require_choice("COGS", "form", self.form, ("cogs", "recogs"))
        if not 0 <= self.ood_validation_share < 1:
            raise UserError(
                f"COGS: ood_validation_share must be in [0, 1); got {self.ood_validation_share}."
            )

    def _read(self, name: str) -> list[Pair]:
        pairs = [Pair(*line.split("\t")) for line in lines(f"cogs/{name}.tsv")]
        if self.form == "cogs":
            return pairs
        return [pair._replace(target=to_positional(pair.source, pair.target)) for pair in pairs]

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

    @property
    def literal(self) -> bool:
        """Whether only the target itself is right: not in ReCOGS' form."""
        return self.form == "cogs"

    def same(self, answer: str, target: str) -> bool:
        """Say whether an answer counts as right."""
        if self.form == "recogs":
            return same_meaning(answer, target)
        return super().same(answer, target)

    def group_summaries(self, accuracies: Mapping[str, float]) -> dict[str, float]:
        """Return the mean over the 15 lexical types without new proper names, as wu2023 counts."""
        apart = (*STRUCTURAL, *PROPER)
        lexical = [value for name, value in accuracies.items() if name not in apart]
        return {"lexical_accuracy": sum(lexical) / len(lexical)} if lexical else {}

    def pairs(self, split: Split) -> list[Pair]:
        """Write a split, in the order of its file."""
        if split in ("train", "validation"):
            chosen = self._read("train" if split == "train" else "dev")
        else:
            share, wanted = self.ood_validation_share, split == "ood_validation"
            chosen = lent(self._read("gen"), share, "cogs", by_group=True, wanted=wanted)
        return first_of_each(chosen, self.most_of_a_type)
