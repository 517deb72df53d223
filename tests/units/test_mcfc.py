import math
import operator

import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.functional.sparsity import sparsity_error
from wug.units.mcfc import MCFC


def reference(functions, x, params):
    """The authors' layer, one number at a time."""
    outputs = []
    for o, w in enumerate(params["gate_weight"]):
        arrived = 0.0
        for x_i, row in zip(x, params["junction"], strict=True):
            arrived = arrived + functions.exp(row[o]) / sum(map(functions.exp, row)) * x_i
        outputs.append(arrived / (1 + functions.exp(-(w + params["gate_bias"][o]))))
    return outputs


@pytest.mark.parametrize("num_spare", [0, 1, 2])
def test_equals_the_reference(size, num_spare, randomise, matches):
    matches(randomise(MCFC(*size, num_spare=num_spare)), reference)


@pytest.mark.parametrize("num_spare", [0, 1])
def test_formula(size, num_spare, randomise, spells):
    spells(randomise(MCFC(*size, num_spare=num_spare)))


def test_initial_weights(generator):
    mcfc = MCFC(5, 2, generator=generator)
    assert_close(mcfc.junction.T @ mcfc.junction, torch.eye(3))
    assert_close(mcfc.gate_weight.norm(), torch.tensor(1.0))
    assert (mcfc.gate_bias == 0).all()
    # As many inputs as outputs, the spare one included: all but the last pass straight through.
    assert torch.equal(MCFC(3, 2).junction, torch.eye(3))
    assert torch.equal(MCFC(3, 3, num_spare=0).junction, torch.eye(3))


def test_mass_is_conserved_behind_open_gates(randomise):
    mcfc = randomise(MCFC(4, 3, num_spare=0))
    torch.nn.init.constant_(mcfc.gate_bias, 60.0)
    x = torch.tensor([[1.0, 2.0, 3.0, 4.0], [-1.0, 0.0, 1e-9, 5.0]], dtype=torch.float64)
    assert_close(mcfc(x).sum(-1), x.sum(-1))


def test_one_output_without_a_spare_one_takes_all_inputs(randomise):
    mcfc = randomise(MCFC(3, 1, num_spare=0))
    x = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)
    mcfc(x).backward()
    assert not mcfc.junction.grad.any()
    assert_close(mcfc(x), 7 * torch.sigmoid(mcfc.gate_weight + mcfc.gate_bias))


def test_penalty_by_hand():
    params = {
        "junction": torch.tensor([[1.0, -3.0]]),
        "gate_weight": torch.tensor([2.0]),
        "gate_bias": torch.tensor([-0.5]),
    }
    assert_close(MCFC(1, 1).penalty(params), torch.tensor(-(5 + 4 + 0.25)))


def test_sparsity_is_a_mean_over_shares_and_gates():
    mcfc = MCFC(2, 1)
    params = {
        "junction": torch.tensor([[0.0, 0.0], [99.0, 0.0]]),  # shares of 1/2 and 1
        "gate_weight": torch.tensor([0.5]),
        "gate_bias": torch.tensor([math.log(3) - 0.5]),  # a gate of 3/4
    }
    error = sparsity_error(mcfc.weights(params), mcfc.sparsity_aggregate)
    assert_close(error, torch.tensor((0.5 + 0.25) / 2))


def test_trace(generator):
    mcfc = MCFC(2, 3, generator=generator)
    trace = mcfc.trace(torch.tensor([[2.0, -3.0]]))
    assert set(trace) == {"shares", "gate", "arrived", "output"}
    assert_close(trace["gate"].squeeze(-1) * trace["arrived"], trace["output"])


def test_bad_arguments():
    with pytest.raises(UserError, match="MCFC: in_features must be at least 1; got 0"):
        MCFC(0, 1)
    with pytest.raises(UserError, match="MCFC: num_spare must be at least 0; got -1"):
        MCFC(1, 1, num_spare=-1)


@pytest.mark.slow
@pytest.mark.parametrize(("num_inputs", "num_spare"), [(2, 0), (3, 1)])
def test_learns(num_inputs, num_spare, generator, learns):
    unit = MCFC(num_inputs, 1, num_spare=num_spare, generator=generator)
    learns(unit, operator.add, penalty=1.0)
