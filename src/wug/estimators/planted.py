"""Would the test of what is left have noticed anything? It is tried on planted waves and steps.

That nothing was found means something only where something would have been found. Waves and steps
along one or two of the inputs are planted into the very rows, without what the formula's numbers
could follow; the share of them that the test notices is its power.
"""

from __future__ import annotations

import numpy as np

from wug.estimators.candidate import Array
from wug.estimators.exactness import ROWS_PER_CONSTANT
from wug.estimators.leftover import MOST_ROWS, Leftover, noticed

PLANTED = 200
# Periods over the range of the inputs.
FEWEST_PERIODS, MOST_PERIODS = 0.5, 3.0
# Share of what is planted that the test has to notice.
ENOUGH = 0.9


def would_be_noticed(leftover: Leftover, *, seed: int = 0) -> float:
    """Return the share of planted structures that the test of what is left notices.

    With fewer rows for each fitted number than an exact formula needs, it is 0.

    Args:
        leftover: Of a formula, in which nothing was noticed.
        seed: Of what is planted, and of the test.

    Example:
        >>> x = np.random.default_rng(0).uniform(size=(100, 2))
        >>> noise = np.random.default_rng(1).normal(size=100)
        >>> would_be_noticed(Leftover(x, noise)) > 0.9
        True
        >>> would_be_noticed(Leftover(x[:12], noise[:12])) < 0.5
        True
    """
    few = leftover.few(MOST_ROWS)
    if len(few.inputs) < ROWS_PER_CONSTANT * few.num_moves or not few.close_inputs():
        return 0.0
    columns = few.without_moves(planted(few, np.random.default_rng(seed)))
    return float(noticed(few, columns, seed).mean())


def planted(leftover: Leftover, generator: np.random.Generator) -> Array:
    """Return waves and steps along one or two of the inputs, (row, wave)."""
    close = leftover.inputs[:, leftover.close_inputs()]
    low, high = close.min(0), close.max(0)
    places = (close - low) / np.where(high > low, high - low, 1.0)
    waves = []
    for index in range(PLANTED):
        several = min(places.shape[1], 1 + index % 2)
        along = generator.normal(size=several)
        along *= generator.uniform(FEWEST_PERIODS, MOST_PERIODS) / np.linalg.norm(along)
        chosen = generator.choice(places.shape[1], several, replace=False)
        wave = np.cos(2 * np.pi * (places[:, chosen] @ along + generator.uniform()))
        waves.append(wave if index % 4 < 2 else np.sign(wave))
    return np.stack(waves, 1)
