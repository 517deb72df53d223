import operator

import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.units.nmu import NMU


def reference(functions, x, params):
    """mistry2022, Eq. 14."""
    outputs = []
    for row in params["weight"]:
        product = 1.0
        for w, x_i in zip(row, x, strict=True):
            product = product * (w * x_i + 1 - w)
        outputs.append(product)
    return outputs


def clamped_reference(functions, x, params):
    rows = [[min(max(w, 0.0), 1.0) for w in row] for row in params["weight"]]
    return reference(functions, x, {"weight": rows})


@pytest.mark.parametrize("clamp", ["project", "none"])
def test_equals_the_reference(size, clamp, randomise, matches):
    matches(randomise(NMU(*size, clamp=clamp)), reference)


def test_clamping_in_the_forward_pass(size, randomise, matches):
    matches(randomise(NMU(*size, clamp="forward")), clamped_reference)


def test_two_factors_that_are_zero(matches):
    # Weights of 1 at inputs of 0: the gradient of a product must not be a quotient.
    nmu = NMU(5, 1, dtype=torch.float64)
    nmu.load_state_dict({"weight": torch.ones(1, 5, dtype=torch.float64)})
    matches(nmu, reference)


@pytest.mark.parametrize("clamp", ["project", "forward", "none"])
def test_formula(size, clamp, randomise, spells):
    spells(randomise(NMU(*size, clamp=clamp)))


@pytest.mark.parametrize("sizes", [(2, 1), (10, 2), (100, 2)])
def test_initial_weights(sizes, starts_uniform):
    starts_uniform(NMU(*sizes), "weight", 0.25, 0.75)


def test_penalty_by_hand():
    weight = torch.tensor([[0.0, 0.75, 0.5], [1.0, 1.25, -0.8]])
    # Distances to 0 or 1: unlike NAU's, -0.8 is 0.8 away, not 0.2.
    assert_close(NMU(3, 2).penalty({"weight": weight}), torch.tensor((0.25 + 0.5 + 0.25 + 0.8) / 6))


def test_projection():
    params = {"weight": torch.tensor([[-0.5, 0.3], [1.0, 7.0]])}
    expected = torch.tensor([[0.0, 0.3], [1.0, 1.0]])
    assert torch.equal(NMU(2, 2).project(params)["weight"], expected)
    for clamp in ("forward", "none"):
        assert torch.equal(NMU(2, 2, clamp=clamp).project(params)["weight"], params["weight"])


def test_no_gradient_where_the_forward_pass_clamps():
    nmu = NMU(2, 1, clamp="forward")
    nmu.load_state_dict({"weight": torch.tensor([[1.5, 0.5]])})
    nmu(torch.tensor([2.0, 3.0])).backward()
    # d/dw2 of 2 (3 w2 + 1 - w2)
    assert nmu.weight.grad.tolist() == [[0.0, 4.0]]


@pytest.mark.parametrize("clamp", ["project", "forward"])
def test_trace(clamp):
    nmu = NMU(2, 1, clamp=clamp)
    nmu.load_state_dict({"weight": torch.tensor([[2.0, 0.5]])})
    trace = nmu.trace(torch.tensor([[3.0, 5.0]]))
    assert set(trace) == {"factors", "output"}
    first = 5.0 if clamp == "project" else 3.0
    assert trace["factors"].tolist() == [[[first, 3.0]]]
    assert_close(trace["factors"].prod(-1), trace["output"])


def test_bad_arguments():
    with pytest.raises(UserError, match="NMU: in_features must be at least 1; got 0"):
        NMU(0, 1)
    with pytest.raises(UserError, match="NMU: out_features must be at least 1; got 0"):
        NMU(1, 0)
    with pytest.raises(UserError, match="clamp must be one of project, forward, none; got 'hard'"):
        NMU(1, 1, clamp="hard")


@pytest.mark.slow
def test_learns(generator, learns):
    learns(NMU(3, 1, generator=generator), operator.mul, penalty=1.0)
