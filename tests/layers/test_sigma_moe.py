import math

import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.layers.sigma_moe import SigmaMoE


def make(**options):
    options = {"num_experts": 6, "expert_features": 4, "top_k": 2} | options
    layer = SigmaMoE(5, generator=torch.Generator().manual_seed(0), **options)
    return layer.double()


def draw(*shape):
    generator = torch.Generator().manual_seed(1)
    return torch.randn((*shape, 5), generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("dropped_for", ["batch", "token"])
def test_dropped_experts_are_not_chosen_and_others_not_rescaled(dropped_for):
    """Eq. 7.21 of csordas2023: sel(x) = sigmoid(W x) m, without the 1 / (1 - delta) of dropout."""
    layer, x = make(expert_dropout=0.5, dropped_for=dropped_for), draw(3, 50)
    torch.manual_seed(0)
    for _ in range(20):
        routing = layer.route(x)
        scores = routing.logits.sigmoid()
        plain = scores.gather(-1, routing.index)
        chosen = routing.weight > 0
        assert_close(routing.weight[chosen], plain[chosen])
    assert_close(layer.eval().route(x).weight, scores.topk(2).values)


def test_experts_are_dropped_for_the_batch_or_for_each_token():
    x = draw(2, 200)
    torch.manual_seed(0)
    used = []
    for dropped_for in ("batch", "token"):
        layer = make(expert_dropout=0.5, dropped_for=dropped_for, top_k=1)
        masks = [layer.router.kept(layer.route(x).logits) for _ in range(400)]
        assert torch.stack(masks).double().mean().item() == pytest.approx(0.5, abs=0.05)
        routings = [layer.route(x) for _ in range(50)]
        counts = [len(one.index[one.weight > 0].unique()) for one in routings]
        used.append(sum(counts) / len(counts))
    assert masks[0].shape == (2, 200, 6)
    # With one mask for all, about half of the experts are left; with one each, all are used.
    assert used[0] < 4 and used[1] == 6


def test_too_few_experts_survive():
    """Whoever is chosen then counts for nothing: no NaN, no expert that was dropped."""
    layer, x = make(expert_dropout=1.0), draw(2, 3)
    output = layer(x)
    assert not output.answer.any()
    output.answer.sum().backward()
    assert layer.router.weight.grad.isfinite().all()


def test_entropy_sees_all_experts_whether_dropped_or_not():
    """Eqs. 7.19-7.20: of the raw logits, by a softmax, over the mean of the tokens."""
    layer, x = make(expert_dropout=0.5), draw(3, 4)
    logits = (x @ layer.router.weight.T).flatten(0, 1)
    p = (logits.exp() / logits.exp().sum(-1, keepdim=True)).mean(0)
    assert_close(layer(x).terms["entropy"], (p * p.log()).sum())


def test_entropy_evens_out_the_choice():
    """Followed downhill, the term makes the mean choice uniform, not that of each token."""
    layer, x = make(), draw(8, 8)
    with torch.no_grad():
        layer.router.weight += 2 * torch.randn(
            6, 5, generator=torch.Generator().manual_seed(2), dtype=torch.float64
        )
    optimiser = torch.optim.Adam([layer.router.weight], lr=0.05)
    before = layer(x).terms["entropy"].item()
    for _ in range(200):
        optimiser.zero_grad()
        term = layer(x).terms["entropy"]
        term.backward()
        optimiser.step()
    assert before > -math.log(6) + 0.1
    assert term.item() == pytest.approx(-math.log(6), abs=0.01)
    probabilities = layer.route(x).logits.softmax(-1)
    assert probabilities.amax(-1).mean() > 0.4  # tokens still have opinions


@pytest.mark.parametrize("expert_init", ["dense", "expert"])
def test_initial_weights(expert_init):
    """Section 7.4: as a dense block of all units, sqrt(2 / (d n)) and sqrt(2 / (d_ff n))."""
    layer = SigmaMoE(
        64, num_experts=32, expert_features=50, num_layers=7, expert_init=expert_init,
        generator=torch.Generator().manual_seed(0),
    )  # fmt: skip
    inputs = 50 * 32 if expert_init == "dense" else 50
    first, second = math.sqrt(2 / (64 * 7)), math.sqrt(2 / (inputs * 7))
    assert layer.weight_in.std().item() == pytest.approx(first, rel=0.02)
    assert layer.weight_out.std().item() == pytest.approx(second, rel=0.02)
    lengths = layer.router.weight.norm(dim=1)
    assert_close(lengths, lengths[:1].expand(32))
    assert layer.router.weight.std().item() == pytest.approx(first, rel=0.02)


def test_starts_with_the_variance_of_a_dense_block():
    """All experts together, each with a score of 1, are the dense block with d_ff = G N_E."""
    layer = SigmaMoE(
        64, num_experts=16, expert_features=32, top_k=16, generator=torch.Generator().manual_seed(0)
    )
    x = torch.randn(500, 64, generator=torch.Generator().manual_seed(1))
    hidden = torch.relu(torch.einsum("td,edh->teh", x, layer.weight_in))
    whole = torch.einsum("teh,ehd->td", hidden, layer.weight_out)
    # He's initialisation keeps the mean square from layer to layer.
    assert whole.square().mean().item() == pytest.approx(2 * x.square().mean().item(), rel=0.15)


def test_bad_arguments():
    with pytest.raises(UserError, match="dropped_for must be one of batch, token; got 'row'"):
        make(dropped_for="row")
    with pytest.raises(UserError, match="expert_init must be one of dense, expert; got 'zero'"):
        make(expert_init="zero")
