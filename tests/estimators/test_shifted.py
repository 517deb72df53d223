"""Peaks, oscillations and bent lines are found with all of their numbers."""

import time

import numpy as np
import pytest
import sympy
import torch

from wug.estimators import ArithmeticRegressor, search
from wug.estimators.data import Data, Effort, Limits
from wug.estimators.network import module_of
from wug.estimators.saved import weights_from_json, weights_to_json
from wug.estimators.shifted import Shifted, ShiftedTimes, level_of, line_of

X = np.linspace(0.3, 9.1, 70)
LAWS = {
    "peak": 4.2 * np.exp(-0.7 * (X - 5.3) ** 2),
    "peak on a level": 4.2 * np.exp(-0.7 * (X - 5.3) ** 2) - 1.3,
    "wave": 2.3 * np.sin(3.1 * X + 0.7),
    "wave on a line": 2.3 * np.sin(3.1 * X + 0.7) + 0.4 * X - 1.7,
    "damped": 1.4 * np.exp(-0.3 * X) * np.cos(4 * X),
    "damped, with a phase": 1.4 * np.exp(-0.37 * X) * np.sin(4.1 * X - 1.1) + 0.6,
    "bent line": 1013.2 * (1 - 0.0226 * X) ** 5.25,
    "saturation": 338.0 * (1 - (1 + X / 51.28) ** -2),
    "slow saturation": 63.6 * (1 - 1 / np.sqrt(1 + 0.41 * X)),
    "to a level": 3.1 + 2.3 * (1 + X / 0.7) ** -0.37,
    "growth from a level": 2.9 * (1 + 0.21 * X) ** 0.8 - 2.9,
}


def solved(y: np.ndarray, **limits: object) -> float:
    """Return the smallest error of what the structure finds, relative to the target's spread."""
    limit = Limits(functions=("exp", "sin"), **limits)
    data = Data(inputs=X[:, None], target=y, limits=limit, weight=np.ones(len(y)))
    effort = Effort(torch.Generator(), 1, lambda: False)
    found = [one.predict(data.inputs) - y for one in Shifted().solve(data, effort)]
    return min((np.abs(error).max() / y.std() for error in found), default=np.inf)


@pytest.mark.parametrize("name", LAWS)
def test_laws_are_found(name: str) -> None:
    assert solved(LAWS[name]) < 1e-8


@pytest.mark.parametrize("name", ["peak on a level", "wave", "bent line"])
def test_one_input_before_a_curve_of_another(name: str) -> None:
    before = np.random.default_rng(1).uniform(1, 3, len(X))
    limits = Limits(functions=("exp", "sin"))
    data = Data(inputs=np.column_stack((before, X)), target=before * LAWS[name], limits=limits)
    effort = Effort(torch.Generator(), 1, lambda: False)
    found = [one.predict(data.inputs) - data.target for one in ShiftedTimes().solve(data, effort)]
    assert min(np.abs(error).max() for error in found) < 1e-8 * data.target.std()


def test_no_root_no_bent_line() -> None:
    whole = frozenset({"add", "sub", "mul", "div", "pow"})
    assert solved(LAWS["bent line"], operations=whole) > 1e-8


def test_a_line_below_a_power() -> None:
    candidate = line_of(2.0, 1.0, -3.0, 5.0)
    np.testing.assert_allclose(candidate.predict(X[:, None]), 5 * (2 * X + 1) ** -3.0)


def test_a_decay_through_noise_is_no_polynomial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "CLOCK", time.process_time)
    t = np.arange(30.0)
    counts = np.random.default_rng(5).poisson(1200 * np.exp(-t / 8.3)).astype(float)
    model = ArithmeticRegressor(time_budget=5, random_state=0).fit(t[:, None], counts)
    assert model.expression_.has(sympy.exp) and model.status_ == "noisy"
    beyond = np.array([[35.0], [40.0]])
    np.testing.assert_allclose(model.predict(beyond), 1200 * np.exp(-beyond[:, 0] / 8.3), rtol=0.2)


@pytest.mark.parametrize("factors", [[2.5], [2.5, 7.0]])
def test_a_level_is_printed_saved_and_computed_by_units(factors: list[float]) -> None:
    level, rows = level_of(0.5, -1.5, np.array(factors)), X[:, None]
    wanted = 2.5 * (1 + 0.5 * X) ** -1.5 + (factors[1] if len(factors) > 1 else -2.5)
    shown = sympy.lambdify("x", level.expression(["x"]))
    again = weights_from_json(weights_to_json(level))
    computed = module_of(level)(torch.from_numpy(rows)).detach().numpy()[:, 0]
    for values in (shown(X), level.predict(rows), again.predict(rows), computed):
        np.testing.assert_allclose(values, wanted, rtol=1e-13)
