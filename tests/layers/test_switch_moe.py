import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.layers.switch_moe import SwitchMoE


def make(**options):
    options = {"num_experts": 3, "expert_features": 4, "dropout": 0.0} | options
    layer = SwitchMoE(5, generator=torch.Generator().manual_seed(0), **options)
    return layer.double()


def draw(*shape):
    generator = torch.Generator().manual_seed(1)
    return torch.randn((*shape, 5), generator=generator, dtype=torch.float64)


def test_one_expert_with_its_probability():
    layer, x = make(), draw(4)
    p = (x @ layer.router.weight.T).softmax(-1)
    expected = []
    for token, probabilities in zip(x, p, strict=True):
        e = int(probabilities.argmax())
        hidden = torch.relu(token @ layer.weight_in[e])
        expected.append(probabilities[e] * (hidden @ layer.weight_out[e]))
    assert_close(layer(x).answer, torch.stack(expected))


def test_load_balance():
    """Eqs. 7.14-7.16 of csordas2023."""
    layer, x = make(), draw(3, 5)
    p = (x.flatten(0, 1) @ layer.router.weight.T).softmax(-1)
    f = torch.stack([(p.argmax(-1) == i).double().mean() for i in range(3)])
    assert_close(layer(x).terms["load_balance"], 3 * f @ p.mean(0))


def test_capacity():
    """At most mu |B| / N_E tokens for each expert; later ones get nothing."""
    layer, x = make(capacity_factor=1.0), draw(2, 6)
    routing, free = layer.route(x), make().route(x)
    assert torch.equal(routing.index, free.index)
    taken = [0, 0, 0]
    for expert, weight, full in zip(
        routing.index.flatten().tolist(), routing.weight.flatten(), free.weight.flatten(),
        strict=True,
    ):  # fmt: skip
        taken[expert] += 1
        assert weight == (full if taken[expert] <= 4 else 0)
    assert max(taken) > 4
    output = layer(x).answer.flatten(0, 1)
    assert not output[routing.weight.flatten() == 0].any()
    # Padding takes no room, and is not counted in |B| either.
    valid = torch.arange(6).expand(2, 6) < 3
    assert_close(layer(x, valid).answer[valid], layer(x[:, :3]).answer.flatten(0, 1))


def test_dropout_in_the_experts_can_be_switched_off():
    x = draw(2, 3)
    assert SwitchMoE(5).dropout == 0.4
    off, on = make(), make(dropout=0.4)
    assert torch.equal(off(x).answer, off(x).answer)
    assert not torch.equal(on(x).answer, on(x).answer)
    assert_close(on.eval()(x).answer, off.eval()(x).answer)


def test_initial_weights():
    """sqrt(0.1 / G) for what comes out of an expert of G units, not sqrt(2 / d_ff)."""
    layer = SwitchMoE(
        64, num_experts=32, expert_features=50, generator=torch.Generator().manual_seed(0)
    )
    assert layer.weight_out.std().item() == pytest.approx((0.1 / 50) ** 0.5, rel=0.02)
    assert layer.weight_in.std().item() == pytest.approx((0.1 / 64) ** 0.5, rel=0.02)
    assert layer.router.weight.std().item() == pytest.approx((0.1 / 64) ** 0.5, rel=0.05)


def test_bad_arguments():
    with pytest.raises(UserError, match="SwitchMoE: capacity_factor must be at least 0; got -1"):
        make(capacity_factor=-1)
