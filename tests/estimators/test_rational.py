"""Quotients of polynomials are recovered, also where the first start runs into a pole."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from wug.estimators.data import Data, Effort
from wug.estimators.rational import Rational


@pytest.mark.parametrize(
    ("above", "below"),
    [
        # NIST's Thurber and Hahn1, certified.
        ((1288.14, 1491.08, 583.238, 75.4166), (1.0, 0.966295, 0.397973, 0.0497273)),
        ((1.07764, -0.122693, 4.08638e-3, -1.42627e-6),
         (1.0, -5.76099e-3, 2.40537e-4, -1.23145e-7)),
    ],
)  # fmt: skip
def test_published_quotients_are_recovered(
    above: tuple[float, ...], below: tuple[float, ...]
) -> None:
    x = np.linspace(-3.1, 2.2, 60) if above[0] > 100 else np.linspace(15, 850, 120)
    y = np.polyval(above[::-1], x) / np.polyval(below[::-1], x)
    data = Data(inputs=x[:, None], target=y)
    effort = Effort(torch.Generator(), 8, lambda: False)
    misses = [np.abs(one.predict(x[:, None]) - y).max() for one in Rational(3).solve(data, effort)]
    assert min(misses) < 1e-6 * np.abs(y).max()
