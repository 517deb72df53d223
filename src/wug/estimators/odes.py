"""Differential equations from trajectories: the right-hand side of each variable as a formula.

A spline through the states gives their derivatives; these are the targets and the states are the
inputs of the same search as for tables. How far two splines of the same points are apart says how
well the derivatives are known: a formula that is as close as that is found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wug.core.errors import UserError
from wug.estimators.candidate import Array, Candidate
from wug.estimators.data import Limits
from wug.estimators.exactness import UNIT
from wug.estimators.front import readable
from wug.estimators.search import CLOCK, Search

DEGREE = 5
# Share of the points at both ends where a spline's derivative is not to be trusted.
EDGE = 0.04
FEWEST_POINTS = 12
LARGEST_UNIT = 1e-3


@dataclass(frozen=True)
class System:
    """Differential equations x_i' = f_i(x).

    Args:
        names: Of the variables.
        formulas: Right-hand sides.
        found: Whether each is as close to the derivatives as these are known.
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


def derivatives(times: Array, states: Array) -> tuple[Array, Array, float]:
    """Return states away from the ends, their derivatives, and how well these are known.

    Args:
        times: Increasing, (time,).
        states: (time, variable).

    Returns:
        States and derivatives, (time, variable), and the relative error of the derivatives.
    """
    from scipy.interpolate import make_interp_spline

    if len(times) < FEWEST_POINTS or (np.diff(times) <= 0).any():
        raise UserError(
            f"odes: a trajectory must have at least {FEWEST_POINTS} points at increasing times; "
            f"got {len(times)}."
        )
    fine = make_interp_spline(times, states, k=DEGREE).derivative()
    coarse = make_interp_spline(times[::2], states[::2], k=DEGREE).derivative()
    edge = max(2, round(EDGE * len(times)))
    inside = slice(edge, -edge)
    slopes = fine(times[inside])
    size = np.abs(slopes).max(0) + 1e-300
    # Twice as many points lower the error of a quintic's derivative to a thirty-second.
    apart = np.quantile(np.abs(coarse(times[inside]) - slopes) / size, 0.9, axis=0) / 2**DEGREE
    return states[inside], slopes, float(apart.max())


def find_odes(
    trajectories: Sequence[tuple[Array, Array]],
    names: Sequence[str],
    *,
    limits: Limits | None = None,
    seconds: float = 30.0,
    seed: int = 0,
    clock: Callable[[], float] | None = None,
) -> System:
    """Find the differential equations that trajectories follow.

    Args:
        trajectories: Times (time,) and states (time, variable) of each.
        names: Of the variables.
        limits: What a formula may contain; everything if not given.
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
    unit = min(max(*(part[2] for part in parts), UNIT, 1e-9), LARGEST_UNIT)
    formulas, found = [], []
    for target in slopes.T:
        search = Search(
            inputs=states, target=np.ascontiguousarray(target), limits=limits, seed=seed,
            seconds=seconds / slopes.shape[1], unit=unit, clock=clock or CLOCK,
        )  # fmt: skip
        search.run()
        formulas.append(search.best.candidate)
        found.append(search.best.met)
    return System(tuple(names), tuple(formulas), tuple(found))
