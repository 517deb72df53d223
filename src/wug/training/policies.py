"""Which evaluation each of several selections would have picked in one training.

Early stopping on an in-distribution set, the best out-of-distribution accuracy, the lowest loss: on
tasks that test generalisation they pick networks that differ widely (csordas2023, section 4.2.2).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch

from wug.interfaces.interface import EarlyStopping, Selection
from wug.training.engine import Tree


class Policies:
    """What several selections have picked so far.

    Args:
        selections: By name.

    Example:
        >>> policies = Policies({"early": EarlyStopping(split="validation", patience=1)})
        >>> found = ([3.0], [2.0], [2.5], [1.0])
        >>> [policies.pick(step, {"early": value[0]}) for step, value in enumerate(found)]
        [['early'], ['early'], [], []]
        >>> policies.steps
        {'early': 1}
    """

    def __init__(self, selections: Mapping[str, Selection]) -> None:
        self.selections = dict(selections)
        self.best = dict.fromkeys(self.selections, math.inf)
        self.steps = dict.fromkeys(self.selections, -1)
        self.waited = dict.fromkeys(self.selections, 0)

    def pick(self, step: int, values: Mapping[str, float]) -> list[str]:
        """Return the names of the selections that pick an evaluation.

        Args:
            step: Of the evaluation.
            values: What each selection reads there, by its name; the lowest is the best.
        """
        picked = []
        for name, selection in self.selections.items():
            patience = selection.patience if isinstance(selection, EarlyStopping) else 0
            if patience and self.waited[name] >= patience:
                continue
            value, best = values[name], self.best[name]
            first = self.steps[name] < 0
            if first or value < best or (selection.ties == "last" and value == best):
                self.waited[name] = 0 if first or value < best else self.waited[name] + 1
                self.best[name], self.steps[name] = value, step
                picked.append(name)
            else:
                self.waited[name] += 1
        return picked

    def state(self) -> Tree:
        """Return what a resumed training needs."""
        rows = zip(self.best.values(), self.steps.values(), self.waited.values(), strict=True)
        numbers = [torch.tensor(row, dtype=torch.float64) for row in rows]
        return dict(zip(self.selections, numbers, strict=True))

    def load_state(self, tree: Tree) -> None:
        """Go on from a state."""
        for name, numbers in tree.items():
            best, step, waited = numbers.tolist()
            self.best[name], self.steps[name], self.waited[name] = best, int(step), int(waited)
