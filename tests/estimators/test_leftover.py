"""Noise is told from what is not."""

import numpy as np
import pytest

from wug.estimators.leftover import can_be_tested, something_left


@pytest.mark.parametrize("num", [12, 50, 300])
def test_noise_is_noise(num: int) -> None:
    """One of fifty may be taken for something else."""
    generator = np.random.default_rng(num)
    wrong = sum(
        something_left(generator.uniform(size=(num, 3)), generator.normal(size=num), seed=seed)
        for seed in range(20)
    )
    assert wrong <= 2


@pytest.mark.parametrize(
    ("num", "inputs"), [(15, 1), (60, 1), (200, 3), (300, 5)]
)  # fmt: skip
def test_smooth_remainders_are_seen(num: int, inputs: int) -> None:
    x = np.random.default_rng(1).uniform(-1, 1, (num, inputs))
    assert something_left(x, 1e-7 * np.sin(3 * x.sum(1)))


def test_steps_are_seen() -> None:
    x = np.random.default_rng(2).uniform(-1, 1, (200, 10))
    assert something_left(x, np.sign(x[:, 0]) * np.sign(x[:, 1]) + 0.1 * x[:, 2])


def test_few_rows_are_no_test() -> None:
    assert not can_be_tested(7, 1) and not can_be_tested(10, 8) and can_be_tested(15, 3)
