import math
import operator

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.units.mlp import ACTIVATIONS, MLP

SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


def erf(functions, z):
    return functions.erf(z / math.sqrt(2))


# Each as its paper or torch's documentation writes it; `f` is math or torch.
SLOW = {
    "relu": lambda f, z: z if z > 0 else 0 * z,
    "relu6": lambda f, z: 0 * z if z < 0 else 0 * z + 6 if z > 6 else z,
    "leaky_relu": lambda f, z: z if z > 0 else 0.01 * z,
    "prelu": lambda f, z, slope: z if z > 0 else slope * z,
    "elu": lambda f, z: z if z > 0 else f.exp(z) - 1,
    "selu": lambda f, z: SELU_SCALE * (z if z > 0 else SELU_ALPHA * (f.exp(z) - 1)),
    "gelu": lambda f, z: z * (1 + erf(f, z)) / 2,
    "silu": lambda f, z: z / (1 + f.exp(-z)),
    "threshold": lambda f, z: z if z > 0.1 else 0 * z + 20,
    "hardtanh": lambda f, z: 0 * z - 1 if z < -1 else 0 * z + 1 if z > 1 else z,
    "tanh": lambda f, z: f.tanh(z),
    "tanhshrink": lambda f, z: z - f.tanh(z),
    "softshrink": lambda f, z: z - 0.5 if z > 0.5 else z + 0.5 if z < -0.5 else 0 * z,
    "sigmoid": lambda f, z: 1 / (1 + f.exp(-z)),
    "softsign": lambda f, z: z / (1 + abs(z)),
    "softplus": lambda f, z: f.log(1 + f.exp(z)) if z < 20 else z,
    "identity": lambda f, z: z,
}


def reference(activation):
    def compute(functions, x, params):
        depth = sum(name.startswith("weight") for name in params)
        for layer in range(depth):
            rows, biases = params[f"weight_{layer}"], params[f"bias_{layer}"]
            x = [
                sum((w * x_i for w, x_i in zip(row, x, strict=True)), b)
                for row, b in zip(rows, biases, strict=True)
            ]
            if layer < depth - 1 and activation == "crelu":
                x = [SLOW["relu"](functions, z) for z in [*x, *(-z for z in x)]]
            elif layer < depth - 1:
                slopes = [params[f"slope_{layer}"]] if activation == "prelu" else []
                x = [SLOW[activation](functions, z, *slopes) for z in x]
        return x

    return compute


def test_every_activation_has_a_reference():
    assert {*SLOW, "crelu"} == set(ACTIVATIONS)
    table_5 = (
        "hardtanh relu6 softsign tanh sigmoid threshold selu elu softshrink relu leaky_relu "
        "tanhshrink softplus prelu identity"
    )
    assert set(table_5.split()) < set(ACTIVATIONS)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations(activation, randomise, matches, spells):
    mlp = randomise(MLP(2, 1, hidden_features=3, activation=activation))
    matches(mlp, reference(activation))
    name = "relu" if activation == "crelu" else activation
    spells(mlp, **{name: lambda *arguments: SLOW[name](math, *arguments)})


@pytest.mark.parametrize("num_hidden", [0, 1, 2])
def test_sizes(size, num_hidden, randomise, matches, spells):
    mlp = randomise(MLP(*size, hidden_features=5, num_hidden=num_hidden))
    assert len(list(mlp.parameters())) == 2 * (num_hidden + 1)
    matches(mlp, reference("relu"))
    spells(mlp, relu=lambda z: np.maximum(z, 0))


def test_initial_weights(starts_uniform):
    rectified = MLP(6, 2, hidden_features=6)
    starts_uniform(rectified, "weight_0", -1.0, 1.0)  # He: sqrt(6 / 6)
    starts_uniform(rectified, "weight_1", -math.sqrt(6 / 8), math.sqrt(6 / 8))
    smooth = MLP(4, 1, hidden_features=2, activation="tanh")
    starts_uniform(smooth, "weight_0", -1.0, 1.0)  # Glorot: sqrt(6 / (4 + 2))
    assert not any(smooth.get_parameter(name).any() for name in ("bias_0", "bias_1"))


def test_widths_of_crelu():
    mlp = MLP(2, 1, hidden_features=3, num_hidden=2, activation="crelu")
    assert [tuple(weight.shape) for weight, _ in mlp.layers()] == [(3, 2), (3, 6), (1, 6)]


def test_slopes_of_prelu_are_learned():
    mlp = MLP(2, 1, num_hidden=2, activation="prelu")
    assert mlp.slope_0.item() == mlp.slope_1.item() == 0.25
    mlp(torch.tensor([[1.0, -2.0]])).sum().backward()
    assert mlp.slope_0.grad != 0 and mlp.slope_1.grad != 0
    assert not any("slope" in name for name in mlp.weights(dict(mlp.named_parameters())))


def test_trace(generator):
    mlp = MLP(2, 1, hidden_features=3, num_hidden=2, generator=generator)
    trace = mlp.trace(torch.tensor([[2.0, -3.0]]))
    assert list(trace) == ["hidden_0", "hidden_1", "output"]
    assert_close(trace["hidden_1"] @ mlp.weight_2.T + mlp.bias_2, trace["output"])


def test_weights_leave_the_biases_out():
    mlp = MLP(2, 1)
    assert set(mlp.weights(dict(mlp.named_parameters()))) == {"weight_0", "weight_1"}


def test_bad_arguments():
    with pytest.raises(UserError, match="MLP: hidden_features must be at least 1; got 0"):
        MLP(1, 1, hidden_features=0)
    with pytest.raises(UserError, match="MLP: num_hidden must be at least 0; got -1"):
        MLP(1, 1, num_hidden=-1)
    with pytest.raises(UserError, match="MLP: activation must be one of relu, .*; got 'swish'"):
        MLP(1, 1, activation="swish")


@pytest.mark.slow
def test_learns_inside_its_range_only(generator, learns):
    mlp = MLP(2, 1, generator=generator)
    with pytest.raises(AssertionError):
        learns(mlp, operator.mul)
    x = 1 + 2 * torch.rand(1_000, 2, generator=generator)
    truth = x.prod(-1, keepdim=True)
    assert (mlp(x) - truth).abs().max() < 0.1 * truth.abs().max()
