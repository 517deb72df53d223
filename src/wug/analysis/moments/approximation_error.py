"""How far NAC•'s mean is from its approximation (Madsen and Johansen, 2020, figure 5).

The paper expands the mean of one factor, (|z| + epsilon)^W, to second order around the means of z
and W. Here that is compared with the exact mean for W from U(-r_w, r_w) and z from U(0, r_z), and
with the sample mean that the figure shows. (The NMU needs no such figure: its mean is exact.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wug.analysis.moments.layer_moments import nac_mul_moments
from wug.core.errors import UserError, require_at_least

# Gauss-Legendre nodes: the integrand is smooth, so these give all digits.
NODES, WEIGHTS = np.polynomial.legendre.leggauss(64)

Floats = NDArray[np.float64]


def approximate_mean(weight_radius: float, input_limit: float, *, epsilon: float = 1e-7) -> float:
    """Return the paper's approximation of E[(|z| + epsilon)^W].

    Equation (madsen2020, Eq. 43): 1 + Var[W] log(|E[z]| + epsilon)^2 / 2, with Var[W] = r_w^2 / 3
    and E[z] = r_z / 2.

    Args:
        weight_radius: r_w.
        input_limit: r_z.
        epsilon: Of NAC•.

    Example:
        >>> round(approximate_mean(0.5, 50.0), 4)
        1.4317
    """
    return nac_mul_moments(
        1, weight_variance=weight_radius**2 / 3, input_mean=input_limit / 2, epsilon=epsilon
    ).mean


def exact_mean(weight_radius: float, input_limit: float, *, epsilon: float = 1e-7) -> float:
    """Return E[(|z| + epsilon)^W] for W from U(-r_w, r_w) and z from U(0, r_z).

    The integral over z is ((r_z + epsilon)^(W + 1) - epsilon^(W + 1)) / (r_z (W + 1)); that over W
    is done by quadrature.

    Args:
        weight_radius: r_w, below 1, or the mean is infinite as epsilon goes to 0.
        input_limit: r_z, above 0.
        epsilon: Of NAC•.

    Raises:
        UserError: If a limit is out of its range.

    Example:
        >>> round(exact_mean(0.5, 50.0), 4)
        1.4559
    """
    if not 0 <= weight_radius < 1:
        raise UserError(f"exact_mean: weight_radius must be in [0, 1); got {weight_radius}.")
    if not input_limit > 0:
        raise UserError(f"exact_mean: input_limit must be above 0; got {input_limit}.")
    require_at_least("exact_mean", "epsilon", epsilon, 0)
    power = 1 + weight_radius * NODES
    means = ((input_limit + epsilon) ** power - epsilon**power) / (input_limit * power)
    return float(WEIGHTS @ means / 2)


def sampled_mean(
    weight_radius: float,
    input_limit: float,
    *,
    rng: np.random.Generator,
    epsilon: float = 1e-7,
    samples: int = 100_000,
) -> tuple[float, float]:
    """Return the sample mean of (|z| + epsilon)^W, as the figure has it, and its standard error.

    Args:
        weight_radius: r_w.
        input_limit: r_z.
        rng: Source of the samples.
        epsilon: Of NAC•.
        samples: How many; the figure has 100,000.
    """
    weights = rng.uniform(-weight_radius, weight_radius, samples)
    values = (rng.uniform(0, input_limit, samples) + epsilon) ** weights
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(samples))


def approximation_error(
    weight_radii: ArrayLike, input_limits: ArrayLike, *, epsilon: float = 1e-7
) -> Floats:
    """Return approximation minus exact mean on a grid, which figure 5 estimates.

    Args:
        weight_radii: Values of r_w; the figure has 0 to 0.5.
        input_limits: Values of r_z; the figure has 0 to 50.
        epsilon: Of NAC•.

    Returns:
        The errors, (limit, radius).

    Example:
        >>> approximation_error([0.1, 0.5], [1.0], epsilon=0.0).round(4)
        array([[-0.0026, -0.0786]])
    """
    return np.array(
        [
            [
                approximate_mean(radius, limit, epsilon=epsilon)
                - exact_mean(radius, limit, epsilon=epsilon)
                for radius in np.asarray(weight_radii, np.float64).tolist()
            ]
            for limit in np.asarray(input_limits, np.float64).tolist()
        ]
    )
