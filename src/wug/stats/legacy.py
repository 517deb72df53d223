"""The fit behind the published intervals, step by step as the reference's R code takes it.

R's `optim` (L-BFGS-B on finite differences), `numDeriv::hessian`, and the profile and spline of
`bbmle::confint`, with their default settings. None of them scales the parameters, which is why
the published intervals are not those of the likelihood; the published tables show the traces.
Use it to compare with them and for nothing else.

Departures from R, none visible in three digits: not-a-knot instead of fmm splines; a plain
central difference for the Hessian instead of its Richardson extrapolation; no extra half steps
when a profile has fewer than five points.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize
from scipy.special import chdtri, ndtri

Point = NDArray[np.float64]
Objective = Callable[[Point], float]

_EPSILON = float(np.finfo(np.float64).eps)
_GRADIENT_STEP = 1e-3  # optim's ndeps, absolute whatever the size of the parameter
_REDUCTION = 1e7 * _EPSILON  # optim's factr
_HESSIAN_ZERO = math.sqrt(_EPSILON / 7e-7)  # numDeriv's zero.tol, 1.78e-5
_HESSIAN_STEP = 0.1 / 16.0  # half of numDeriv's finest relative step; two make a difference
_PINV_CUTOFF = math.sqrt(_EPSILON)  # MASS::ginv's tol
_REACH = math.sqrt(float(chdtri(2.0, 0.005)))  # bbmle's zmax at alpha 0.01, two parameters
_STRIDE = _REACH / 5.0  # bbmle's del, in standard errors
_MAX_STEPS = 99
_FRACTIONS = (0.2, 0.4, 0.6, 0.8, 0.9)  # of the step that would cross a bound
_BETTER = 1e-3  # bbmle's tol.newmin, in units of deviance
_MAX_REFITS = 50


def profile_as_published(
    objective: Objective,
    start: Sequence[float],
    lower: Sequence[float],
    upper: Sequence[float],
    confidence: float,
) -> tuple[float, float, float] | None:
    """Fit two parameters, then profile the first: its value, low and high.

    Args:
        objective: Negative log-likelihood of (first, second); where it is undefined it may raise
            an arithmetic or value error.
        start: Where the optimiser starts.
        lower: Lower bounds.
        upper: Upper bounds.
        confidence: Confidence level.

    Returns:
        None if there is no standard error to step with (the reference then uses Student's t). A
        limit that the profile does not reach is NaN, R's NA.
    """
    bounds = np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64)
    point = np.clip(np.array(start, dtype=np.float64), *bounds)
    if not np.isfinite(point).all():
        return None

    def guarded(at: Point) -> float:
        try:
            result = objective(at)
        except (ArithmeticError, ValueError):
            return math.inf
        return math.inf if math.isnan(result) else result

    with np.errstate(all="ignore"):
        for _ in range(_MAX_REFITS):
            point, lowest = _descend(guarded, point, *bounds)
            error = _standard_error(guarded, point)
            if not (math.isfinite(lowest) and 0.0 < error < math.inf):
                return None
            profile = _profile(guarded, point, lowest, error, *bounds)
            if isinstance(profile, dict):
                return (float(point[0]), *_invert(profile, confidence))
            point = profile
    return None


def _descend(objective: Objective, start: Point, lower: Point, upper: Point) -> tuple[Point, float]:
    """Run L-BFGS-B as `optim` does; return where it stopped and the objective there."""

    def gradient(point: Point) -> Point:
        ahead = np.minimum(_GRADIENT_STEP, upper - point)
        behind = np.minimum(_GRADIENT_STEP, point - lower)
        axes = np.eye(point.size)
        rise = [
            objective(point + step * axis) - objective(point - back * axis)
            for axis, step, back in zip(axes, ahead, behind, strict=True)
        ]
        slope: Point = np.array(rise) / (ahead + behind)
        return slope

    # With bounds the first step is at most the plain gradient, and on badly scaled problems the
    # first step is the last. Taking it here saves most of the time.
    here, slope = objective(start), gradient(start)
    step = np.clip(start - slope, lower, upper) - start
    there = objective(start + step)
    gain, expected = here - there, -float(slope @ step)
    short = float(step @ step) <= 1.0 and gain >= 1e-3 * expected
    if short and gain <= _REDUCTION * max(abs(here), abs(there), 1.0):
        return start + step, there
    found = minimize(
        objective,
        start,
        jac=gradient,
        method="L-BFGS-B",
        bounds=np.stack([lower, upper], axis=1),
        options={"maxcor": 5, "ftol": _REDUCTION, "gtol": 0.0, "maxiter": 100},
    )
    return found.x, float(found.fun)


def _standard_error(objective: Objective, point: Point) -> float:
    """Return the first parameter's standard error, NaN where numDeriv's Hessian would be."""
    # Below this size numDeriv steps by 1e-4, hence to a negative parameter.
    if np.abs(point).min() < _HESSIAN_ZERO:
        return math.nan
    first, second = np.diag(_HESSIAN_STEP * np.abs(point))

    def curvature(one: Point, other: Point) -> float:
        corners = objective(point + one + other) + objective(point - one - other)
        return corners - objective(point + one - other) - objective(point - one + other)

    mixed = curvature(first, second)
    hessian = (
        np.array([[curvature(first, first), mixed], [mixed, curvature(second, second)]])
        / np.outer(first + second, first + second)
        / 4.0
    )
    if not np.isfinite(hessian).all():
        return math.nan
    variance = float(np.linalg.pinv(hessian, rcond=_PINV_CUTOFF)[0, 0])
    return math.sqrt(variance) if variance > 0.0 else float(np.sqrt(1.0 / hessian[0, 0]))


def _profile(
    objective: Objective, fit: Point, lowest: float, error: float, lower: Point, upper: Point
) -> dict[float, float] | Point:
    """Walk both ways from the fit: signed root deviance by parameter, or a better point."""
    profile = {float(fit[0]): 0.0}
    for sign, bound in ((-1.0, lower[0]), (1.0, upper[0])):
        room = abs(bound - fit[0]) / (_STRIDE * error)
        whole = int(min(room, _MAX_STEPS))
        offsets: list[float] = [*range(1, whole + 1)]
        if room < _MAX_STEPS:
            offsets += [whole + part for part in _FRACTIONS if whole + part < room] + [room]
        for offset in offsets:
            value = float(np.clip(fit[0] + sign * offset * _STRIDE * error, lower[0], upper[0]))
            held = partial(_with_first, objective, value)
            nuisance, height = _descend(held, fit[1:], lower[1:], upper[1:])
            deviance = 2.0 * (height - lowest)
            if deviance <= -_BETTER:
                return np.array([value, nuisance[0]])
            if math.isfinite(deviance):
                profile[value] = sign * math.sqrt(max(deviance, 0.0))
            if not deviance < _REACH**2:
                break
    return profile


def _with_first(objective: Objective, first: float, rest: Point) -> float:
    return objective(np.array([first, rest[0]]))


def _invert(profile: dict[float, float], confidence: float) -> tuple[float, float]:
    """Read both limits off a spline through the profile, or off its chords if that bends back."""
    values, roots = (np.array(column) for column in zip(*sorted(profile.items()), strict=True))
    if values.size > 1 and (np.diff(roots) >= 0.0).all():
        grid = np.linspace(values[0], values[-1], 3 * values.size)
        smooth = CubicSpline(values, roots)(grid)
        if (np.diff(smooth) >= 0.0).all():
            values, roots = grid, smooth
    order = np.argsort(roots, kind="stable")
    cutoff = float(ndtri(0.5 + confidence / 2.0))
    low, high = np.interp(
        [-cutoff, cutoff], roots[order], values[order], left=math.nan, right=math.nan
    )
    return float(low), float(high)
