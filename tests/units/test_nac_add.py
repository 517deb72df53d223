import operator

import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.units.nac_add import NACAdd

LARGE = 40.0


def reference(functions, x, params):
    """mistry2022, Eq. 1 and 2."""
    outputs = []
    for w_row, m_row in zip(params["w_hat"], params["m_hat"], strict=True):
        total = 0.0
        for w_hat, m_hat, x_i in zip(w_row, m_row, x, strict=True):
            weight = functions.tanh(w_hat) * (1 / (1 + functions.exp(-m_hat)))
            total = total + weight * x_i
        outputs.append(total)
    return outputs


def test_equals_the_reference(size, randomise, matches):
    matches(randomise(NACAdd(*size), -3, 3), reference)


def test_formula(size, randomise, spells):
    spells(randomise(NACAdd(*size)))


# Radii as the authors' code computes them; with few inputs it starts saturated.
@pytest.mark.parametrize(
    ("sizes", "radius"), [((2, 1), 9.47), ((2, 2), 9.47), ((10, 1), 2.26), ((100, 1), 0.507)]
)
def test_initial_weights(sizes, radius, starts_uniform):
    nac = NACAdd(*sizes)
    assert float(f"{nac.radius:.3g}") == radius
    for name in ("w_hat", "m_hat"):
        starts_uniform(nac, name, -nac.radius, nac.radius)


def test_given_radius(starts_uniform):
    starts_uniform(NACAdd(2, 1, radius=1.0), "w_hat", -1.0, 1.0)


def test_weights_at_the_corners():
    nac = NACAdd(4, 1)
    params = {
        "w_hat": torch.tensor([[LARGE, -LARGE, LARGE, 0.0]]),
        "m_hat": torch.tensor([[LARGE, LARGE, -LARGE, LARGE]]),
    }
    assert_close(nac.weights(params)["weight"], torch.tensor([[1.0, -1.0, 0.0, 0.0]]))


def test_trace(generator):
    nac = NACAdd(2, 3, generator=generator)
    trace = nac.trace(torch.tensor([[2.0, -3.0]]))
    assert set(trace) == {"weight", "terms", "output"}
    assert trace["terms"].shape == (1, 3, 2)
    assert_close(trace["terms"].sum(-1), trace["output"])


def test_bad_arguments():
    with pytest.raises(UserError, match="NACAdd: in_features must be at least 1; got 0"):
        NACAdd(0, 1)
    with pytest.raises(UserError, match="NACAdd: out_features must be at least 1; got 0"):
        NACAdd(1, 0)


@pytest.mark.slow
@pytest.mark.parametrize("operation", [operator.add, operator.sub])
def test_learns(operation, generator, learns):
    # Its weights approach 1 and -1 and never get there.
    unit = NACAdd(2, 1, radius=1.0, generator=generator)
    learns(unit, operation, learning_rate=0.1, largest_error=0.05)
