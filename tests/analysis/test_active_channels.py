import numpy as np
import pytest
import torch

from wug.analysis.active_channels import active_channels, count_active
from wug.core.errors import UserError
from wug.layers.feed_forward import FeedForward
from wug.layers.sigma_moe import SigmaMoE
from wug.layers.top_k_mlp import TopKMLP
from wug.models.moeut import MoEUT
from wug.models.transformer_xl import TransformerXL
from wug.tasks.language.wug_test import WugTest

TASK = WugTest(length=8, num_blocks=3, train_bytes=1_000, held_out_bytes=200)


def drawn(seed=0):
    return torch.Generator().manual_seed(seed)


def test_units_of_a_dense_block_are_counted():
    layer = FeedForward(4, hidden_features=9, generator=drawn())
    x = torch.randn(7, 4, generator=drawn(1))
    units = [*zip(layer.weight_in.detach(), layer.bias_in.detach(), strict=True)]
    expected = [sum(float(row @ x_i + bias) > 0 for row, bias in units) for x_i in x]
    assert count_active(layer, x).tolist() == expected


def test_units_that_are_not_kept_do_not_count():
    layer = TopKMLP(4, hidden_features=9, top_k=2, generator=drawn())
    assert count_active(layer, torch.randn(7, 4, generator=drawn(1))).max() <= 2


def test_units_of_the_chosen_experts_are_counted():
    layer = SigmaMoE(4, num_experts=3, expert_features=5, top_k=2, generator=drawn()).eval()
    x = torch.randn(7, 4, generator=drawn(1))
    expected = [
        sum(
            int(((x_i @ layer.weight_in[expert]) > 0).sum())
            for expert in layer.trace(x_i.view(1, -1))["experts"][0]
        )
        for x_i in x
    ]
    assert count_active(layer, x, layer.route(x).index).tolist() == expected


def test_a_network_is_read_layer_by_layer():
    model = TransformerXL(256, features=8, num_layers=2, num_heads=2, hidden_features=12,
                          memory_length=4, generator=drawn())  # fmt: skip
    found = active_channels(model, TASK)
    assert found.layers == ("layers.0.feed_forward", "layers.1.feed_forward")
    np.testing.assert_array_equal(found.total, [12, 12])
    assert ((found.mean > 0) & (found.mean < 12) & (found.deviation > 0)).all()
    with torch.no_grad():
        for layer in model.layers:
            layer.feed_forward.bias_in.fill_(-1e3)
    assert active_channels(model, TASK).mean.tolist() == [0, 0]


def test_experts_that_are_applied_again_count_again():
    """MoEUT chooses experts by normalised tokens, and lets them read the others."""
    model = MoEUT(256, features=8, group_size=1, num_repeats=2, num_experts=4, expert_features=4,
                  top_k=2, generator=drawn())  # fmt: skip
    found = active_channels(model, TASK)
    assert found.layers == ("layers.0.feed_forward",) and found.total.tolist() == [16]
    layer, seen = model.layers[0].feed_forward, []
    layer.router.register_forward_hook(lambda module, inputs, routing: seen.append(routing))
    mix = layer.mix
    layer.mix = lambda x, routing: (seen.append(x), mix(x, routing))[1]
    counts = []
    for index in range(TASK.source(1).num_parts("validation")):
        batch = TASK.source(1).part("validation", index)
        seen.clear()
        with torch.no_grad():
            model.eval()(batch["inputs"])
        for routing, x in zip(seen[::2], seen[1::2], strict=True):
            for row, column in batch["mask"].nonzero().tolist():
                experts = layer.weight_in[routing.index[row, column]]
                counts.append(int(((x[row, column] @ experts) > 0).sum()))
    np.testing.assert_allclose(found.mean, [np.mean(counts)])


def test_needs_feed_forward_layers():
    with pytest.raises(UserError, match="no feed-forward layers"):
        active_channels(torch.nn.Linear(1, 1), TASK)
