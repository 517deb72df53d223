"""Growth to a level, the curve of enzymes and of light, is found through noise."""

import time

import numpy as np
import pytest

from wug.estimators import ArithmeticRegressor, search


@pytest.mark.parametrize("seed", range(6))
def test_saturation_through_noise(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "CLOCK", time.process_time)
    generator = np.random.default_rng(seed)
    x = generator.uniform(0.5, 10, 200)
    noisy = 7.31 * x / (x + 2.4) + 0.05 * generator.normal(size=200)
    found = ArithmeticRegressor(random_state=0, time_budget=10).fit(x[:, None], noisy)
    top, half = (one.value for one in found.constants_)
    # The usual form alone: every other one has its numbers elsewhere.
    assert str(found.expression_) == f"{top:.15g}*x1/(x1 + {half:.15g})"
    assert abs(top - 7.31) < 0.1 and abs(half - 2.4) < 0.1 and found.status_ == "noisy"
