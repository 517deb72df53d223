import pytest
import torch
from torch import nn

from wug.analysis.language_cost import language_cost, saved_bytes
from wug.core.errors import UserError
from wug.models.transformer_xl import TransformerXL
from wug.tasks.language.wug_test import WugTest

TASK = WugTest(length=8, train_bytes=1_000)
SIZES = {"features": 8, "num_layers": 2, "num_heads": 2, "memory_length": 8}
EXPERTS = {"num_experts": 16, "expert_features": 8, "top_k": 4}


def cost(**options):
    network = TransformerXL(256, **SIZES, **EXPERTS, **options)
    return language_cost(network, TASK, rows=2, repeats=1)


def test_multiplications_are_those_of_the_layers():
    dense, sparse = cost(matched_to="sigma_moe"), cost(feed_forward="sigma_moe")
    width = TransformerXL(256, **SIZES, **EXPERTS, matched_to="sigma_moe").layers[0]
    hidden = width.feed_forward.weight_in.shape[0]
    # Two products in each of two layers, two FLOPs for each multiplication.
    assert dense["mlp_flops_per_token"] == 2 * 2 * 2 * 8 * hidden
    # Four experts of 8 units, and the choice among 16.
    assert sparse["mlp_flops_per_token"] == 2 * 2 * (2 * 4 * 8 * 8 + 16 * 8)
    # Attention and the read-out cost both the same.
    rest = [one["flops_per_token"] - one["mlp_flops_per_token"] for one in (dense, sparse)]
    assert rest[0] == rest[1] > 0
    assert sparse["activation_bytes"] < dense["activation_bytes"]
    assert dense["tokens_per_second"] > 0


@pytest.mark.parametrize("key", ["product_key_memory", "peer"])
def test_rows_that_are_chosen_count(key):
    """Torch counts no FLOPs of embeddings."""
    network = TransformerXL(
        256, **SIZES, feed_forward=key, num_sub_keys=5, top_k=3, feed_forward_heads=2
    )
    found = language_cost(network, TASK, rows=2, repeats=1)
    expected = sum(layer.feed_forward.multiplications for layer in network.layers)
    assert found["mlp_flops_per_token"] == 2 * expected


def test_saved_bytes_are_those_of_a_known_network():
    network = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 1))
    x = torch.randn(10, 4)
    # The first layer keeps its input, the rectifier its output, which the second layer shares.
    assert saved_bytes(network, lambda: network(x).sum()) == 4 * (10 * 4 + 10 * 6)


def test_the_network_is_left_as_it_was():
    network = TransformerXL(256, **SIZES).eval()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    with torch.no_grad():  # as in a training's last step
        language_cost(network, TASK, rows=1, repeats=1)
    assert not network.training
    assert all(torch.equal(before[name], value) for name, value in network.state_dict().items())
    assert all(parameter.grad is None for parameter in network.parameters())
    with pytest.raises(UserError, match="no parameters"):
        language_cost(nn.ReLU(), TASK)
