import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from wug.analysis.language_cost import saved_bytes
from wug.core.errors import UserError
from wug.layers.peer import PEER


def make(**options):
    options = {"num_sub_keys": 4, "top_k": 3, "num_heads": 2, "query_features": 6} | options
    return PEER(5, generator=torch.Generator().manual_seed(0), **options).double()


def reference(layer, token):
    """Every head scores all experts, keeps the K best, and weighs them by a softmax."""
    n, half = layer.num_sub_keys, layer.keys.shape[-1]
    queries = (layer.weight_query @ token).view(layer.num_heads, 2, half)
    total = 0
    for query in queries:
        scores = [
            query[0] @ layer.keys[0, i % n] + query[1] @ layer.keys[1, i // n] for i in range(n * n)
        ]
        best = sorted(range(n * n), key=lambda i: -scores[i].item())[: layer.top_k]
        gates = torch.stack([scores[i] for i in best]).softmax(0)
        for gate, i in zip(gates, best, strict=True):
            total = total + gate * F.gelu(layer.weight_in[i] @ token) * layer.weight_out[i]
    return total


@pytest.mark.parametrize("top_k", [1, 3, 16])
def test_equals_the_equations(top_k):
    layer = make(top_k=top_k)
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(2, 3, 5, generator=generator, dtype=torch.float64, requires_grad=True)
    output = layer(x)
    expected = torch.stack([torch.stack([reference(layer, token) for token in row]) for row in x])
    assert_close(output, expected)
    leaves = [x, *layer.parameters()]
    own, gradients = (torch.autograd.grad(one.square().sum(), leaves) for one in (output, expected))
    assert_close(own, gradients)


def test_trace():
    layer = make()
    trace = layer.trace(torch.ones(2, 3, 5, dtype=torch.float64))
    assert {name: tuple(value.shape) for name, value in trace.items()} == {
        "experts": (2, 3, 2, 3), "weights": (2, 3, 2, 3), "loads": (16,), "output": (2, 3, 5),
    }  # fmt: skip
    assert trace["loads"].sum() == 2 * 3 * 2 * 3


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # by torch
def test_compiles_and_runs_in_mixed_precision():
    torch.compiler.reset()
    layer, x = make().float(), torch.linspace(-1, 1, 30).view(2, 3, 5)
    expected = layer(x)
    assert_close(torch.compile(layer, fullgraph=True, backend="aot_eager")(x), expected)
    with torch.autocast("cpu", torch.bfloat16):
        assert_close(layer(x).float(), expected, rtol=0.1, atol=0.05)


def test_keeps_no_copies_of_experts():
    """Of 16 choices of 64 features the numbers are kept, not the 16 x 2 rows."""
    layer = PEER(64, num_sub_keys=8, top_k=8, num_heads=2)
    x = torch.ones(1, 10, 64, requires_grad=True)
    assert saved_bytes(layer, lambda: layer(x)) < 4 * 10 * 16 * 64


def test_multiplications():
    assert make().multiplications == 2 * 6 * 5 + 2 * 2 * 4 * 3 + 2 * 2 * 3 * 5


def test_bad_arguments():
    with pytest.raises(UserError, match="PEER: query_features must be even; got 5"):
        PEER(5)
    with pytest.raises(UserError, match="PEER: num_heads must be at least 1; got 0"):
        make(num_heads=0)
