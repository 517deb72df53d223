"""The test of what is left has power where it is asked for, and is known to have none elsewhere."""

import numpy as np
import pytest

from wug.estimators.leftover import Leftover
from wug.estimators.planted import ENOUGH, would_be_noticed


def power(num: int, inputs: int, num_moves: int = 1) -> float:
    generator = np.random.default_rng(num)
    x = generator.uniform(1, 5, (num, inputs))
    moves = x[:, :1] ** np.arange(num_moves)
    return would_be_noticed(Leftover(x, generator.normal(size=num), moves=moves))


@pytest.mark.parametrize(("num", "inputs"), [(30, 1), (50, 2), (50, 3), (100, 5)])
def test_enough_rows_would_tell(num: int, inputs: int) -> None:
    assert power(num, inputs) >= ENOUGH


@pytest.mark.parametrize(("num", "inputs", "moves"), [(12, 1, 1), (20, 2, 1), (30, 4, 1),
                                                      (30, 1, 15)])  # fmt: skip
def test_few_rows_would_not(num: int, inputs: int, moves: int) -> None:
    assert power(num, inputs, moves) < ENOUGH


def test_inputs_that_the_formula_does_not_use_do_no_harm() -> None:
    x = np.random.default_rng(0).uniform(1, 5, (60, 20))
    noise = np.random.default_rng(1).normal(size=60)
    used = np.arange(20) < 2
    assert would_be_noticed(Leftover(x, noise, used=used)) >= ENOUGH
