import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.layers.product_key_memory import ProductKeyMemory

FEATURES = 6


def make(**options):
    options = {"num_sub_keys": 4, "top_k": 3, "num_heads": 2} | options
    layer = ProductKeyMemory(FEATURES, generator=torch.Generator().manual_seed(0), **options)
    return layer.double()


def draw(*shape):
    generator = torch.Generator().manual_seed(1)
    return torch.randn((*shape, FEATURES), generator=generator, dtype=torch.float64)


def scores(layer, token, head):
    """Eq. 7.8 of csordas2023: u[i] = u_b[floor(i / n)] + u_a[i mod n], for all i."""
    n = layer.num_sub_keys
    u_a = layer.keys[0, head] @ token[: FEATURES // 2]
    u_b = layer.keys[1, head] @ token[FEATURES // 2 :]
    return torch.stack([u_b[i // n] + u_a[i % n] for i in range(n * n)])


def weights(layer, u):
    return torch.relu(u) if layer.activation == "relu" else u.exp() / u.exp().sum()


def read(layer, token):
    """All keys are scored, the K best of each head are read."""
    total = 0
    for head in range(layer.num_heads):
        u = scores(layer, token, head)
        best = sorted(range(len(u)), key=lambda i: -u[i].item())[: layer.top_k]
        total = total + weights(layer, u[best]) @ layer.values[best]
    return total


def read_as_published(layer, token):
    """No choice, and one activation of the sum of all heads' scores."""
    u = sum(scores(layer, token, head) for head in range(layer.num_heads))
    return weights(layer, u) @ layer.values


@pytest.mark.parametrize("activation", ["relu", "softmax"])
@pytest.mark.parametrize("top_k", [1, 3, 16, 100])
def test_equals_reading_with_all_keys(activation, top_k):
    check(make(activation=activation, top_k=top_k), read)


@pytest.mark.parametrize("activation", ["relu", "softmax"])
def test_as_published(activation):
    check(make(activation=activation, as_published=True), read_as_published)


def check(layer, reference):
    x = draw(2, 3).requires_grad_()
    output = layer(x)
    expected = torch.stack([torch.stack([reference(layer, token) for token in row]) for row in x])
    assert_close(output, expected)
    leaves = [x, layer.keys, layer.values]
    own, gradients = (torch.autograd.grad(one.square().sum(), leaves) for one in (output, expected))
    assert_close(own, gradients)


def test_published_is_not_the_sum_of_heads():
    """With all keys the two differ by where the activation stands."""
    x = draw(2, 3)
    assert not torch.allclose(make(top_k=16)(x), make(as_published=True)(x))
    one = {"num_heads": 1}
    assert_close(make(top_k=16, **one)(x), make(as_published=True, **one)(x))


def test_initial_weights_are_those_of_a_dense_block():
    layer = ProductKeyMemory(
        64, num_sub_keys=20, num_layers=3, generator=torch.Generator().manual_seed(0)
    )
    assert layer.keys.std().item() == pytest.approx((2 / (64 * 3)) ** 0.5, rel=0.03)
    assert layer.values.std().item() == pytest.approx((2 / (400 * 3)) ** 0.5, rel=0.03)


def test_multiplications():
    assert make().multiplications == 2 * 2 * 4 * 3 + 2 * 3 * 6
    assert make(as_published=True).multiplications == 2 * 2 * 4 * 3 + 16 * 6


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # by torch
def test_compiles_and_runs_in_mixed_precision():
    torch.compiler.reset()
    layer, x = make().float(), draw(2, 3).float()
    expected = layer(x)
    assert_close(torch.compile(layer, fullgraph=True, backend="aot_eager")(x), expected)
    with torch.autocast("cpu", torch.bfloat16):
        assert_close(layer(x).float(), expected, rtol=0.1, atol=0.05)


def test_bad_arguments():
    with pytest.raises(UserError, match="ProductKeyMemory: features must be even; got 5"):
        ProductKeyMemory(5)
    with pytest.raises(UserError, match="activation must be one of relu, softmax; got 'gelu'"):
        make(activation="gelu")
    with pytest.raises(UserError, match="num_sub_keys must be at least 1; got 0"):
        make(num_sub_keys=0)
