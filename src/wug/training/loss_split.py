"""The loss of what a network ever gets right, and of what it never does (csordas2023, figure C.2).

On a generalisation set the mean loss may grow while the accuracy grows: the loss of answers that
are wrong all the time grows more than that of the others falls.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from wug.training.engine import Floats, Tree


class LossSplit:
    """Losses and right answers of the examples of a split, evaluation by evaluation.

    Example:
        >>> split = LossSplit()
        >>> split.append(np.array([1.0, 2.0, 3.0]), np.array([False, False, True]))
        >>> split.append(np.array([0.0, 9.0, 4.0]), np.array([True, False, False]))
        >>> {name: values.tolist() for name, values in split.curves().items()}
        {'good': [2.0, 2.0], 'bad': [2.0, 9.0]}
    """

    def __init__(self) -> None:
        self._losses: list[NDArray[np.float32]] = []
        self._right: list[NDArray[np.bool_]] = []

    def append(self, losses: NDArray[np.floating], right: NDArray[np.bool_]) -> None:
        """Add an evaluation: the loss of each example, and whether its answer is right."""
        self._losses.append(np.asarray(losses, np.float32))
        self._right.append(np.asarray(right, bool))

    def curves(self) -> dict[str, Floats]:
        """Return the mean losses of good examples, right at any evaluation, and of bad ones.

        Returns:
            ``good`` and ``bad`` -> one number for each evaluation, NaN without such examples.
        """
        losses = np.array(self._losses, np.float64)
        good = np.array(self._right).any(0)
        nobody = np.full(len(losses), np.nan)
        return {
            name: losses[:, chosen].mean(1) if chosen.any() else nobody
            for name, chosen in (("good", good), ("bad", ~good))
        }

    def state(self) -> Tree:
        """Return what a resumed training needs."""
        if not self._losses:
            return {}
        return {
            "losses": torch.tensor(np.array(self._losses)),
            "right": torch.tensor(np.array(self._right)),
        }

    def load_state(self, tree: Tree) -> None:
        """Go on from a state."""
        self._losses = list(tree["losses"].numpy()) if tree else []
        self._right = list(tree["right"].numpy()) if tree else []
