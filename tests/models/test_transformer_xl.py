import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.models.transformer_xl import FEED_FORWARDS, TransformerXL, matched_hidden_features

OPTIONS = {
    "top_k_mlp": {"top_k": 3},
    "product_key_memory": {"num_sub_keys": 3, "top_k": 2, "feed_forward_heads": 3},
    "peer": {"num_sub_keys": 3, "top_k": 2},
    **{
        name: {"num_experts": 4, "expert_features": 6, "top_k": 2}
        for name in FEED_FORWARDS
        if name.endswith("moe")
    },
}


def make(feed_forward="feed_forward", seed=0, **options):
    options = OPTIONS.get(feed_forward, {}) | options
    sizes = {"features": 8, "num_layers": 2, "num_heads": 2, "memory_length": 5}
    generator = torch.Generator().manual_seed(seed)
    model = TransformerXL(13, feed_forward=feed_forward, generator=generator, **(sizes | options))
    return model.double()


def draw(rows=2, length=12):
    return torch.randint(13, (rows, length), generator=torch.Generator().manual_seed(1))


def layer_norm(x, norm):
    x = (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + norm.eps).sqrt()
    return x * norm.weight + norm.bias


def reference(model, tokens):
    """The equations of the docstring, layer by layer, for one segment without memory."""
    x = model.embedding[tokens]
    for layer in model.layers:
        x = x + layer.attention(layer_norm(x, layer.attention_norm))
        dense = layer.feed_forward
        hidden = torch.relu(layer_norm(x, layer.feed_forward_norm) @ dense.weight_in.T)
        x = x + hidden @ dense.weight_out.T
    return layer_norm(x, model.norm) @ model.weight_out.T


def test_equals_the_equations():
    model, tokens = make(), draw()
    output = model(tokens)
    assert_close(output.answer, reference(model, tokens))
    assert output.terms == output.statistics == {}


@pytest.mark.parametrize("feed_forward", FEED_FORWARDS)
def test_segments_with_memory_are_the_whole_text(feed_forward):
    """With a memory as long as the text, segments give what one long segment gives."""
    model, tokens = make(feed_forward, test_memory_length=12).eval(), draw()
    expected, state, answers = model(tokens).answer, None, []
    for segment in tokens.split([3, 1, 5, 3], 1):
        output = model(segment, state)
        state = output.state
        answers.append(output.answer)
    assert_close(torch.cat(answers, 1), expected)
    assert state["memory"].shape == (2, 2, 12, 8)


@pytest.mark.parametrize("feed_forward", FEED_FORWARDS)
def test_the_future_is_not_seen(feed_forward):
    model, tokens = make(feed_forward).eval(), draw()
    other = tokens.clone()
    other[:, 7:] = (other[:, 7:] + 1) % 13
    first, second = model(tokens).answer, model(other).answer
    assert_close(first[:, :7], second[:, :7])
    assert not torch.allclose(first[:, 7:], second[:, 7:])


def test_initial_state_is_that_of_a_text_that_begins():
    model, tokens = make().eval(), draw()
    state = model.initial_state(2)
    assert state["memory"].shape == (2, 2, 20, 8) and state["remembered"].tolist() == [0, 0]
    output = model(tokens, state)
    assert_close(output.answer, model(tokens).answer)
    assert output.state["memory"].shape == state["memory"].shape  # shapes stay
    assert output.state["remembered"].tolist() == [12, 12]
    assert model.train().initial_state(3)["memory"].shape == (3, 2, 5, 8)


def test_a_row_begins_anew_by_itself():
    model, tokens = make().eval(), draw()
    state = model(tokens[:, :6], model.initial_state(2)).state
    begin = model.initial_state(2)
    mixed = {name: torch.stack((begin[name][0], state[name][1])) for name in state}
    answer = model(tokens[:, 6:], mixed).answer
    assert_close(answer[:1], model(tokens[:1, 6:]).answer)
    assert_close(answer[1:], model(tokens[1:]).answer[:, 6:])


def test_memory_is_shorter_in_training_and_has_no_gradient():
    model, tokens = make(), draw()
    output = model(tokens)
    assert output.state["memory"].shape == (2, 2, 5, 8)
    assert not output.state["memory"].requires_grad
    assert_close(output.state["memory"][:, 0], model.embedding[tokens[:, -5:]])
    assert model.eval()(tokens).state["memory"].shape == (2, 2, 12, 8)
    assert model.test_memory_length == 20
    assert make(memory_length=0, test_memory_length=0)(tokens).state["memory"].shape[2] == 0


def test_longer_memory_sees_further():
    model, tokens = make(num_layers=1, test_memory_length=9).eval(), draw()
    other = tokens.clone()
    other[:, 0] = (other[:, 0] + 1) % 13

    def last(tokens):
        state = model(tokens[:, :9]).state
        return model(tokens[:, 9:10], state).answer

    assert not torch.allclose(last(tokens), last(other))
    model.test_memory_length = 8
    assert_close(last(tokens), last(other))


@pytest.mark.parametrize("feed_forward", FEED_FORWARDS)
def test_learns_by_heart(feed_forward):
    model, tokens = make(feed_forward), draw()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    torch.manual_seed(0)
    losses = []
    for _ in range(60):
        output = model(tokens[:, :-1])
        loss = F.cross_entropy(output.answer.flatten(0, 1), tokens[:, 1:].flatten())
        optimiser.zero_grad()
        (loss + 0.001 * sum(output.terms.values())).backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[0] > 0.8 * math.log(13) and losses[-1] < 0.5


