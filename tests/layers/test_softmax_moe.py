import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.layers.softmax_moe import SoftmaxMoE


def make(**options):
    layer = SoftmaxMoE(
        5, num_experts=6, expert_features=4, top_k=3, generator=torch.Generator().manual_seed(0),
        **options,
    )  # fmt: skip
    return layer.double()


def test_renormalised_before_is_after():
    """Footnote 4 of csordas2023, for the whole layer and its gradients."""
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    before, after = make(route_norm=True), make(softmax="after")
    first, second = before(x).answer, after(x).answer
    assert_close(first, second)
    gradients = [
        torch.autograd.grad(output.square().sum(), list(layer.parameters()))
        for layer, output in ((before, first), (after, second))
    ]
    assert_close(*gradients)
    assert not torch.allclose(make()(x).answer, first)


def test_without_renormalisation_weights_are_probabilities_of_all():
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    routing = make().route(x)
    p = routing.logits.exp() / routing.logits.exp().sum(-1, keepdim=True)
    assert_close(routing.weight, p.sort(-1, descending=True).values[:, :3])
    assert (routing.weight.sum(-1) < 1).all()


def test_bad_arguments():
    with pytest.raises(UserError, match="softmax must be one of before, after; got 'never'"):
        make(softmax="never")
