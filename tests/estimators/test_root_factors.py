"""Sums beside a root: the factor is what it says, and Lorentz's transformations are found."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from wug.estimators.data import Data, Effort
from wug.estimators.root_factors import Root, RootFactors

# x, u, c, t
INPUTS = np.random.default_rng(0).uniform((5, 1, 3, 1), (10, 2, 10, 2), (120, 4))


@pytest.mark.parametrize(
    "law",
    [
        lambda x, u, c, t: (x - u * t) / np.sqrt(1 - u**2 / c**2),
        lambda x, u, c, t: (t - u * x / c**2) / np.sqrt(1 - u**2 / c**2),
        lambda x, u, c, t: (t + 3) * np.sqrt(1 + t**2 / x**2),
    ],
    ids=["place", "time", "another"],
)
def test_laws_with_a_root_are_found(law) -> None:  # type: ignore[no-untyped-def]
    target = law(*INPUTS.T)
    data = Data(inputs=INPUTS, target=target)
    effort = Effort(torch.Generator().manual_seed(0), 64, lambda: False)
    misses = (
        np.abs(one.predict(INPUTS) - target).max() for one in RootFactors().solve(data, effort)
    )
    assert any(miss < 1e-9 for miss in misses)


def test_a_root_is_a_factor() -> None:
    root = Root(1, 2, -1.0, -0.5)
    expected = 1 / np.sqrt(1 - (INPUTS[:, 1] / INPUTS[:, 2]) ** 2)
    assert np.allclose(root.values(INPUTS), expected)
    assert np.isnan(Root(2, 1, -1.0, 0.5).values(INPUTS)).all()
