"""Splits of maximum compound divergence (Keysers et al., 2020), of any items made of parts.

Training and test have the same atoms in about the same frequencies, but as different combinations
of them, compounds, as can be found. What atoms and compounds of an item are, its task says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from wug.core.errors import UserError

# Exponents of the Chernoff coefficient: both sides alike for atoms; for compounds it matters that
# what the test has is in training at all, less how often.
ATOM_ALPHA, COMPOUND_ALPHA = 0.5, 0.1
# Where a frequency is 0, the direction of search takes this in its place.
SMALLEST = 1e-4
PENALTY = 10.0
# Compounds that are tried before one of them is reserved for the test, how often in vain, and how
# many may be reserved.
TRIED, PATIENCE, MOST_RESERVED = 32, 4, 60


class Divided(NamedTuple):
    """Places of the items of training and test, in order, and how far these are apart."""

    train: list[int]
    test: list[int]
    atom_divergence: float
    compound_divergence: float


def count_table(parts: Sequence[Sequence[str]]) -> csr_matrix:
    """Count how often each item has each part: (item, part)."""
    names = {name: number for number, name in enumerate(sorted({p for row in parts for p in row}))}
    ends = np.cumsum([0, *map(len, parts)])
    columns = [names[part] for row in parts for part in row]
    shape = (len(parts), max(len(names), 1))
    return csr_matrix((np.ones(len(columns)), columns, ends), shape=shape)


def divergence(train: NDArray[np.float64], test: NDArray[np.float64], alpha: float) -> float:
    """Return 1 - sum_k p_k^alpha q_k^(1 - alpha) of the shares p and q that these counts are.

    Example:
        >>> one, other = np.array([1.0, 1.0]), np.array([2.0, 0.0])
        >>> divergence(one, one, 0.5), round(divergence(one, other, 0.5), 3)
        (0.0, 0.293)
    """
    p, q = train / train.sum(), test / test.sum()
    return float(max(0.0, 1 - (p**alpha * q ** (1 - alpha)).sum()))


def _slopes(
    train: NDArray[np.float64], test: NDArray[np.float64], alpha: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how the divergence grows with each count of training, and of the test."""
    p, q = (np.maximum(side / side.sum(), SMALLEST) for side in (train, test))
    overlap = (p**alpha * q ** (1 - alpha)).sum()
    by_train = -alpha * (p ** (alpha - 1) * q ** (1 - alpha) - overlap) / train.sum()
    by_test = -(1 - alpha) * (p**alpha * q**-alpha - overlap) / test.sum()
    return by_train, by_test


def measure(
    atoms: csr_matrix, compounds: csr_matrix, train: NDArray[np.bool_], test: NDArray[np.bool_]
) -> tuple[float, float]:
    """Return the divergences of atoms and of compounds between two sets of items."""
    sides = [(table.T @ train.astype(float), table.T @ test.astype(float)) for table in
             (atoms, compounds)]  # fmt: skip
    return divergence(*sides[0], ATOM_ALPHA), divergence(*sides[1], COMPOUND_ALPHA)


