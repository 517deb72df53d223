import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from wug.functional.mass_conserving import fill_junction_and_gate, reward_of_size, shares


def test_shares_by_hand():
    junction = torch.tensor([[0.0, 1.0, 2.0], [-1.0, 0.5, 0.0]], dtype=torch.float64)
    expected = [
        [math.exp(r) / sum(map(math.exp, row)) for r in row[:2]] for row in junction.tolist()
    ]
    assert_close(shares(junction, 2), torch.tensor(expected, dtype=torch.float64).T)


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 2**32))
def test_no_mass_is_lost(num_inputs, num_outputs, seed):
    generator = torch.Generator().manual_seed(seed)
    junction = 9 * torch.randn(num_inputs, num_outputs, dtype=torch.float64, generator=generator)
    taken = shares(junction, num_outputs)
    assert taken.shape == (num_outputs, num_inputs)
    assert_close(taken.sum(0), torch.ones(num_inputs, dtype=torch.float64))
    # Spare outputs are the last ones.
    assert torch.equal(shares(junction, 1), taken[:1])


def test_one_output_takes_all():
    assert (shares(torch.tensor([[-3.0], [7.0]]), 1) == 1).all()


@pytest.mark.parametrize("shape", [(2, 3), (5, 3), (4, 1)])
def test_initial_junction_is_orthogonal(shape):
    junction, gate = torch.empty(shape, dtype=torch.float64), torch.empty(4, dtype=torch.float64)
    fill_junction_and_gate(junction, gate, torch.Generator().manual_seed(3))
    gram = junction @ junction.T if shape[0] < shape[1] else junction.T @ junction
    assert_close(gram, torch.eye(min(shape), dtype=torch.float64))
    assert_close(gate.norm(), torch.tensor(1.0, dtype=torch.float64))


def test_initial_square_junction_is_the_identity():
    junction, gate = torch.empty(3, 3), torch.empty(1)
    fill_junction_and_gate(junction, gate, torch.Generator().manual_seed(3))
    assert torch.equal(junction, torch.eye(3))
    assert gate.abs() == 1


def test_directions_of_the_gate_are_uniform():
    generator = torch.Generator().manual_seed(3)
    gates = torch.empty(2_000, 3)
    for gate in gates:
        fill_junction_and_gate(torch.empty(1, 1), gate, generator)
    # On the unit sphere in three dimensions each coordinate is uniform in [-1, 1].
    assert_close(gates.mean(0), torch.zeros(3), atol=0.05, rtol=0)
    assert_close(gates.square().mean(0), torch.full((3,), 1 / 3), atol=0.03, rtol=0)


def test_reward_by_hand():
    values = torch.tensor([[1.0, -2.0], [0.0, 3.0]]), torch.tensor([4.0]), torch.tensor([0.5, 0.5])
    assert reward_of_size(*values).item() == -(14 / 4 + 16 + 0.25)
