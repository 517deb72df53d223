import pytest
import torch
from torch import nn
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.layers.product_key_memory import ProductKeyMemory
from wug.layers.sigma_moe import SigmaMoE
from wug.models.replace_mlp import Replaced, collect_terms, replace_mlp
from wug.models.transformer import Transformer


def network():
    def block():
        return nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Dropout(0.1), nn.Linear(32, 8))

    return nn.ModuleDict({"a": block(), "b": nn.Sequential(nn.LayerNorm(8), block())})


def test_replaces_all_blocks_and_says_what_it_did():
    model = network().double().eval()
    done = replace_mlp(model, SigmaMoE, num_experts=8, expert_features=4, top_k=2)
    assert [one.name for one in done] == ["a", "b.1"]
    for one in done:
        assert one.parameters == (2 * 8 * 32 + 32 + 8, 2 * 8 * 32 + 8 * 8)
        assert one.multiplications == (2 * 8 * 32, 2 * 2 * 4 * 8 + 8 * 8)
    assert "parameters 552 -> 576 (1.04x)" in str(done[0])
    assert isinstance(model["a"], Replaced) and not model["a"].training
    x = torch.ones(3, 8, dtype=torch.float64)
    assert model["b"](x).shape == (3, 8)
    assert_close(model["a"](x), model["a"].layer(x).answer)


def test_terms_of_replaced_layers():
    model = network()
    replace_mlp(model, SigmaMoE, num_experts=8, expert_features=4, top_k=2)
    x = torch.ones(3, 8)
    with collect_terms(model) as terms:
        y = model["b"](model["a"](x))
    expected = sum(
        part.layer(inputs).terms["entropy"]
        for part, inputs in ((model["a"], x), (model["b"][1], model["b"][0](model["a"](x))))
    )
    assert_close(terms["entropy"], expected)
    (y.sum() + terms["entropy"]).backward()
    assert model["a"].layer.router.weight.grad.any()
    before = dict(terms)
    model["a"](x)
    assert terms == before  # nothing is gathered outside


def test_a_transformer_of_ours():
    model = Transformer(11, 5, features=8, hidden_features=16, num_heads=2, num_layers=2)
    done = replace_mlp(model, ProductKeyMemory, num_sub_keys=4, top_k=3, num_heads=2)
    assert len(done) == 1  # shared layers
    tokens = torch.randint(11, (4, 6), generator=torch.Generator().manual_seed(0))
    model(tokens, torch.full((4,), 6)).sum().backward()
    assert model.layers[0].feed_forward.layer.values.grad.any()


def test_nothing_to_replace():
    with pytest.raises(UserError, match="replace_mlp: Linear has no FeedForward and no nn.Seq"):
        replace_mlp(nn.Linear(2, 2), SigmaMoE)
    other = nn.Sequential(nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 3)))
    with pytest.raises(UserError):
        replace_mlp(other, SigmaMoE)
