import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.layers.causal_attention import CausalAttention
from wug.layers.gated_delta_rule import GatedDeltaRule
from wug.models.causal_stack import CausalStack
from wug.tasks.memory.multi_query_recall import MultiQueryRecall

SIZES = {"features": 8, "num_heads": 2}


def make(seed=0, **options):
    generator = torch.Generator().manual_seed(seed)
    return CausalStack(4, 3, generator=generator, dtype=torch.float64, **(SIZES | options))


def draw(*shape, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("mixer", ["attention", "delta_rule"])
@pytest.mark.parametrize("hidden_features", [12, 0])
def test_is_the_composition_of_its_parts(mixer, hidden_features):
    model, x = make(mixer=mixer, hidden_features=hidden_features), draw(2, 5, 4)
    h = x @ model.weight_in + model.bias_in
    for block in model.blocks:
        h = h + block.mixer(F.layer_norm(h, (8,))).answer
        if hidden_features:
            part = block.feed_forward
            hidden = (F.layer_norm(h, (8,)) @ part.weight_in.T + part.bias_in).relu()
            h = h + hidden @ part.weight_out.T + part.bias_out
    expected = F.layer_norm(h, (8,)) @ model.weight_out.T + model.bias_out
    assert_close(model(x).answer, expected)


def test_options_reach_the_mixers():
    attention = make(positions="relative").blocks[0].mixer
    assert isinstance(attention, CausalAttention) and attention.positions == "relative"
    rule = (
        make(mixer="delta_rule", gated=False, negative_eigenvalues=True, convolution=2, chunk=5)
        .blocks[1]
        .mixer
    )
    assert isinstance(rule, GatedDeltaRule) and not rule.gated and rule.negative_eigenvalues
    assert (rule.convolution, rule.chunk) == (2, 5)


def test_tokens_are_embedded():
    model, tokens = make(tokens=True), torch.tensor([[1, 3, 0]])
    output = model(tokens)
    assert output.answer.shape == (1, 3, 3)
    assert_close(model.trace(tokens)["columns"][0], model.weight_in[tokens])
    with pytest.raises(UserError, match=r"tokens \(batch, seq\), int64"):
        model(draw(1, 3, 4))


def test_trace():
    model, x = make(), draw(2, 5, 4)
    first = model(x[:, :2])
    trace = model.trace(x[:, 2:], state=first.state)
    assert trace["attention"].shape == (2, 2, 2, 3, 5)
    assert trace["columns"].shape == (3, 2, 3, 8)
    assert "attention" not in make(mixer="delta_rule").trace(x)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "steps"),
    [({}, 500), ({"positions": "relative"}, 400), ({"mixer": "delta_rule", "chunk": 16}, 700)],
    ids=["rotary", "relative", "delta_rule"],
)
def test_learns_to_recall(options, steps):
    task = MultiQueryRecall(
        vocabulary=40, train_sizes=((16, 2),), ood_validation_sizes=((24, 4),),
        test_sizes=((32, 6),),
    )  # fmt: skip
    model = CausalStack(
        40, 40, tokens=True, features=32, generator=torch.Generator().manual_seed(0), **options
    )
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(steps):
        batch = task.batch("train", step=step, size=64)
        logits = model(batch.inputs).answer[batch.asked]
        loss = F.cross_entropy(logits, batch.targets[batch.asked])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    batch = task.batch("validation", size=200)
    right = model(batch.inputs).answer.argmax(-1) == batch.targets
    assert right[batch.asked].float().mean() > 0.95


def test_bad_arguments():
    with pytest.raises(UserError, match="mixer must be one of attention, delta_rule; got 'lstm'"):
        make(mixer="lstm")
    with pytest.raises(UserError, match="state must have 2 parts; got 1"):
        make()(draw(1, 2, 4), state=make().initial_state(1)[:1])
