"""Which of many columns matter: forward selection in the values and in their logarithms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wug.estimators.candidate import Array
from wug.estimators.data import Data

Indices = NDArray[np.intp]

MOST_ROWS = 1_000
# Share of the target that is left where a selection may end.
ENOUGH = 1e-9


def views(data: Data, most: int) -> list[Indices]:
    """Return sets of inputs that may be those that matter, the likeliest first.

    Args:
        data: With many inputs.
        most: How many inputs a set may have.

    Example:
        >>> x = np.random.default_rng(0).uniform(1, 2, (50, 90))
        >>> views(Data(inputs=x, target=x[:, 4] * x[:, 7] / x[:, 61]), 3)[0]
        array([ 4,  7, 61])
    """
    rows = np.arange(len(data.target)) < MOST_ROWS
    inputs, target = data.inputs[rows], data.target[rows]
    found = []
    usable = (inputs != 0).all(0)
    clear = target != 0
    if usable.any() and clear.sum() > most:
        logs = np.log(np.abs(inputs[clear][:, usable]))
        chosen = forward_selection(logs, np.log(np.abs(target[clear])), most)
        found.append((len(chosen), np.flatnonzero(usable)[chosen]))
    for power in (1.0, 2.0, -1.0):
        with np.errstate(all="ignore"):
            raised = np.abs(target) ** power * np.sign(target)
        if np.isfinite(raised).all():
            columns = np.concatenate((inputs, (inputs - inputs.mean(0)) ** 2), 1)
            chosen = forward_selection(columns, raised, most)
            found.append((len(chosen), np.unique(np.array(chosen) % inputs.shape[1])))
    unique: list[Indices] = []
    for _, indices in sorted(found, key=lambda pair: pair[0]):
        indices = np.sort(indices)
        if not any(np.isin(indices, other).all() for other in unique):
            unique.append(indices)
    return unique


def forward_selection(columns: Array, target: Array, most: int) -> list[int]:
    """Return the columns of an orthogonal matching pursuit, with a constant from the start."""
    residual = target - target.mean()
    remaining = columns - columns.mean(0)
    whole = float(np.linalg.norm(residual))
    chosen: list[int] = []
    while len(chosen) < min(most, columns.shape[1], len(target) - 2):
        length = np.linalg.norm(remaining, axis=0)
        clear = length > 1e-9 * max(float(length.max()), 1e-300)
        gain = np.where(clear, np.abs(residual @ remaining) / np.where(clear, length, 1.0), 0.0)
        gain[chosen] = 0.0
        best = int(np.argmax(gain))
        if gain[best] == 0:
            break
        direction = remaining[:, best] / length[best]
        residual = residual - direction * (direction @ residual)
        remaining = remaining - np.outer(direction, direction @ remaining)
        chosen.append(best)
        if np.linalg.norm(residual) <= ENOUGH * whole:
            break
    return chosen
