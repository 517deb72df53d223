"""Harder problems later: which of them a training has reached, and when it reaches the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from wug.sources.sequences import SequenceSet
from wug.training.sequence_plan import SequencePlan

# One level alone shows nothing composed.
FIRST_GRADES = 2
# By length, grades have about equally many problems of the training set.
NUM_LENGTH_GRADES = 12


class Curriculum:
    """Adds grades to a training as those before are mastered; without a mastery it has them all.

    Args:
        examples: The training set.
        plan: Its `mastery`, `grading` and `complete_by`, and how much there is to do.

    Example:
        >>> lists = [[1], [1, 2], [3, 4, 5]]
        >>> examples = SequenceSet.from_lists(lists, labels=[0, 1, 2], levels=[1, 2, 3])
        >>> curriculum = Curriculum(examples, SequencePlan(steps=100, mastery=0.9))
        >>> len(curriculum.reached(examples, 0)), len(curriculum.reached(examples, 1))
        (2, 3)
        >>> curriculum.goes_on(0, spent=10, errors={0: (0, 10), 1: (1, 10)})
        True
    """

    def __init__(self, examples: SequenceSet, plan: SequencePlan) -> None:
        self.plan = plan
        difficulty = self._difficulty(examples)
        if plan.grading == "length":
            parts = torch.arange(1, NUM_LENGTH_GRADES + 1) * len(difficulty) // NUM_LENGTH_GRADES
            difficulty = difficulty.sort().values[parts.clamp(min=1) - 1]
        # The most difficult that is in a grade.
        self.edges = difficulty.unique()

    def _difficulty(self, examples: SequenceSet) -> Tensor:
        return examples.levels if self.plan.grading == "level" else examples.lengths

    def num_more(self, added: int) -> int:
        """Return how many grades are to come after so many were added."""
        more = len(self.edges) - FIRST_GRADES - added
        return 0 if self.plan.mastery is None else max(0, more)

    def reached(self, examples: SequenceSet, added: int) -> SequenceSet:
        """Return what is within reach after so many grades were added."""
        highest = self.edges[len(self.edges) - 1 - self.num_more(added)]
        return examples[self._difficulty(examples) <= highest]

    def graded(self, examples: SequenceSet) -> SequenceSet:
        """Return the problems with their grades, counted from 0, for levels."""
        return replace(examples, levels=torch.bucketize(self._difficulty(examples), self.edges))

    def goes_on(self, added: int, spent: float, errors: Mapping[int, tuple[int, int]]) -> bool:
        """Say whether it is time for the next grade.

        Args:
            added: Number of grades that were added so far.
            spent: How much of the plan's amount is done.
            errors: Number of wrong answers and of problems in IID validation, by grade, of what is
                within reach.
        """
        more, mastery = self.num_more(added), self.plan.mastery
        if mastery is None or not more:
            return False
        shares = [1 - wrong / count for wrong, count in errors.values()]
        late = spent >= (added + 1) / (added + more) * self.plan.complete_by * self.plan.amount
        return late or min(shares, default=0.0) >= mastery