def divergent_split(
    atoms: Sequence[Sequence[str]],
    compounds: Sequence[Sequence[str]],
    *,
    num_train: int,
    num_test: int,
    rng: np.random.Generator,
    max_atom_divergence: float = 0.02,
) -> Divided:
    """Divide items so that compounds differ as much as can be found while atoms hardly do.

    First compounds are reserved for the test, one by one, as long as that helps: training gets the
    items with the smallest share of reserved compounds, the test those with the largest. Then items
    are exchanged between training, test and the items that neither has, those that promise most,
    many at first, fewer when an exchange no longer helps. keysers2020 builds both sets up item by
    item instead.

    Args:
        atoms: Of each item.
        compounds: Of each item.
        num_train: Items of training.
        num_test: Items of the test; the two may leave some out.
        rng: Source of what is tried.
        max_atom_divergence: Up to here atoms may differ at no cost; keysers2020 has 0.02.

    Raises:
        UserError: There are fewer items than are asked for.

    Example:
        >>> words = [[a, b] for a in "abcd" for b in "wxyz"]
        >>> pairs = [["".join(row)] for row in words]
        >>> found = divergent_split(words, pairs, num_train=8, num_test=8,
        ...     rng=np.random.default_rng(0))
        >>> round(found.compound_divergence, 2), found.atom_divergence <= 0.02
        (1.0, True)
    """
    if min(num_train, num_test) < 1 or num_train + num_test > len(atoms):
        raise UserError(
            f"divergent_split: num_train and num_test must be at least 1 and at most {len(atoms)} "
            f"together; got {num_train} and {num_test}."
        )
    tables = count_table(atoms), count_table(compounds)

    def score(side: NDArray[np.int64]) -> float:
        of_atoms, of_compounds = measure(*tables, side == 0, side == 1)
        return of_compounds - PENALTY * max(0.0, of_atoms - max_atom_divergence)

    side = _reserve(tables[1], num_train, num_test, score, rng)
    best = score(side)
    for one, other in _exchanges(num_train, num_test, len(atoms)):
        number = min((side == one).sum(), (side == other).sum())
        while number:
            gains = _gains(tables, side, max_atom_divergence)
            profit = gains[other] - gains[one]
            leaving = _largest(np.where(side == one, profit, -np.inf), number)
            coming = _largest(np.where(side == other, -profit, -np.inf), number)
            tried = side.copy()
            tried[leaving], tried[coming] = other, one
            value = score(tried)
            if value > best + 1e-9:
                side, best = tried, value
            else:
                number //= 2
    of_atoms, of_compounds = measure(*tables, side == 0, side == 1)
    train, test = (np.flatnonzero(side == which).tolist() for which in (0, 1))
    return Divided(train, test, of_atoms, of_compounds)


def _reserve(
    compounds: csr_matrix, num_train: int, num_test: int,
    score: Callable[[NDArray[np.int64]], float], rng: np.random.Generator,
) -> NDArray[np.int64]:  # fmt: skip
    """Return the side of each item (0: training, 1: test, 2: neither) after reserving compounds."""
    num_items, num_compounds = compounds.shape
    sizes = np.maximum(np.asarray(compounds.sum(1)).ravel(), 1)
    chance = rng.random(num_items) * 1e-6  # equal shares are ordered by it
    reserved = np.zeros(num_compounds)

    def divided() -> NDArray[np.int64]:
        order = np.argsort(compounds @ reserved / sizes + chance)
        side = np.full(num_items, 2)
        side[order[:num_train]], side[order[num_items - num_test :]] = 0, 1
        return side

    best, vain = score(divided()), 0
    while vain < PATIENCE and reserved.sum() < MOST_RESERVED:
        tried = rng.permutation(num_compounds)[:TRIED]
        values = []
        for one in tried:
            reserved[one] = 1 - reserved[one]
            values.append(score(divided()))
            reserved[one] = 1 - reserved[one]
        if max(values) <= best:
            vain += 1
            continue
        best, vain = max(values), 0
        chosen = tried[int(np.argmax(values))]
        reserved[chosen] = 1 - reserved[chosen]
    return divided()


def _exchanges(num_train: int, num_test: int, num_items: int) -> list[tuple[int, int]]:
    rounds = [(0, 1)] if num_train + num_test == num_items else [(0, 1), (1, 2), (0, 2)]
    return rounds * 2


def _largest(values: NDArray[np.float64], number: int) -> NDArray[np.int64]:
    return np.argsort(-values, kind="stable")[:number]


def _gains(
    tables: tuple[csr_matrix, csr_matrix], side: NDArray[np.int64], max_atom_divergence: float
) -> list[NDArray[np.float64]]:
    """Return what each item adds to the score in training, in the test, and left out."""
    gains = [np.zeros(len(side)) for _ in range(3)]
    for table, alpha in zip(tables, (ATOM_ALPHA, COMPOUND_ALPHA), strict=True):
        train, test = (table.T @ (side == which).astype(float) for which in (0, 1))
        factor = 1.0
        if alpha == ATOM_ALPHA:
            factor = -PENALTY if divergence(train, test, alpha) > max_atom_divergence else 0.0
        for which, slope in enumerate(_slopes(train, test, alpha)):
            gains[which] += factor * (table @ slope)
    return gains
