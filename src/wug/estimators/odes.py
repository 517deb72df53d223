"""Differential equations from trajectories: the right-hand side of each variable as a formula.

A spline through the states gives their derivatives; these are the targets and the states are the
inputs of the same search as for tables. Derivatives are never known to the last digit: a formula
that is as close to them as the trajectories are accurate is found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from wug.core.errors import UserError
from wug.estimators.candidate import Array, Candidate
from wug.estimators.constants import constants_of, free_constants, with_constants
from wug.estimators.data import Limits
from wug.estimators.readable import readable
from wug.estimators.scoring import Scored
from wug.estimators.search import CLOCK, Search
from wug.estimators.snapping import simple_numbers

DEGREE = 5
# Share of the points at both ends where a spline's derivative is not to be trusted.
EDGE = 0.04
FEWEST_POINTS = 12
# A formula approximates if it leaves more than so many times what the spline may be off, and than
# the smallest error that is told apart from that of a solver.
TIMES_OFF, LEAST_OFF = 10.0, 1e-6
# Relative move of a number to one of fewer digits.
ROUNDED = 3e-4


@dataclass(frozen=True)
class System:
    """Differential equations x_i' = f_i(x).

    Args:
        names: Of the variables.
        formulas: Right-hand sides; of the first variables alone if the search was interrupted.
        found: Whether each is as close to the derivatives as the trajectories are accurate.
        errors: Root mean square error of each, as a share of the derivative's deviation.
        approximate: Whether each leaves more than the derivatives are off, as far as is known.
        interrupted: Whether the search was interrupted (Ctrl-C).
    """

    names: tuple[str, ...]
    formulas: tuple[Candidate, ...]
    found: tuple[bool, ...]
    errors: tuple[float, ...] = ()
    approximate: tuple[bool, ...] = ()
    interrupted: bool = False

    @property
    def expressions(self) -> list[Any]:
        """The right-hand sides in SymPy."""
        return [readable(one.expression(list(self.names))) for one in self.formulas]

    def __str__(self) -> str:
        pairs = zip(self.names, self.expressions, strict=False)
        return "\n".join(f"{name}' = {expression}" for name, expression in pairs)

    def solve(self, start: Array, times: Array) -> Array:
        """Return the states at these times, (time, variable); NaN once a solution breaks down.

        Args:
            start: At the first of the times, (variable,).
            times: Increasing.
        """
        from scipy.integrate import solve_ivp

        if len(self.formulas) < len(self.names):
            missing = ", ".join(self.names[len(self.formulas) :])
            raise UserError(
                f"odes: there is no equation for {missing}: the search was interrupted."
            )

        def slopes(_: float, state: Array) -> Array:
            return np.array([one.predict(state[None])[0] for one in self.formulas])

        states = np.full((len(times), len(self.names)), np.nan)
        try:
            solved = solve_ivp(
                slopes, (times[0], times[-1]), start, t_eval=times, rtol=1e-9, atol=1e-10,
                method="LSODA",
            )  # fmt: skip
        except (ValueError, ArithmeticError):
            return states
        states[: solved.y.shape[1]] = solved.y.T
        return states


def derivatives(times: Array, states: Array) -> tuple[Array, Array]:
    """Return states away from the ends and their derivatives, (time, variable).

    Args:
        times: Increasing, (time,).
        states: (time, variable).
    """
    from scipy.interpolate import make_interp_spline

    if len(times) < FEWEST_POINTS or (np.diff(times) <= 0).any():
        raise UserError(
            f"odes: a trajectory must have at least {FEWEST_POINTS} points at increasing times; "
            f"got {len(times)}."
        )
    edge = max(2, round(EDGE * len(times)))
    inside = slice(edge, -edge)
    slopes = make_interp_spline(times, states, k=DEGREE).derivative()(times[inside])
    return states[inside], np.asarray(slopes)


def off_by(times: Array, states: Array) -> Array:
    """Return by how much the derivatives of a spline may be off at each point, (time, variable).

    A spline through every second point is off by far more, and that shows.

    Args:
        times: Increasing, (time,).
        states: (time, variable).
    """
    if len(times) < 2 * FEWEST_POINTS:
        return np.full_like(derivatives(times, states)[0], np.inf)
    from scipy.interpolate import make_interp_spline

    edge = max(2, round(EDGE * len(times)))
    inside = times[edge:-edge]
    coarse = make_interp_spline(times[::2], states[::2], k=DEGREE).derivative()(inside)
    return np.asarray(np.abs(coarse - derivatives(times, states)[1]))


def trajectories_of(times: Array, states: Array) -> list[tuple[Array, Array]]:
    """Part rows into trajectories: where time does not go on another one begins.

    Args:
        times: (row,).
        states: (row, variable).

    Example:
        >>> [len(t) for t, _ in trajectories_of(np.array([0.0, 1, 2, 0, 1]), np.ones((5, 1)))]
        [3, 2]
    """
    if not (np.isfinite(times).all() and np.isfinite(states).all()):
        raise UserError("odes: times and states must be finite numbers in every row.")
    starts = np.flatnonzero(np.diff(times) <= 0) + 1
    return list(zip(np.split(times, starts), np.split(states, starts), strict=True))


def with_simple_numbers(search: Search, accuracy: float) -> Candidate:
    """Return the best formula with numbers of few digits where it stays as close.

    Args:
        search: That has ended.
        accuracy: Relative error of the target.
    """
    candidate = search.best.candidate
    bound = max(accuracy, 1.01 * search.best.relative_error)
    if not search.best.met:
        return candidate
    for index in np.flatnonzero(free_constants(candidate)):
        value = constants_of(candidate)[index]
        decimals = (float(f"{value:.{digits}g}") for digits in (1, 2, 3))
        for number in (*simple_numbers(value, ROUNDED), *decimals):
            if abs(number - value) > ROUNDED * abs(value) or not number:
                continue
            values = constants_of(candidate)
            values[index] = number
            rounded = with_constants(candidate, values)
            if search.errors_of(rounded)[0] <= bound:
                candidate = rounded
                break
    return candidate


def find_odes(
    trajectories: Sequence[tuple[Array, Array]],
    names: Sequence[str],
    *,
    limits: Limits | None = None,
    accuracy: float = 1e-4,
    seconds: float = 30.0,
    seed: int = 0,
    clock: Callable[[], float] | None = None,
    on_better: Callable[[str, Scored], None] | None = None,
) -> System:
    """Find the differential equations that trajectories follow.

    An interrupt (Ctrl-C) ends the search; what was found until then is returned.

    Args:
        trajectories: Times (time,) and states (time, variable) of each.
        names: Of the variables.
        limits: What a formula may contain; everything if not given.
        accuracy: Of the derivatives, as a share of their deviation. Solvers of differential
            equations with common tolerances give about 1e-5.
        seconds: For all variables together.
        seed: Of the search.
        clock: Seconds since some time.
        on_better: Called with the name of a variable and each better formula for it.

    Raises:
        UserError: If a trajectory has too few points or its times don't increase.

    Example:
        >>> t = np.linspace(0, 5, 200)
        >>> print(find_odes([(t, np.exp(-0.5 * t)[:, None])], ["x"], seconds=5))
        x' = -x/2
    """
    limits = limits or Limits(functions=("exp", "log", "sin", "cos", "tanh"))
    parts = [derivatives(np.asarray(t, float), np.asarray(x, float)) for t, x in trajectories]
    states = np.concatenate([part[0] for part in parts])
    slopes = np.concatenate([part[1] for part in parts])
    off = np.concatenate(
        [off_by(np.asarray(t, float), np.asarray(x, float)) for t, x in trajectories]
    )
    formulas, found, errors, approximate = [], [], [], []
    interrupted = False
    report = on_better or (lambda *_: None)
    for name, target, missed in zip(names, slopes.T, off.T, strict=True):
        share = float(np.sqrt(np.mean(missed**2))) / (float(np.std(target)) or 1.0)
        resolution = max(TIMES_OFF * share, LEAST_OFF)
        search = Search(
            inputs=states, target=np.ascontiguousarray(target), limits=limits, seed=seed,
            seconds=seconds / slopes.shape[1], accuracy=accuracy, clock=clock or CLOCK,
            resolution=resolution, on_better=partial(report, name),
        )  # fmt: skip
        search.run()
        formula = with_simple_numbers(search, accuracy)
        error = search.errors_of(formula)[0]
        formulas.append(formula)
        found.append(search.best.met)
        errors.append(error)
        approximate.append(not search.best.met or error > resolution)
        interrupted = search.interrupted
        if interrupted:
            break
    return System(
        tuple(names), tuple(formulas), tuple(found), tuple(errors), tuple(approximate), interrupted
    )