def test_terms_are_summed_over_layers():
    model, tokens = make("sigma_moe"), draw()
    entropies = []
    for layer in model.layers:
        layer.feed_forward.register_forward_hook(
            lambda module, inputs, output: entropies.append(output.terms["entropy"])
        )
    output = model(tokens)
    assert len(entropies) == 2
    assert_close(output.terms, {"entropy": sum(entropies)})


def test_update_of_balanced_layers():
    """A network in which only one layer is balanced by a bias."""
    model, tokens = make("loss_free_moe"), draw()
    model.layers[0].feed_forward = make("sigma_moe").layers[0].feed_forward
    output = model(tokens)
    assert list(output.statistics) == ["layers.1.feed_forward.router.load"]
    changed = model.update(dict(model.named_buffers()), output.statistics)
    assert list(changed) == ["layers.1.feed_forward.router.expert_bias"]
    assert model.update(dict(model.named_buffers()), model.eval()(tokens).statistics) == {}


def test_trace():
    model, tokens = make("sigma_moe").eval(), draw()
    state = model(tokens[:, :4]).state
    trace = model.trace(tokens[:, 4:], state)
    assert {name: tuple(value.shape) for name, value in trace.items()} == {
        "states": (3, 2, 8, 8),
        "attention": (2, 2, 2, 8, 12),
        "experts": (2, 2, 8, 2),
        "weights": (2, 2, 8, 2),
        "logits": (2, 8, 13),
    }
    assert_close(trace["logits"], model(tokens[:, 4:], state).answer)
    assert "experts" not in make().trace(tokens)


@pytest.mark.parametrize(
    ("features", "num_experts", "published"), [(412, 16, 2053), (512, 16, 2053), (1024, 32, 4110)]
)
def test_matched_width_is_the_published_one(features, num_experts, published):
    """Tables F.2 and F.3 of csordas2023; 4,109.49 units would match the largest exactly."""
    options = {"num_experts": num_experts, "expert_features": 128}
    matched = matched_hidden_features("sigma_moe", features, **options)
    assert matched == (published if features < 1024 else published - 1)


@pytest.mark.parametrize("feed_forward", [one for one in FEED_FORWARDS if one != "feed_forward"])
def test_matched_to_another_network(feed_forward):
    def count(model):
        return sum(parameter.numel() for parameter in model.parameters())

    sparse, dense = make(feed_forward), make(matched_to=feed_forward, **OPTIONS[feed_forward])
    one_unit = 2 * (2 * 8 + 1)
    assert abs(count(dense) - count(sparse)) <= one_unit / 2


def test_number_of_parameters_of_the_published_networks():
    """Table F.2 of csordas2023: 47M on WikiText-103 with 8,000 pieces, 41M on enwik8."""
    for tokens, features, heads, width, layers, millions in (
        (8000, 412, 10, 41, 16, 47), (256, 512, 8, 64, 12, 41)
    ):  # fmt: skip
        model = TransformerXL(
            tokens, features=features, num_heads=heads, head_features=width, num_layers=layers,
            feed_forward="sigma_moe", num_experts=16, expert_features=128, device="meta",
        )  # fmt: skip
        count = sum(parameter.numel() for parameter in model.parameters())
        assert round(count / 1e6) == millions


def test_initial_weights():
    model = TransformerXL(
        50,
        features=64,
        num_layers=3,
        hidden_features=200,
        generator=torch.Generator().manual_seed(0),
    )
    for layer in model.layers:
        dense = layer.feed_forward
        for weight, inputs in ((dense.weight_in, 64), (dense.weight_out, 200)):
            assert weight.std().item() == pytest.approx(math.sqrt(2 / (inputs * 3)), rel=0.05)
        assert not dense.bias_in.any() and not dense.bias_out.any()
    bound = math.sqrt(6 / 114)
    assert 0.95 * bound < model.embedding.abs().max() <= bound


def test_dropout():
    """With all dropped nothing but the last bias is left; experts have a share of their own."""
    model, tokens = make(dropout=1.0), draw()
    assert_close(model(tokens).answer, model.bias_out.expand(2, 12, 13))
    assert make(dropout=0.3).layers[0].feed_forward.dropout == 0.3
    assert make("sigma_moe", dropout=0.3).layers[0].feed_forward.dropout == 0
    assert make("switch_moe", dropout=0.3).layers[0].feed_forward.dropout == 0.4
    assert make("switch_moe", hidden_dropout=0.0).layers[0].feed_forward.dropout == 0


def test_stackable_without_experts():
    assert make().stackable and not make("sigma_moe").stackable


def test_mixed_precision():
    model, tokens = make("sigma_moe").float(), draw()
    with torch.autocast("cpu", torch.bfloat16):
        first = model(tokens[:, :6])
        output = model(tokens[:, 6:], first.state)
    loss = F.cross_entropy(output.answer.flatten(0, 1).float(), tokens[:, 6:].flatten())
    loss.backward()
    assert all(one.grad is None or one.grad.isfinite().all() for one in model.parameters())
    assert isinstance(model.norm, nn.LayerNorm)


def test_bad_arguments():
    with pytest.raises(UserError, match="unknown feed-forward layer 'sigma'.*did you mean"):
        TransformerXL(5, feed_forward="sigma")
    with pytest.raises(UserError, match="sigma_moe has no option experts; it has .*num_experts"):
        TransformerXL(5, feed_forward="sigma_moe", experts=3)
    with pytest.raises(UserError, match="matched_to is for a dense network"):
        TransformerXL(5, feed_forward="sigma_moe", matched_to="sigma_moe")
    with pytest.raises(UserError, match="TransformerXL: memory_length must be at least 0; got -1"):
        TransformerXL(5, memory_length=-1)
