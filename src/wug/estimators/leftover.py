"""Is what a formula leaves noise? A test against neighbours, and one against trees.

Noise can't be predicted from the other rows. What is left of a row is predicted from what is left
of all others: by kernel regressions of several widths and degrees, and by the mean of its
neighbours, in all inputs, in two of them, along one, along what two of them make (a sum, a
difference, a product, a quotient) and along the formula itself. How well that goes is compared with
the same for shuffled rows. Trees see steps and cases that smooth kernels miss. A search, which asks
again and again, has a quicker test of kernels and trees alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from wug.estimators.candidate import Array, Candidate
from wug.estimators.constants import coefficients_among, free_constants, gradient

# Share of the residual's variance that may be predictable before we say that something is left.
EXPLAINED = 0.1
FEWEST_ROWS = 8
MOST_ROWS, MOST_TREE_ROWS = 400, 2_000
# With fewer rows trees are no fair judge.
ENOUGH_FOR_TREES = 50
WIDTHS, DEGREES, RIDGES = (0.1, 0.3, 1.0, 3.0), (2, 3, 5), (1e-10, 1e-6, 1e-3, 1e-1, 1.0)
# Of kernels in two of the inputs, which take long where there are many rows.
PAIR_WIDTHS, FEW_ROWS = (0.1, 0.3, 1.0), 150
# Neighbours in several inputs, and on either side along a line.
NEAREST, SIDES = (2, 4, 8), (1, 2, 4)
# Of so many shuffles, how many may look as predictable as what is left; and at a glance.
SHUFFLES, AT_A_GLANCE = (199, 1), (99, 1)
MOST_INPUTS = 30
# Inputs of which pairs are looked at.
MOST_PAIRED = 6
# Singular value of derivatives, as a share of the largest one, below which they are the same.
SAME = 1e-10


@dataclass(frozen=True)
class Leftover:
    """What a formula leaves, and what it was fitted with.

    Args:
        inputs: (row, in), distinct rows.
        residual: (row,).
        used: Which inputs the formula uses, (in,); all if not given.
        value: Of the formula, (row,).
        moves: How its fitted numbers move it, (row, number): what goes along with these is not
            left, whatever the rule is.
    """

    inputs: Array
    residual: Array
    used: NDArray[np.bool_] | None = None
    value: Array | None = None
    moves: Array | None = None

    @property
    def num_moves(self) -> int:
        """How many numbers were fitted."""
        return 0 if self.moves is None else self.moves.shape[1]

    def close_inputs(self) -> list[int]:
        """Return the inputs that are looked at closely: all if they are few, else the used ones."""
        varied = np.ptp(self.inputs, axis=0) > 0
        few = np.count_nonzero(varied) <= MOST_PAIRED // 2
        used = varied if few or self.used is None else varied & self.used
        [places] = np.nonzero(used if used.any() else varied)
        return [int(place) for place in places[:MOST_PAIRED]]

    def few(self, most: int) -> Leftover:
        """Return the first rows."""
        rows = slice(most)
        return replace(
            self, inputs=self.inputs[rows], residual=self.residual[rows],
            value=None if self.value is None else self.value[rows],
            moves=None if self.moves is None else self.moves[rows],
        )  # fmt: skip

    def without_moves(self, columns: Array) -> Array:
        """Return columns without what the formula's numbers could follow; of deviation 1."""
        if self.moves is not None and self.moves.size and np.isfinite(self.moves).all():
            size = np.linalg.norm(self.moves, axis=0)
            left, values, _ = np.linalg.svd(
                self.moves / np.where(size > 0, size, 1.0), full_matrices=False
            )
            basis = left[:, values > SAME * values[0]]
            columns = columns - basis @ (basis.T @ columns)
        columns = columns - columns.mean(0)
        spread = columns.std(0)
        return np.asarray(columns / np.where(spread > 0, spread, 1.0))


def leftover_of(candidate: Candidate, inputs: Array, target: Array, weight: Array) -> Leftover:
    """Return what a formula leaves.

    Args:
        candidate: The formula, at its best numbers.
        inputs: (row, in).
        target: (row,).
        weight: Of each row's error.
    """
    value = candidate.predict(inputs)
    fitted = free_constants(candidate) | coefficients_among(candidate)
    return Leftover(
        inputs, weight * (target - value), candidate.used_inputs(), value,
        weight[:, None] * gradient(candidate, inputs)[:, fitted],
    )  # fmt: skip


