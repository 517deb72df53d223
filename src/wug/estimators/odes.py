"""Differential equations from trajectories: the right-hand side of each variable as a formula.

A spline through the states gives their derivatives; these are the targets and the states are the
inputs of the same search as for tables. Derivatives are never known to the last digit: a formula
that is as close to them as the trajectories are accurate is found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wug.core.errors import UserError
from wug.estimators.candidate import Array, Candidate
from wug.estimators.constants import constants_of, free_constants, with_constants
from wug.estimators.data import Limits
from wug.estimators.readable import readable
from wug.estimators.search import CLOCK, Search
from wug.estimators.snapping import simple_numbers

DEGREE = 5
# Share of the points at both ends where a spline's derivative is not to be trusted.
EDGE = 0.04
FEWEST_POINTS = 12
# Relative move of a number to one of fewer digits.
ROUNDED = 3e-4


@dataclass(frozen=True)
class System:
    """Differential equations x_i' = f_i(x).

    Args:
        names: Of the variables.
        formulas: Right-hand sides.
        found: Whether each is as close to the derivatives as the trajectories are accurate.
    """

    names: tuple[str, ...]
    formulas: tuple[Candidate, ...]
    found: tuple[bool, ...]

    @property
    def expressions(self) -> list[Any]:
        """The right-hand sides in SymPy."""
        return [readable(one.expression(list(self.names))) for one in self.formulas]

    def __str__(self) -> str:
        pairs = zip(self.names, self.expressions, strict=True)
        return "\n".join(f"{name}' = {expression}" for name, expression in pairs)

    def solve(self, start: Array, times: Array) -> Array:
        """Return the states at these times, (time, variable); NaN once a solution breaks down.

        Args:
            start: At the first of the times, (variable,).
            times: Increasing.
        """
        from scipy.integrate import solve_ivp

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
) -> System:
    """Find the differential equations that trajectories follow.

    Args:
        trajectories: Times (time,) and states (time, variable) of each.
        names: Of the variables.
        limits: What a formula may contain; everything if not given.
        accuracy: Of the derivatives, as a share of their deviation. Solvers of differential
            equations with common tolerances give about 1e-5.
        seconds: For all variables together.
        seed: Of the search.
        clock: Seconds since some time.

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
    formulas, found = [], []
    for target in slopes.T:
        search = Search(
            inputs=states, target=np.ascontiguousarray(target), limits=limits, seed=seed,
            seconds=seconds / slopes.shape[1], accuracy=accuracy, clock=clock or CLOCK,
        )  # fmt: skip
        search.run()
        formulas.append(with_simple_numbers(search, accuracy))
        found.append(search.best.met)
    return System(tuple(names), tuple(formulas), tuple(found))
