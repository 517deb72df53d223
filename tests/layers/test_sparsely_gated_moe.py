import pytest
import torch
from torch.testing import assert_close

from wug.layers.sparsely_gated_moe import SparselyGatedMoE


def make(**options):
    layer = SparselyGatedMoE(
        5, num_experts=6, expert_features=4, top_k=2, generator=torch.Generator().manual_seed(0),
        **options,
    )  # fmt: skip
    return layer.double()


def draw(*shape):
    generator = torch.Generator().manual_seed(1)
    return torch.randn((*shape, 5), generator=generator, dtype=torch.float64)


def test_noise_has_the_deviation_of_softplus():
    """W_3 x + N(0, 1) softplus(W_4 x), of which the choice is seen; drawn again here."""
    layer, x = make(), draw(3, 4)
    torch.manual_seed(5)
    routing = layer.route(x)
    torch.manual_seed(5)
    noise = torch.randn(3, 4, 6, dtype=torch.float64)
    size = torch.log(1 + torch.exp(x @ layer.router.weight_noise.T))
    noisy = x @ layer.router.weight.T + noise * size
    best = noisy.topk(2)
    assert torch.equal(routing.index, best.indices)
    assert_close(routing.weight, best.values.softmax(-1))


def test_no_noise_when_not_training():
    layer, x = make().eval(), draw(3, 4)
    assert torch.equal(layer(x).answer, layer(x).answer)
    assert_close(layer.route(x).index, (x @ layer.router.weight.T).topk(2).indices)


def test_variation():
    """Eq. 7.13 with CV = deviation / mean, of the weights that were given out."""
    layer, x = make().eval(), draw(3, 4)
    routing = layer.route(x)
    total = torch.zeros(6, dtype=torch.float64)
    for experts, weights in zip(
        routing.index.flatten(0, 1).tolist(), routing.weight.flatten(0, 1), strict=True
    ):
        for expert, weight in zip(experts, weights, strict=True):
            total[expert] += weight
    expected = total.std(correction=0) / total.mean()
    assert_close(routing.terms["variation"], expected)


def test_all_weights_learn_in_training():
    layer = make()
    output = layer(draw(3, 4))
    (output.answer.square().sum() + output.terms["variation"]).backward()
    assert all(one.grad.any() for one in layer.parameters())


def test_initial_weights():
    layer = SparselyGatedMoE(
        64, num_experts=32, expert_features=50, generator=torch.Generator().manual_seed(0)
    )
    assert layer.weight_in.std().item() == pytest.approx((2 / 64) ** 0.5, rel=0.02)
    assert layer.weight_out.std().item() == pytest.approx((2 / 50) ** 0.5, rel=0.02)
