"""Curves that are made of known numbers are found with these numbers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from wug.estimators.constants import constants_of
from wug.estimators.curves import Curves, pair_leaves, scales_of
from wug.estimators.data import Data, Effort, Limits

X = np.linspace(0.3, 6, 60)


def found(target: np.ndarray, inputs: np.ndarray, functions: tuple[str, ...]) -> list:
    """Return the curves of a table."""
    data = Data(inputs=inputs, target=target, limits=Limits(functions=functions))
    return list(Curves().solve(data, Effort(torch.Generator(), 8, lambda: False)))


@pytest.mark.parametrize(
    "target",
    [
        239 * (1 - np.exp(-0.55 * X)),
        702 / (1 + 36 * np.exp(-0.9 * X)),
        702 / (1 + 36 * np.exp(-0.9 * X)) ** (1 / 1.3),
        np.exp(-0.17 * X) / (0.005 + 0.012 * X),
        3 + 2 * X * np.exp(-1.3 * X),
        1.5 * np.tanh(0.7 * X) + 4 * X,
    ],
    ids=["saturation", "logistic", "generalised logistic", "decay", "ripple", "tanh"],
)
def test_a_curve_of_one_input_is_met(target: np.ndarray) -> None:
    candidates = found(target, X[:, None], ("exp", "tanh"))
    best = min(float(np.abs(one.predict(X[:, None]) / target - 1).max()) for one in candidates)
    assert best < 1e-7


def test_the_argument_may_be_a_product() -> None:
    inputs = np.random.default_rng(0).uniform(1, 3, (80, 2))
    target = 2.5 - 0.3 * inputs[:, 0] * np.exp(0.8 * inputs[:, 0] / inputs[:, 1])
    candidates = found(target, inputs, ("exp",))
    best = min(candidates, key=lambda one: np.abs(one.predict(inputs) - target).max())
    assert np.allclose(best.predict(inputs), target, rtol=1e-9)
    assert np.isclose(np.abs(constants_of(best)), 0.8).any()


def test_two_columns_leave_what_least_squares_leaves() -> None:
    generator = np.random.default_rng(1)
    first, second, target = (v / np.linalg.norm(v) for v in generator.normal(size=(3, 20)))
    matrix = np.stack((first, second), 1)
    left = target - matrix @ np.linalg.lstsq(matrix, target, rcond=None)[0]
    shares = (np.array([one]) for one in (first @ target, second @ target, first @ second))
    assert np.isclose(pair_leaves(*shares)[0], left @ left)


def test_scales_keep_exponentials_finite() -> None:
    values = np.array([1.0, 10.0, 1e4])
    with np.errstate(over="raise"):
        assert np.isfinite(np.exp(np.outer(scales_of("exp", values), values))).all()
