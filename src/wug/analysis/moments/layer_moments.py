"""Expectation and variance of arithmetic layers and of their gradients (madsen2020, appendix B).

A layer takes independent inputs of one mean and one variance, and independent weights. Where the
moments that come out are those that went in, signals and gradients neither vanish nor explode:
the initial weights should have the variance for which that holds. That of NAC+'s weights (Eq. 29
and 38) is `wug.functional.nac_weight.nac_variance`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from wug.core.errors import UserError, require_at_least, require_choice

# Weights in [0, 1] of mean 1/2 can't vary more: half of them 0, half 1.
LARGEST_VARIANCE = 0.25
LARGEST_RADIUS = 1e6


@dataclass(frozen=True, kw_only=True)
class Moments:
    """Moments of an output z, and of its derivative by an input.

    Args:
        mean: E[z].
        variance: Var[z].
        slope_mean: E[dz/dx].
        slope_variance: Var[dz/dx].
    """

    mean: float
    variance: float
    slope_mean: float
    slope_variance: float

    def gradient(
        self, num_outputs: int, *, mean: float = 0.0, variance: float = 1.0
    ) -> tuple[float, float]:
        """Return mean and variance of the loss's gradient by an input.

        Equation (madsen2020, Eq. 59 and 62): the sum over outputs of dL/dz dz/dx, both
        uncorrelated, and the outputs among each other.

        Args:
            num_outputs: Number of outputs of the layer.
            mean: E[dL/dz]; other than 0, outputs are correlated by the inputs that they share, and
                the variance is an approximation.
            variance: Var[dL/dz].

        Example:
            >>> sum_moments(3, weight_variance=0.25).gradient(4)
            (0.0, 1.0)
        """
        slope_square = self.slope_variance + self.slope_mean**2
        spread = variance * slope_square + mean**2 * self.slope_variance
        return num_outputs * mean * self.slope_mean, num_outputs * spread


def sum_moments(
    num_inputs: int,
    *,
    weight_variance: float,
    input_mean: float = 0.0,
    input_variance: float = 1.0,
) -> Moments:
    """Moments of a weighted sum with weights of mean 0: NAC+ and NAU.

    With them, the conditions of madsen2020's Eq. 28 ask for a variance of 1 / num_inputs going
    forwards and 1 / num_outputs going backwards.

    Example:
        >>> sum_moments(4, weight_variance=0.25).variance
        1.0
    """
    _check("sum_moments", num_inputs, weight_variance, input_variance)
    square = input_variance + input_mean**2
    return Moments(
        mean=0.0,
        variance=num_inputs * weight_variance * square,
        slope_mean=0.0,
        slope_variance=weight_variance,
    )


def nac_mul_moments(
    num_inputs: int,
    *,
    weight_variance: float,
    input_mean: float,
    input_variance: float = 1.0,
    epsilon: float = 1e-7,
) -> Moments:
    """Moments of NAC•, z = exp(sum_i W_i log(|x_i| + epsilon)), with weights of mean 0.

    Equation (madsen2020, Eq. 44, 48, 50 and 52-54): with c = Var[W] log(|E[x]| + epsilon)^2,
    E[z] = (1 + c/2)^n and E[z^2] = (1 + 2c)^n. A second-order Taylor expansion around the means,
    for weights and inputs that vary little: the variance even comes out negative for c above 4. It
    explodes where E[x] is near 0, so that there is no good initial variance. In dz/dx = z W / x the
    paper takes z and W as uncorrelated, so that its mean is 0; it is Var[W] log|E[x]| / E[x] to
    first order.

    Example:
        >>> nac_mul_moments(100, weight_variance=0.02, input_mean=0.0).mean > 1e50
        True
    """
    _check("nac_mul_moments", num_inputs, weight_variance, input_variance)
    size = abs(input_mean) + epsilon
    c = weight_variance * math.log(size) ** 2
    mean, square = _power(1 + c / 2, num_inputs), _power(1 + 2 * c, num_inputs)
    return Moments(
        mean=mean,
        variance=square - _power(1 + c / 2, 2 * num_inputs),
        slope_mean=0.0,
        slope_variance=square * weight_variance * (size**-2 + 3 * input_variance * size**-4),
    )


def nmu_moments(
    num_inputs: int,
    *,
    weight_variance: float,
    weight_mean: float = 0.5,
    input_mean: float = 0.0,
    input_variance: float = 1.0,
) -> Moments:
    """Moments of the NMU, z = prod_i (W_i x_i + 1 - W_i).

    Equation (madsen2020, Eq. 55, 57, 59 and 64): products of the moments of one factor and, in the
    derivative, of one weight. No approximation is involved. For the default means these are Eq.
    56, 58, 60 and 67.

    Example:
        >>> nmu_moments(3, weight_variance=0.25).mean
        0.125
    """
    _check("nmu_moments", num_inputs, weight_variance, input_variance)
    weight_square = weight_variance + weight_mean**2
    # A factor is 1 + W (x - 1).
    shift = input_mean - 1
    factor = 1 + weight_mean * shift
    factor_square = 1 + 2 * weight_mean * shift + weight_square * (input_variance + shift**2)
    slope_mean = weight_mean * _power(factor, num_inputs - 1)
    return Moments(
        mean=_power(factor, num_inputs),
        variance=_power(factor_square, num_inputs) - _power(factor, 2 * num_inputs),
        slope_mean=slope_mean,
        slope_variance=weight_square * _power(factor_square, num_inputs - 1) - slope_mean**2,
    )


def nmu_weight_variance(
    num_inputs: int,
    num_outputs: int = 1,
    *,
    input_variance: float = 1.0,
    criterion: str = "forward",
) -> float:
    """Variance of NMU weights of mean 1/2 that keeps the variance of signals or of gradients.

    Equation (madsen2020, Eq. 69 and 70): the solutions of Eq. 58 and 68 for inputs of mean 0; both
    tend to 1/4 for many inputs of variance 1. (For variance 1, Eq. 71's last form prints an
    exponent n where only 1/n follows from its first.)

    Args:
        num_inputs: Number of inputs.
        num_outputs: Number of outputs; matters backwards only.
        input_variance: Variance of the inputs.
        criterion: ``"forward"`` keeps that of signals, ``"backward"`` that of gradients.

    Example:
        >>> round(nmu_weight_variance(100), 6), round(nmu_weight_variance(2, 1), 3)
        (0.25, 0.265)
    """
    _check("nmu_weight_variance", num_inputs, 0.0, input_variance)
    require_at_least("nmu_weight_variance", "num_outputs", num_outputs, 1)
    require_choice("nmu_weight_variance", "criterion", criterion, ("forward", "backward"))
    growth = 1 + input_variance
    if criterion == "forward":
        root: float = (input_variance + 4.0**-num_inputs) ** (1 / num_inputs) / growth
    else:
        root = (growth / num_outputs) ** (1 / num_inputs) / growth
    return root - 0.25


def clamped_radius(variance: float) -> float:
    """Half-width r for which U(1/2 - r, 1/2 + r), clamped to [0, 1], has that variance.

    Up to 1/12 nothing is clamped; near 1/4 almost everything is, to a coin's 0 and 1.

    Example:
        >>> clamped_radius(1 / 48), clamped_radius(1 / 6)
        (0.25, 1.0)
    """
    if not 0 <= variance <= LARGEST_VARIANCE:
        raise UserError(
            f"clamped_radius: variance must be in [0, {LARGEST_VARIANCE}]; got {variance}."
        )
    if variance <= 1 / 12:
        return math.sqrt(3 * variance)
    return 1 / max(3 - 12 * variance, 1 / LARGEST_RADIUS)


@torch.no_grad()
def fill_nmu(
    weight: Tensor,
    generator: torch.Generator | None,
    *,
    input_variance: float = 1.0,
    criterion: str = "forward",
) -> Tensor:
    """Fill NMU weights with values in [0, 1] of mean 1/2 and the variance that the paper derives.

    That variance is moved into [0, 1/4] first, the ones that such weights can have.

    Args:
        weight: (out, in).
        generator: Source of randomness.
        input_variance: Variance of the inputs.
        criterion: As in `nmu_weight_variance`.
    """
    num_outputs, num_inputs = weight.shape
    variance = nmu_weight_variance(
        num_inputs, num_outputs, input_variance=input_variance, criterion=criterion
    )
    radius = clamped_radius(min(max(variance, 0.0), LARGEST_VARIANCE))
    return weight.uniform_(0.5 - radius, 0.5 + radius, generator=generator).clamp_(0, 1)


def _check(owner: str, num_inputs: int, weight_variance: float, input_variance: float) -> None:
    require_at_least(owner, "num_inputs", num_inputs, 1)
    require_at_least(owner, "weight_variance", weight_variance, 0)
    require_at_least(owner, "input_variance", input_variance, 0)


def _power(base: float, exponent: int) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return math.inf
