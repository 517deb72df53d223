import math

import pytest
import torch
from torch.testing import assert_close

from wug.analysis.relevance_gate import example_inputs, flat_share, gradient_norms
from wug.core.errors import UserError

FIRST = torch.linspace(-1, 2.5, 8, dtype=torch.float64)
SECOND = torch.linspace(-0.2, 1, 7, dtype=torch.float64)
GATES = [None, (0.5, 0.5), (1.0, 0.0), (0.3, 0.8)]
MACHINE_EPSILON = 2.0**-23


def inputs():
    return example_inputs(torch.Generator().manual_seed(0))


def loss(rows, w1, w2, gate):
    """heim2020's unit with real weights, in numbers."""
    total = 0.0
    for row in rows:
        size = turn = 0.0
        for w, g, x in zip((w1, w2), gate or (1.0, 1.0), row, strict=True):
            size += w * math.log(g * (abs(x) + MACHINE_EPSILON) + 1 - g)
            turn += w * math.pi * g * (x < 0)
        total += (math.exp(size) * math.cos(turn) - row[0]) ** 2
    return total / len(rows)


@pytest.mark.parametrize("gate", GATES, ids=str)
def test_norms_by_finite_differences(gate):
    x, step = inputs(), 1e-5
    rows = x.tolist()
    norms = gradient_norms(x, FIRST, SECOND, gate=gate)
    assert norms.shape == (len(SECOND), len(FIRST))
    for row, w2 in zip(norms.tolist(), SECOND.tolist(), strict=True):
        for norm, w1 in zip(row, FIRST.tolist(), strict=True):
            slopes = [
                (loss(rows, w1 + a, w2 + b, gate) - loss(rows, w1 - a, w2 - b, gate)) / (2 * step)
                for a, b in ((step, 0.0), (0.0, step))
            ]
            assert norm == pytest.approx(math.hypot(*slopes), rel=1e-4, abs=1e-6)


def test_the_solution_is_flat_for_the_right_gate_only_in_the_second_weight():
    # With g = (1, 0) the second weight does not matter, and w1 = 1 is right.
    norms = gradient_norms(inputs(), torch.tensor([1.0]), SECOND, gate=(1.0, 0.0))
    assert_close(norms, torch.zeros_like(norms), atol=1e-6, rtol=0)


def test_a_half_open_gate_removes_plains_and_cliffs():
    first, second = torch.linspace(-1, 2.5, 36), torch.linspace(-0.2, 1, 31)
    naive, gated = (gradient_norms(inputs(), first, second, gate=g) for g in (None, (0.5, 0.5)))
    assert flat_share(naive) > 20 * flat_share(gated)
    assert naive.max() > 1000 * gated.max()


def test_bad_input():
    with pytest.raises(UserError, match="x must have two columns; got 3"):
        gradient_norms(torch.ones(4, 3), FIRST, SECOND)
