"""Noise is told from what is not."""

import numpy as np
import pytest

from wug.estimators.leftover import Leftover, can_be_tested, left_at_a_glance, something_left


@pytest.mark.parametrize("num", [12, 50, 300])
def test_noise_is_noise(num: int) -> None:
    """One of a hundred may be taken for something else."""
    generator = np.random.default_rng(num)
    wrong = sum(
        something_left(
            Leftover(generator.uniform(size=(num, 3)), generator.normal(size=num)), seed=seed
        )
        for seed in range(20)
    )
    assert wrong <= 2


@pytest.mark.parametrize(
    ("num", "inputs"), [(15, 1), (60, 1), (200, 3), (300, 5)]
)  # fmt: skip
def test_smooth_remainders_are_seen(num: int, inputs: int) -> None:
    x = np.random.default_rng(1).uniform(-1, 1, (num, inputs))
    leftover = Leftover(x, 1e-7 * np.sin(3 * x.sum(1)))
    assert something_left(leftover) and left_at_a_glance(leftover)


def test_steps_are_seen() -> None:
    x = np.random.default_rng(2).uniform(-1, 1, (200, 10))
    assert something_left(Leftover(x, np.sign(x[:, 0]) * np.sign(x[:, 1]) + 0.1 * x[:, 2]))


@pytest.mark.parametrize("num", [100, 150])
def test_teeth_along_one_input_or_along_what_two_make_are_seen(num: int) -> None:
    """Nine teeth of a saw: too many for a kernel in both inputs."""
    a, b = np.random.default_rng(3).uniform((0, 1), (9, 5), (num, 2)).T
    x = np.column_stack((a, b))
    assert something_left(Leftover(x, (a % 1 - 0.5) * b))
    for line in (a + b, a - b, a * b, a / b):
        place = 9 * np.argsort(np.argsort(line)) / num
        assert something_left(Leftover(x, place % 1 - 0.5))


def test_numbers_that_followed_the_rows_are_reckoned_with() -> None:
    """What a polynomial of eight numbers leaves changes its sign often, but noise would more."""
    x = np.linspace(-1, 1, 24)[:, None]
    moves = np.vander(x[:, 0], 8)
    wave = np.abs(x[:, 0] - 0.1)
    residual = wave - moves @ np.linalg.lstsq(moves, wave, rcond=None)[0]
    assert something_left(Leftover(x, residual, moves=moves))


def test_few_rows_are_no_test() -> None:
    assert not can_be_tested(7, 1) and not can_be_tested(10, 8) and can_be_tested(15, 3)