def can_be_tested(num_rows: int, num_constants: int) -> bool:
    """Say whether there are enough rows to tell noise from something else."""
    return num_rows >= FEWEST_ROWS and num_rows - num_constants >= FEWEST_ROWS // 2


def something_left(leftover: Leftover, *, seed: int = 0) -> bool:
    """Say whether what is left can be predicted from the inputs.

    Args:
        leftover: Of a formula.
        seed: Of the shuffles and the trees.

    Example:
        >>> x = np.linspace(0, 1, 40)[:, None]
        >>> something_left(Leftover(x, np.sin(20 * x[:, 0])))
        True
        >>> something_left(Leftover(x, np.random.default_rng(0).normal(size=40)))
        False
    """
    residual = leftover.residual
    if len(residual) < FEWEST_ROWS or np.ptp(residual) == 0:
        return False
    few = leftover.few(MOST_ROWS)
    return bool(noticed(few, few.residual[:, None], seed)[0]) or trees_notice(leftover, seed)


def left_at_a_glance(leftover: Leftover, *, seed: int = 0) -> bool:
    """Say whether smooth kernels or trees predict what is left: a search asks again and again.

    Args:
        leftover: Of a formula.
        seed: Of the shuffles and the trees.
    """
    residual = leftover.residual
    if len(residual) < FEWEST_ROWS or np.ptp(residual) == 0:
        return False
    few = leftover.few(MOST_ROWS)
    generator = np.random.default_rng(seed)
    num, by_chance_at_most = AT_A_GLANCE
    shuffled = [generator.permutation(few.residual) for _ in range(num)]
    columns = np.stack((few.residual, *shuffled), 1)
    columns = (columns - columns.mean(0)) / few.residual.std()
    points, _ = standardised(few.inputs)
    explained = 1 - np.stack([regressed(one, columns, RIDGES).min(0) for one in kernels(points)])
    best = explained.max(0)
    chance = np.count_nonzero(best[1:] >= best[0])
    if best[0] > EXPLAINED and chance <= by_chance_at_most:
        return True
    return trees_notice(leftover, seed)


def trees_notice(leftover: Leftover, seed: int) -> bool:
    """Say whether there are enough rows for trees, and these find something."""
    rows = slice(0, MOST_TREE_ROWS)
    inputs, residual = leftover.inputs[rows], leftover.residual[rows]
    enough = len(residual) >= ENOUGH_FOR_TREES
    return enough and trees_explain(inputs, residual, seed) > EXPLAINED


def standardised(inputs: Array) -> tuple[Array, list[int]]:
    """Return some of the inputs in their deviations, those that vary first, and which these are."""
    spread = inputs.std(0)
    varied = np.argsort(-(spread > 0).astype(float), kind="stable")[:MOST_INPUTS]
    points = (inputs - inputs.mean(0)) / np.where(spread > 0, spread, 1.0)
    return np.asarray(points[:, varied]), [int(place) for place in varied]


def noticed(leftover: Leftover, columns: Array, seed: int) -> NDArray[np.bool_]:
    """Say of each column whether neighbours predict it, and shuffled residuals not, (column,).

    Args:
        leftover: Of a formula.
        columns: The residual, or others of the same rows, (row, column).
        seed: Of the shuffles.
    """
    generator = np.random.default_rng(seed)
    num, by_chance_at_most = SHUFFLES
    shuffled = np.stack([generator.permutation(leftover.residual) for _ in range(num)], 1)
    columns = columns - columns.mean(0)
    columns = columns / np.where(columns.std(0) > 0, columns.std(0), 1.0)
    left = what_is_left(leftover, np.hstack((leftover.without_moves(shuffled), columns)))
    logs = np.log(np.maximum(left, 1e-300))
    by_chance = logs[:, :num]
    spread = np.maximum(by_chance.std(1, keepdims=True), 1e-12)
    # Of what every prediction reaches by chance, the deviations that it is better: the best one.
    better = ((by_chance.mean(1, keepdims=True) - logs) / spread).max(0)
    explained = 1 - left.min(0)
    unlikely = better[num:] > np.sort(better[:num])[-1 - by_chance_at_most]
    return np.asarray(unlikely & (explained[num:] > EXPLAINED))


