"""How many problems of each length a set has: equally many, as far as there are as many."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from wug.core.errors import UserError


def require_enough(total: int, available: int) -> None:
    """Raise where more problems are asked for than there are."""
    if total > available:
        raise UserError(
            f"{total:,} problems were asked for, of {available:,} that there are; "
            "ask for fewer or allow for longer ones."
        )


def equal_shares(total: int, limits: Mapping[int, int]) -> dict[int, int]:
    """Share out a total equally, as far as limits allow.

    Args:
        total: What the shares add up to.
        limits: Largest share of each length.

    Raises:
        UserError: The limits add up to less.

    Example:
        >>> equal_shares(100, {1: 8, 2: 64, 3: 512})
        {1: 8, 2: 46, 3: 46}
    """
    require_enough(total, sum(limits.values()))
    shares = dict(limits)
    left = total
    for place, length in enumerate(sorted(limits, key=lambda one: limits[one])):
        shares[length] = min(limits[length], -(-left // (len(limits) - place)))
        left -= shares[length]
    return shares


def proportional_shares(total: int, sizes: Mapping[int, int]) -> dict[int, int]:
    """Share out a total in proportion to sizes; no share is above its size.

    Raises:
        UserError: The sizes add up to less.

    Example:
        >>> proportional_shares(10, {2: 100, 3: 200, 4: 200})
        {2: 2, 3: 4, 4: 4}
    """
    require_enough(total, sum(sizes.values()))
    ends = np.cumsum([0, *sizes.values()]) * total // max(sum(sizes.values()), 1)
    return dict(zip(sizes, np.diff(ends).tolist(), strict=True))


def iid_shares(
    num_train: int, num_validation: int, possible: Mapping[int, int]
) -> tuple[dict[int, int], dict[int, int]]:
    """Share out training and IID validation problems over lengths.

    All single functions are for training. Of the other lengths as many are taken as far as there
    are as many, and of these the validation set in proportion.

    Args:
        num_train: Number of training problems.
        num_validation: Number of IID validation problems.
        possible: Number of problems that there are of each length.

    Returns:
        The shares of the training set and of the validation set.

    Example:
        >>> iid_shares(100, 20, {1: 8, 2: 32, 3: 256})
        ({1: 8, 2: 27, 3: 65}, {1: 0, 2: 5, 3: 15})
    """
    singles = possible.get(1, 0)
    composed = {length: count for length, count in possible.items() if length > 1}
    pool = equal_shares(num_train + num_validation - singles, composed)
    validation = proportional_shares(num_validation, pool)
    train = {length: pool[length] - validation[length] for length in pool}
    return ({1: singles} | train, {1: 0} | validation) if singles else (train, validation)
