import operator

import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.units.nau import NAU


def reference(functions, x, params):
    """mistry2022, Eq. 13."""
    return [sum(w * x_i for w, x_i in zip(row, x, strict=True)) for row in params["weight"]]


def clamped_reference(functions, x, params):
    rows = [[min(max(w, -1.0), 1.0) for w in row] for row in params["weight"]]
    return reference(functions, x, {"weight": rows})


@pytest.mark.parametrize("clamp", ["project", "none"])
def test_equals_the_reference(size, clamp, randomise, matches):
    matches(randomise(NAU(*size, clamp=clamp)), reference)


def test_clamping_in_the_forward_pass(size, randomise, matches):
    matches(randomise(NAU(*size, clamp="forward")), clamped_reference)


@pytest.mark.parametrize("clamp", ["project", "forward", "none"])
def test_formula(size, clamp, randomise, spells):
    spells(randomise(NAU(*size, clamp=clamp)))


# Radii as the authors' code computes them.
@pytest.mark.parametrize(
    ("sizes", "radius"),
    [((2, 1), 0.5), ((10, 2), 0.5), ((100, 1), (6 / 101) ** 0.5), ((100, 2), (6 / 102) ** 0.5)],
)
def test_initial_weights(sizes, radius, starts_uniform):
    starts_uniform(NAU(*sizes), "weight", -radius, radius)


def test_penalty_by_hand():
    weight = torch.tensor([[-1.0, -0.75, 0.5], [0.0, 1.25, -3.0]])
    # Distances to -1, 0 or 1; outside [-1, 1] the outer absolute value counts.
    assert_close(NAU(3, 2).penalty({"weight": weight}), torch.tensor((0.25 + 0.5 + 0.25 + 2) / 6))


def test_projection():
    params = {"weight": torch.tensor([[-1.5, 0.3], [1.0, 7.0]])}
    expected = torch.tensor([[-1.0, 0.3], [1.0, 1.0]])
    assert torch.equal(NAU(2, 2).project(params)["weight"], expected)
    for clamp in ("forward", "none"):
        assert torch.equal(NAU(2, 2, clamp=clamp).project(params)["weight"], params["weight"])


def test_no_gradient_where_the_forward_pass_clamps():
    nau = NAU(2, 1, clamp="forward")
    nau.load_state_dict({"weight": torch.tensor([[1.5, 0.5]])})
    nau(torch.tensor([2.0, 3.0])).backward()
    assert nau.weight.grad.tolist() == [[0.0, 3.0]]


@pytest.mark.parametrize("clamp", ["project", "forward"])
def test_trace(clamp):
    nau = NAU(2, 1, clamp=clamp)
    nau.load_state_dict({"weight": torch.tensor([[2.0, -0.5]])})
    trace = nau.trace(torch.tensor([[3.0, 4.0]]))
    assert set(trace) == {"terms", "output"}
    first = 6.0 if clamp == "project" else 3.0
    assert trace["terms"].tolist() == [[[first, -2.0]]]
    assert_close(trace["terms"].sum(-1), trace["output"])


def test_bad_arguments():
    with pytest.raises(UserError, match="NAU: in_features must be at least 1; got 0"):
        NAU(0, 1)
    with pytest.raises(UserError, match="NAU: out_features must be at least 1; got -1"):
        NAU(1, -1)
    with pytest.raises(UserError, match="clamp must be one of project, forward, none; got 'hard'"):
        NAU(1, 1, clamp="hard")
    with pytest.raises(UserError, match="names must have 2 entries; got 1"):
        NAU(2, 1).formula(["a"])


@pytest.mark.slow
@pytest.mark.parametrize("operation", [operator.add, operator.sub])
def test_learns(operation, generator, learns):
    learns(NAU(3, 1, generator=generator), operation, penalty=0.01)
