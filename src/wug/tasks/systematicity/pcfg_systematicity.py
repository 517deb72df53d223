"""PCFG SET, systematicity (Hupkes et al., 2020): known string edits in new pairs.

Functions of strings, applied to each other: four pairs of functions are never neighbours in
training, and every expression of the tests has one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wug.core.registry import register
from wug.interfaces.interface import SPLITS
from wug.sources.edit_pairs import EditPairs
from wug.sources.string_edits import has_pair

NEW_PAIRS = frozenset(
    {
        ("swap_first_last", "repeat"),
        ("append", "remove_second"),
        ("repeat", "remove_second"),
        ("append", "swap_first_last"),
    }
)


@register(
    "task",
    name="PCFG SET (systematicity)",
    references=("hupkes2020", "csordas2023"),
    equation=r"(f, g)_{\mathrm{test}} \notin \mathrm{train}",
    failure_modes=(
        "Training data is drawn anew, by a generator of ours: results can't be compared with "
        "published ones number by number.",
    ),
    claim="systematicity",
    splits=list(SPLITS),
    interface="transduction",
)
@dataclass(frozen=True, kw_only=True)
class PCFGSystematicity(EditPairs):
    """String edits; in the tests pairs of them that training lacks.

    Training and IID validation are expressions of our own generator, without four pairs of
    neighbouring functions. Every expression of the official test file has one of these; a share of
    each number of functions, chosen by a hash of the expression, is the OOD validation set, and the
    others are the test. Groups are numbers of functions.

    Departures:
        The official training files are not to be had: ours draws expressions with the shares of
        functions, depths and string lengths of the official random test set, as many as there are
        in the official file. With ``ood_validation_share=0`` the test is the official one.

    Args:
        num_train: Number of training expressions.
        num_validation: Number of expressions for IID validation.
        ood_validation_share: Share of each group of the official test for OOD validation.
        most_of_a_length: If above 0, the OOD sets have only so many expressions of a number of
            functions, for a quick try.
        seed: Another one gives other training data.

    Raises:
        UserError: For sizes below 1, a share outside of [0, 1), or missing files.

    Example:
        >>> task = PCFGSystematicity(num_train=100, num_validation=10)
        >>> len(task.pairs("train")), task.num_source_tokens
        (100, 535)

    References:
        hupkes2020, csordas2023
    """

    num_train: int = 82_168

    folder: ClassVar[str] = "systematicity"

    def in_training(self, expression: str) -> bool:
        """Say whether an expression has none of the new pairs."""
        return not has_pair(expression, NEW_PAIRS)
