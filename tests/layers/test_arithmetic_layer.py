import pytest
import sympy
import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap
from torch.testing import assert_close

from wug.analysis.formula.reading import read_formula
from wug.analysis.formula.snapping import snap
from wug.core.errors import UserError
from wug.layers.arithmetic_layer import ArithmeticLayer


def make(*sizes, seed=0, **options):
    generator = torch.Generator().manual_seed(seed)
    return ArithmeticLayer(*sizes, generator=generator, dtype=torch.float64, **options)


def numbers(*shape, low=-2.0, high=2.0, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.empty(shape, dtype=torch.float64).uniform_(low, high, generator=generator)


def params_of(module):
    return {name: parameter.detach().clone() for name, parameter in module.named_parameters()}


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("sizes", [(1, 1), (3, 2), (6, 1)])
def test_equals_explicit_loops(sizes, bias):
    layer, x = make(*sizes, num_terms=5, bias=bias), numbers(7, sizes[0])
    expected = []
    for row in x:
        for o, coefficients in enumerate(layer.sums.weight):
            total = layer.sums.bias[o] if bias else torch.zeros(())
            for c, exponents in zip(coefficients, layer.terms.weight, strict=True):
                for e, x_i in zip(exponents, row, strict=True):
                    sign = -1 if x_i < 0 and e > 0.5 else 1
                    c = c * sign * x_i.abs() ** e
                total = total + c
            expected.append(total)
    expected = torch.stack(expected).view(7, -1)
    assert_close(layer(x), expected)
    leaves = list(layer.parameters())
    fast, slow = (torch.autograd.grad(y.square().sum(), leaves) for y in (layer(x), expected))
    assert_close(fast, slow)


def test_zeros_are_no_poles():
    layer = make(2, 1)
    nn.init.constant_(layer.terms.weight, -1.0)
    x = torch.zeros(3, 2, dtype=torch.float64, requires_grad=True)
    y = layer(x)
    assert y.isfinite().all()
    assert all(g.isfinite().all() for g in torch.autograd.grad(y.sum(), [x, *layer.parameters()]))


def test_terms_start_near_small_products():
    layer = make(3, 2, num_terms=8)
    starts = layer.terms.weight.round()
    assert (layer.terms.weight - starts).abs().max() < 0.1
    assert starts.sum(1).tolist() == [1, 1, 1, 2, 2, 2, 3, 1]
    assert len(starts[:7].unique(dim=0)) == 7 and torch.equal(starts[0], starts[7])
    assert layer.sums.weight.abs().max() < 0.1 and not layer.sums.bias.any()
    assert make(4, 1, num_terms=2).terms.weight.round().sum().item() == 2


def test_weights_come_from_the_generator_alone():
    before = torch.get_rng_state()
    first, other = make(4, 2, seed=5), make(4, 2, seed=6)
    assert torch.equal(torch.get_rng_state(), before)
    nn.init.ones_(first.sums.bias)
    first.reset_parameters(torch.Generator().manual_seed(6))
    other.reset_parameters(torch.Generator().manual_seed(6))
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), other.parameters(),
                                                 strict=True))  # fmt: skip


def test_functions_of_parameters():
    layer = make(3, 2, num_terms=4)
    params = params_of(make(3, 2, num_terms=4, seed=1))
    exponents = params["terms.weight"]
    assert_close(layer.penalty(params), (exponents - exponents.round()).abs().mean())
    weights = layer.weights(params)
    assert set(weights) == {"terms.weight", "sums.weight"}
    assert weights["terms.weight"] is exponents


@pytest.mark.parametrize("bias", [True, False])
def test_formula(bias):
    layer, x = make(3, 2, bias=bias), numbers(3)
    symbols = sympy.symbols(["p", "q", "r"], real=True)
    value = sympy.lambdify(symbols, layer.formula(["p", "q", "r"]))
    assert value(*x.tolist()) == pytest.approx(layer(x).tolist())
    names = {str(symbol) for e in layer.formula() for symbol in e.free_symbols}
    assert names == {"x1", "x2", "x3"}


def test_trace():
    layer, x = make(3, 2, num_terms=5), numbers(4, 3)
    trace = layer.trace(x)
    assert set(trace) == {"terms", "output"} and trace["terms"].shape == (4, 5)
    assert torch.equal(trace["output"], layer(x))


def test_runs_under_vmap():
    layers = [make(3, 2, seed=seed) for seed in range(3)]
    assert ArithmeticLayer.stackable
    params, buffers = stack_module_state(layers)
    x = numbers(3, 4, 3)
    stacked = vmap(lambda *state: functional_call(layers[0], state[:2], (state[2],)))(
        params, buffers, x
    )
    alone = torch.stack([layer(part) for layer, part in zip(layers, x, strict=True)])
    assert_close(stacked, alone)


def test_bad_arguments():
    for name in ("in_features", "out_features", "num_terms"):
        with pytest.raises(UserError, match=f"ArithmeticLayer: {name} must be at least 1; got 0"):
            ArithmeticLayer(**({"in_features": 2, "out_features": 1} | {name: 0}))
    with pytest.raises(UserError, match="epsilon must be at least 0; got -1"):
        ArithmeticLayer(2, 1, epsilon=-1)


def train(network, target, low, *, steps, learning_rate=0.03):
    generator = torch.Generator().manual_seed(0)
    optimiser = torch.optim.Adam(network.parameters(), learning_rate)
    decay = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, steps)
    for step in range(steps):
        x = low + (2 - low) * torch.rand(64, 3, generator=generator)
        loss = (network(x) - target(x)).square().mean()
        if step > steps // 2 and isinstance(network, ArithmeticLayer):
            loss = loss + 0.1 * network.penalty(dict(network.named_parameters()))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        decay.step()
    return network


def product_and_sum(x):
    return x[:, :1] * x[:, 1:2] + x[:, 2:]


def test_learns_a_formula_that_holds_outside():
    layer = ArithmeticLayer(3, 1, generator=torch.Generator().manual_seed(0))
    train(layer, product_and_sum, -2, steps=800)
    far = numbers(500, 3, low=5.0, high=9.0).float()
    assert_close(layer(far), product_and_sum(far), rtol=1e-2, atol=0)
    x = numbers(500, 3).float()
    snapped = snap(layer, x, product_and_sum(x), floor=1e-4)
    assert str(read_formula(snapped.network, ["a", "b", "c"])) == "a*b + c"
