import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.functional.balance import expert_loads
from wug.functional.routing import sinkhorn
from wug.layers.sinkhorn_moe import SinkhornMoE


def make(**options):
    layer = SinkhornMoE(
        5, num_experts=4, expert_features=3, generator=torch.Generator().manual_seed(0), **options
    ).double()
    with torch.no_grad():
        layer.router.weight[:, 0] = torch.tensor([3.0, 0.0, 0.0, 0.0])  # all prefer expert 0
    return layer


def draw(*shape):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn((*shape, 5), generator=generator, dtype=torch.float64)
    return x.index_fill(-1, torch.tensor([0]), 1.0)


@pytest.mark.parametrize("top_k", [1, 2])
def test_training_is_balanced_and_inference_is_not(top_k):
    layer, x = make(top_k=top_k, num_iterations=30), draw(20, 20)
    trained = expert_loads(layer.route(x).index, 4)
    tested = expert_loads(layer.eval().route(x).index, 4)
    even = 400 * top_k / 4
    assert trained[0] < 1.3 * even
    assert tested[0] > 1.8 * even


def test_chosen_by_shares_and_weighed_by_sigmoids():
    layer, x = make(), draw(3, 4)
    logits = (x @ layer.router.weight.T).flatten(0, 1)
    routing = layer.route(x)
    chosen = sinkhorn(logits, None, 3).argmax(-1)
    assert torch.equal(routing.index.flatten(), chosen)
    assert_close(routing.weight.flatten(), logits.sigmoid()[torch.arange(12), chosen])
    routing = layer.eval().route(x)
    assert torch.equal(routing.index.flatten(), logits.argmax(-1))


def test_padding_is_not_shared_out():
    layer, x = make(), draw(2, 4)
    valid = torch.tensor([[True, True, True, False], [True, False, False, False]])
    expected = layer.route(x[valid])
    routing = layer.route(x, valid)
    assert torch.equal(routing.index[valid], expected.index)


def test_gradients_reach_the_selector():
    layer = make()
    layer(draw(3, 4)).answer.square().sum().backward()
    assert layer.router.weight.grad.any()


def test_bad_arguments():
    with pytest.raises(UserError, match="num_iterations must be at least 1; got 0"):
        make(num_iterations=0)
