"""Is what a formula leaves noise? A test against neighbours, and one against trees.

Noise can't be predicted from the other rows. The residual of a row is predicted from all others by
kernel regression of several widths and degrees; how much of the variance that explains is compared
with the same for shuffled residuals. Trees see steps and cases that smooth kernels miss.
"""

from __future__ import annotations

import numpy as np

from wug.estimators.candidate import Array

# Share of the residual's variance that may be predictable before we say that something is left.
EXPLAINED = 0.1
FEWEST_ROWS = 8
MOST_ROWS, MOST_TREE_ROWS = 400, 2_000
# With fewer rows trees are no fair judge.
ENOUGH_FOR_TREES = 50
WIDTHS, DEGREES, RIDGES = (0.1, 0.3, 1.0, 3.0), (2, 3, 5), (1e-10, 1e-6, 1e-3, 1e-1, 1.0)
SHUFFLES, SIGNIFICANT = 99, 0.02
MOST_INPUTS = 30


def can_be_tested(num_rows: int, num_constants: int) -> bool:
    """Say whether there are enough rows to tell noise from something else."""
    return num_rows >= FEWEST_ROWS and num_rows - num_constants >= FEWEST_ROWS // 2


def something_left(inputs: Array, residual: Array, *, seed: int = 0) -> bool:
    """Say whether a residual can be predicted from the inputs.

    Args:
        inputs: (row, in), distinct rows.
        residual: (row,).
        seed: Of the shuffles and the trees.

    Example:
        >>> x = np.linspace(0, 1, 40)[:, None]
        >>> something_left(x, np.sin(20 * x[:, 0]))
        True
        >>> something_left(x, np.random.default_rng(0).normal(size=40))
        False
    """
    if len(residual) < FEWEST_ROWS or np.ptp(residual) == 0:
        return False
    if neighbours_explain(inputs[:MOST_ROWS], residual[:MOST_ROWS], seed):
        return True
    rows = slice(0, MOST_TREE_ROWS)
    enough = len(residual) >= ENOUGH_FOR_TREES
    return enough and trees_explain(inputs[rows], residual[rows], seed) > EXPLAINED


def neighbours_explain(inputs: Array, residual: Array, seed: int) -> bool:
    """Say whether kernel regression predicts rows that it never saw, and shuffled ones not."""
    spread = inputs.std(0)
    varied = np.argsort(-(spread > 0).astype(float), kind="stable")[:MOST_INPUTS]
    points = ((inputs - inputs.mean(0)) / np.where(spread > 0, spread, 1.0))[:, varied]
    generator = np.random.default_rng(seed)
    shuffled = [generator.permutation(residual) for _ in range(SHUFFLES)]
    columns = np.stack((residual, *shuffled), 1)
    columns = (columns - columns.mean(0)) / residual.std()
    best = np.full(columns.shape[1], -np.inf)
    for kernel in kernels(points):
        values, vectors = np.linalg.eigh(kernel)
        values = np.maximum(values, 0.0)
        turned = vectors.T @ columns
        for ridge in RIDGES:
            inverse = 1 / (values + ridge)
            # What a row leaves if it is left out follows from the fit of all rows.
            left = (vectors @ (inverse[:, None] * turned)) / ((vectors**2) @ inverse)[:, None]
            best = np.maximum(best, 1 - (left**2).mean(0))
    chance = (1 + np.count_nonzero(best[1:] >= best[0])) / (1 + SHUFFLES)
    return bool(best[0] > EXPLAINED and chance <= SIGNIFICANT)


def kernels(points: Array) -> list[Array]:
    """Return Gaussian kernels of several widths and polynomial ones of several degrees."""
    products = points @ points.T / points.shape[1]
    squares = np.diag(products)
    distance = np.maximum(squares[:, None] + squares - 2 * products, 0.0)
    gaussian = [np.exp(-distance / (2 * width**2)) for width in WIDTHS]
    return [*gaussian, *((1 + products) ** degree for degree in DEGREES)]


def trees_explain(inputs: Array, residual: Array, seed: int) -> float:
    """Return the share of the variance that trees explain on rows they never saw."""
    from sklearn.ensemble import ExtraTreesRegressor

    trees = ExtraTreesRegressor(
        n_estimators=60, min_samples_leaf=2, bootstrap=True, oob_score=True, random_state=seed
    )
    return float(trees.fit(inputs, residual / residual.std()).oob_score_)
