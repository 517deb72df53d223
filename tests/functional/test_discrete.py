import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from wug.functional.discrete import (
    CHOICE,
    COEFFICIENTS,
    POWERS,
    SELECTION,
    SIGNS,
    ZERO,
    gate_of,
    nearest_rational,
)

WEIGHTS = torch.tensor([-7.0, -1.1, -0.6, -0.4, 0.0, 0.4, 0.6, 1.0, 3.2])


@pytest.mark.parametrize(
    ("discrete", "expected"),
    [
        (SIGNS, [-1, -1, -1, 0, 0, 0, 1, 1, 1]),
        (SELECTION, [0, 0, 0, 0, 0, 0, 1, 1, 1]),
        (ZERO, [0] * 9),
        (POWERS, [-4, -1, -0.5, -0.5, 0, 0.5, 0.5, 1, 3]),
        (COEFFICIENTS, [-7, -1, -0.5, -0.5, 0, 0.5, 0.5, 1, 3]),
    ],
)
def test_nearest(discrete, expected):
    nearest = discrete.nearest(WEIGHTS)
    assert nearest.tolist() == expected
    assert torch.equal(discrete.weight(*discrete.raw(nearest, WEIGHTS)), nearest)


@given(value=st.floats(-20, 20), denominator=st.integers(1, 6))
def test_nearest_rational_by_trying_all(value, denominator):
    all_of_them = {p / q for q in range(1, denominator + 1) for p in range(-21 * q, 21 * q + 1)}
    [found] = nearest_rational(torch.tensor([value], dtype=torch.float64), denominator).tolist()
    assert found in all_of_them
    assert_close(abs(found - value), min(abs(other - value) for other in all_of_them))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gates_and_choices_are_exact(dtype):
    logits = torch.tensor([[-0.3, 2.0, 0.1]], dtype=dtype)
    for gate in (gate_of("gate"), gate_of("gate", "bias")):
        present = [logits] * len(gate.parameters)
        nearest = gate.nearest(gate.weight(*present))
        assert nearest.tolist() == [[0, 1, 1]]
        raw = gate.raw(nearest, *present)
        assert len(raw) == len(present) and torch.equal(gate.weight(*raw), nearest)
    chosen = CHOICE.nearest(CHOICE.weight(logits))
    assert chosen.tolist() == [[0, 1, 0]]
    assert torch.equal(CHOICE.weight(*CHOICE.raw(chosen, logits)), chosen)
