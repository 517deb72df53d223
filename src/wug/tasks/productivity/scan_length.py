"""SCAN by length (Lake and Baroni, 2018; cutoffs as Newman et al., 2020).

Commands such as "jump around left twice" become actions. Train on short outputs, test on longer
ones: who learns where outputs end instead of when the command is done stops too early.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from wug.core.errors import UserError
from wug.core.registry import register
from wug.interfaces.interface import SPLITS, Split
from wug.sources.pairs import Pair, PairTask, lent
from wug.sources.scan_grammar import ACTIONS, COMMAND_WORDS, actions, commands

# Of table 4.1 of csordas2023.
CUTOFFS = (22, 24, 25, 26, 27, 28, 30, 32, 33, 36, 40)
LONGEST = 48


@register(
    "task",
    name="SCAN (length)",
    references=("lake2018", "newman2020", "csordas2023"),
    equation=r"|y_{\mathrm{train}}| \le \ell < |y_{\mathrm{test}}|",
    failure_modes=(
        "Below a cutoff of 26, training lacks whole kinds of commands: not only length is new.",
    ),
    claim="productivity",
    splits=list(SPLITS),
    interface="transduction",
)
@dataclass(frozen=True, kw_only=True)
class ScanLength(PairTask):
    """Commands to actions; in the tests more actions than in training.

    All 20,910 commands of the grammar are in one set each. Those with at most as many actions as
    the cutoff are for training, but for a share of them, chosen by a hash of the command, that is
    the IID validation set. Of the longer ones a share of each length, chosen the same way, is the
    OOD validation set, and the others are the test. Groups are numbers of actions.

    Departures:
        Without an OOD validation set (``ood_validation_share=0``) the test is that of lake2018 at
        cutoff 22 and of newman2020 elsewhere. csordas2023 drew its 10 % for IID validation with a
        random generator: as many, but others.

    Args:
        cutoff: Largest number of actions in training; 22 is SCAN's own length split.
        validation_share: Share of the short commands for IID validation.
        ood_validation_share: Share of the long commands for OOD validation.
        teach_end: Whether networks are taught when to stop (+EOS); if not (-EOS, newman2020), their
            answers are cut at the true length.

    Raises:
        UserError: For a cutoff that leaves nothing to test, or shares outside of [0, 1).

    Example:
        >>> task = ScanLength(cutoff=26, ood_validation_share=0.0)
        >>> tuple(len(task.pairs(split)) for split in ("train", "validation", "test"))
        (16458, 1828, 2624)

    References:
        lake2018, newman2020, csordas2023
    """

    cutoff: int = 26
    validation_share: float = 0.1
    ood_validation_share: float = 0.1
    teach_end: bool = True

    group: ClassVar[Literal["type", "length", "depth"]] = "length"
    source_tokens = COMMAND_WORDS
    target_tokens = ACTIONS
    question: ClassVar[str] = "jump around left twice and walk thrice"

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        if not 1 <= self.cutoff < LONGEST:
            raise UserError(f"ScanLength: cutoff must be from 1 to 47; got {self.cutoff}.")
        for name in ("validation_share", "ood_validation_share"):
            if not 0 <= getattr(self, name) < 1:
                raise UserError(f"ScanLength: {name} must be in [0, 1); got {getattr(self, name)}.")

    def true_target(self, source: str) -> str:
        """Return what a command means."""
        return actions(source)

    def pairs(self, split: Split) -> list[Pair]:
        """Write a split, in the order of the grammar."""
        iid = split in ("train", "validation")
        chosen = []
        for command in commands():
            meaning = actions(command)
            length = meaning.count(" ") + 1
            if (length <= self.cutoff) == iid:
                chosen.append(Pair(command, meaning, str(length)))
        share = self.validation_share if iid else self.ood_validation_share
        wanted = split in ("validation", "ood_validation")
        return lent(chosen, share, "scan", by_group=not iid, wanted=wanted)
