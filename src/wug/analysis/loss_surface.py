"""The loss surface of multiplication after addition (Madsen and Johansen, 2020, figure 2).

Two layers learn (x1 + x2)(x1 + x2 + x3 + x4), each with a single free weight: w1 selects what is
added, w2 what is multiplied. With NAC• on top the surface has cliffs: where a sum is near 0 and w2
is negative, the prediction explodes, even for a large epsilon. With an NMU it is a polynomial.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wug.core.errors import UserError, require_at_least

# The input of the figure.
EXAMPLE = (1.0, 1.2, 1.8, 2.0)

Floats = NDArray[np.float64]


def nac_surface(
    first: ArrayLike,
    second: ArrayLike,
    *,
    epsilon: float = 1e-7,
    x: ArrayLike = EXAMPLE,
) -> Floats:
    """Return the RMS loss of NAC+ below NAC• on a grid of weights.

    Equation (madsen2020, Eq. 8 and figure 2): the loss of (|w1 a| + epsilon)^w2 (|w1 b| +
    epsilon)^w2 against a b, where a = x1 + x2 and b = x1 + x2 + x3 + x4.

    Args:
        first: Values of w1, in all places of the first layer that the solution selects.
        second: Values of w2, of both inputs of the second layer.
        epsilon: Of NAC•; the figure has 1e-7, 0.1 and 1.
        x: One input of four numbers, or several as rows.

    Returns:
        The losses, (second, first).

    Raises:
        UserError: If inputs do not have four numbers or epsilon is negative.

    Example:
        >>> nac_surface([1.0, 0.0], [1.0, -1.0], epsilon=0.1).round(2)
        array([[ 0.83, 13.19],
               [13.13, 86.8 ]])
    """
    require_at_least("nac_surface", "epsilon", epsilon, 0)
    sums, w1, w2 = _prepare("nac_surface", x, first, second)
    with np.errstate(divide="ignore", over="ignore"):  # a pole is infinite
        factors = (np.abs(w1 * sums) + epsilon) ** w2
    return _root_mean_square(factors.prod(0) - sums.prod(0))


def nmu_surface(first: ArrayLike, second: ArrayLike, *, x: ArrayLike = EXAMPLE) -> Floats:
    """Return the RMS loss of NAU below NMU on a grid of weights.

    Equation (madsen2020, Eq. 12): the loss of (w2 w1 a + 1 - w2)(w2 w1 b + 1 - w2) against a b.

    Args:
        first: Values of w1, as in `nac_surface`.
        second: Values of w2.
        x: One input of four numbers, or several as rows.

    Returns:
        The losses, (second, first).

    Example:
        >>> nmu_surface([1.0, 0.0], [1.0, -1.0]).round(2)
        array([[ 0. , 13.2],
               [12.4,  9.2]])
    """
    sums, w1, w2 = _prepare("nmu_surface", x, first, second)
    factors = w2 * w1 * sums + 1 - w2
    return _root_mean_square(factors.prod(0) - sums.prod(0))


def _prepare(
    owner: str, x: ArrayLike, first: ArrayLike, second: ArrayLike
) -> tuple[Floats, Floats, Floats]:
    """Return the two sums as (sum, row, 1, 1), w1 as (first,) and w2 as (second, 1)."""
    rows = np.atleast_2d(np.asarray(x, np.float64))
    if rows.ndim != 2 or rows.shape[1] != 4:
        raise UserError(f"{owner}: x must be rows of four numbers; got shape {rows.shape}.")
    sums = np.stack([rows[:, :2].sum(1), rows.sum(1)])[..., None, None]
    return sums, np.asarray(first, np.float64), np.asarray(second, np.float64)[:, None]


def _root_mean_square(differences: Floats) -> Floats:
    result: Floats = np.sqrt(np.square(differences).mean(0))
    return result
