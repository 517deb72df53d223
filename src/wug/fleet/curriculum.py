"""Deeper problems later: which levels a training has reached, and when it reaches the next."""

from __future__ import annotations

from collections.abc import Mapping

from wug.core.sequences import SequenceSet
from wug.fleet.sequence_plan import SequencePlan

# One level alone shows nothing composed.
FIRST_LEVELS = 2


class Curriculum:
    """Adds levels to a training as those before are mastered; without a mastery it has them all.

    Args:
        examples: The training set.
        plan: Its `mastery`, and how much there is to do.

    Example:
        >>> lists = [[1], [1, 2], [3, 4, 5]]
        >>> examples = SequenceSet.from_lists(lists, labels=[0, 1, 2], levels=[1, 2, 3])
        >>> curriculum = Curriculum(examples, SequencePlan(steps=100, mastery=0.9))
        >>> len(curriculum.reached(0)), len(curriculum.reached(1))
        (2, 3)
        >>> curriculum.goes_on(0, spent=10, errors={1: (0, 10), 2: (1, 10), 3: (9, 10)})
        True
    """

    def __init__(self, examples: SequenceSet, plan: SequencePlan) -> None:
        self.examples, self.plan = examples, plan
        self.levels: list[int] = examples.levels.unique().tolist()

    def _reached(self, added: int) -> list[int]:
        return self.levels if self.plan.mastery is None else self.levels[: FIRST_LEVELS + added]

    def reached(self, added: int) -> SequenceSet:
        """Return the problems that are trained on after so many levels were added."""
        known = self.examples.levels <= self._reached(added)[-1]
        return self.examples if known.all() else self.examples[known]

    def goes_on(self, added: int, spent: float, errors: Mapping[int, tuple[int, int]]) -> bool:
        """Say whether it is time for the next level.

        Args:
            added: Number of levels that were added so far.
            spent: How much of the plan's amount is done.
            errors: Number of wrong answers and of problems in IID validation, by level.
        """
        reached, mastery = self._reached(added), self.plan.mastery
        more = len(self.levels) - len(reached)
        if mastery is None or not more:
            return False
        known = [counts for level, counts in errors.items() if level <= reached[-1]]
        mastered = bool(known) and all(1 - wrong / count >= mastery for wrong, count in known)
        return mastered or spent >= (added + 1) / (added + more) * self.plan.amount / 2