def what_is_left(leftover: Leftover, columns: Array) -> Array:
    """Return the share of the variance that each way to predict leaves, (way, column).

    Args:
        leftover: Of a formula.
        columns: Of deviation 1, (row, column).
    """
    everywhere, varied = standardised(leftover.inputs)
    found = [regressed(kernel, columns, RIDGES) for kernel in kernels(everywhere)]
    found.append(from_nearest(everywhere, columns))
    pairs = [list(pair) for pair in combinations(leftover.close_inputs(), 2)]
    for pair in pairs if len(varied) > 2 else ():
        points, _ = standardised(leftover.inputs[:, pair])
        found.append(from_nearest(points, columns))
        if len(points) <= FEW_ROWS:
            kinds = gaussians(points, PAIR_WIDTHS)
            found += [regressed(kernel, columns, RIDGES[2:]) for kernel in kinds]
    for line in lines(leftover, varied, pairs):
        if np.isfinite(line).all():
            found.append(from_both_sides(line, columns))
    return np.concatenate(found)


def lines(leftover: Leftover, singles: list[int], pairs: list[list[int]]) -> Iterator[Array]:
    """Yield what rows may be ordered along."""
    yield from (leftover.inputs[:, index] for index in singles)
    if leftover.value is not None:
        yield leftover.value
    with np.errstate(all="ignore"):
        for first, second in pairs:
            a, b = leftover.inputs[:, first], leftover.inputs[:, second]
            yield from (a + b, a - b, a * b, a / b)


def from_both_sides(line: Array, columns: Array) -> Array:
    """Return what the mean of the neighbours along a line leaves, (way, column)."""
    columns = columns[np.argsort(line, kind="stable")]
    num_rows = len(columns)
    sums = np.concatenate((np.zeros((1, columns.shape[1])), np.cumsum(columns, 0)))
    place = np.arange(num_rows)
    found = []
    for side in SIDES:
        first, last = np.maximum(place - side, 0), np.minimum(place + side + 1, num_rows)
        num = (last - first - 1)[:, None]
        found.append(unexplained(columns, (sums[last] - sums[first] - columns) / num, 2 * side))
    return np.stack(found)


def from_nearest(points: Array, columns: Array) -> Array:
    """Return what the mean of the nearest rows leaves, (way, column)."""
    distance = squared_distance(points)
    np.fill_diagonal(distance, np.inf)
    order = np.argsort(distance, 1, kind="stable")
    return np.stack([
        unexplained(columns, columns[order[:, :num]].mean(1), num)
        for num in NEAREST if num < len(points)
    ])  # fmt: skip


def unexplained(columns: Array, guess: Array, num: int) -> Array:
    """Return the share of the variance that a mean of so many rows leaves; of noise it is 1."""
    return np.asarray(((columns - guess) ** 2).mean(0) / (1 + 1 / num))


def regressed(kernel: Array, columns: Array, ridges: tuple[float, ...]) -> Array:
    """Return what a kernel regression leaves of each row if it is left out, (way, column)."""
    values, vectors = np.linalg.eigh(kernel)
    values = np.maximum(values, 0.0)
    turned = vectors.T @ columns
    found = []
    for ridge in ridges:
        inverse = 1 / (values + ridge)
        # What a row leaves if it is left out follows from the fit of all rows.
        left = (vectors @ (inverse[:, None] * turned)) / ((vectors**2) @ inverse)[:, None]
        found.append((left**2).mean(0))
    return np.stack(found)


def kernels(points: Array) -> list[Array]:
    """Return Gaussian kernels of several widths and polynomial ones of several degrees."""
    products = points @ points.T / points.shape[1]
    return [*gaussians(points, WIDTHS), *((1 + products) ** degree for degree in DEGREES)]


def gaussians(points: Array, widths: tuple[float, ...]) -> list[Array]:
    """Return Gaussian kernels."""
    distance = squared_distance(points) / points.shape[1]
    return [np.exp(-distance / (2 * width**2)) for width in widths]


def squared_distance(points: Array) -> Array:
    """Return the squared distance of each two points."""
    squares = (points**2).sum(1)
    return np.asarray(np.maximum(squares[:, None] + squares - 2 * points @ points.T, 0.0))


def trees_explain(inputs: Array, residual: Array, seed: int) -> float:
    """Return the share of the variance that trees explain on rows they never saw."""
    from sklearn.ensemble import ExtraTreesRegressor

    trees = ExtraTreesRegressor(
        n_estimators=60, min_samples_leaf=2, bootstrap=True, oob_score=True, random_state=seed
    )
    return float(trees.fit(inputs, residual / residual.std()).oob_score_)
