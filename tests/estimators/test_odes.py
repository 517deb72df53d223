"""Systems of differential equations are found from their solutions."""

import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp

from wug.core.errors import UserError
from wug.estimators.data import Limits
from wug.estimators.odes import derivatives, find_odes


def test_predators_and_prey() -> None:
    times = np.linspace(0, 10, 400)
    trajectories = []
    for start in ([1.0, 2.0], [2.0, 0.7]):
        solved = solve_ivp(
            lambda _, s: [s[0] * (1.5 - s[1]), s[1] * (s[0] - 0.75)], (0, 10), start,
            t_eval=times, rtol=1e-10, atol=1e-12,
        )  # fmt: skip
        trajectories.append((times, solved.y.T))
    system = find_odes(trajectories, ["prey", "predators"], seconds=20)
    prey, predators = sympy.symbols("prey predators", real=True)
    expected = (prey * (1.5 - predators), predators * (prey - 0.75))
    for found, true in zip(system.expressions, expected, strict=True):
        assert sympy.nsimplify(sympy.expand(found - true), rational=True) == 0
    assert system.found == (True, True)
    start = np.array([1.3, 1.1])
    again = system.solve(start, times)
    truth = solve_ivp(
        lambda _, s: [s[0] * (1.5 - s[1]), s[1] * (s[0] - 0.75)], (0, 10), start, t_eval=times,
        rtol=1e-10, atol=1e-12,
    )  # fmt: skip
    np.testing.assert_allclose(again, truth.y.T, rtol=1e-4)


def test_derivatives_of_a_spline() -> None:
    times = np.linspace(0, 3, 200)
    states, slopes = derivatives(times, np.sin(times)[:, None])
    np.testing.assert_allclose(slopes[:, 0] ** 2 + states[:, 0] ** 2, 1, rtol=1e-7)


def test_too_few_points_are_refused() -> None:
    with pytest.raises(UserError, match="at least 12 points"):
        find_odes([(np.arange(5.0), np.ones((5, 1)))], ["x"])


def test_a_pendulum_is_no_cubic() -> None:
    times = np.linspace(0, 20, 300)
    solved = solve_ivp(
        lambda _, s: [s[1], -np.sin(s[0])], (0, 20), [1.0, 0.3], t_eval=times, rtol=1e-9, atol=1e-10
    )  # fmt: skip
    seen: list[str] = []
    system = find_odes(
        [(times, solved.y.T)], ["angle", "speed"], seconds=20,
        on_better=lambda name, _: seen.append(name),
    )  # fmt: skip
    assert str(system) == "angle' = speed\nspeed' = -sin(angle)"
    assert system.approximate == (False, False) and max(system.errors) < 1e-6
    assert set(seen) == {"angle", "speed"}
    limits = Limits(functions=())
    cubic = find_odes([(times, solved.y.T)], ["angle", "speed"], seconds=20, limits=limits)
    assert cubic.approximate == (False, True)
