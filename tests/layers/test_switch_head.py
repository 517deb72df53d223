import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.layers.switch_head import SwitchHead


def make(**options):
    options = {"num_experts": 3, "top_k": 2} | options
    layer = SwitchHead(8, 2, generator=torch.Generator().manual_seed(0), **options)
    return layer.double()


def draw(*shape, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn((*shape, 8), generator=generator, dtype=torch.float64)


def rotated(vector, position):
    """Half of four channels, one pair, turned by the position."""
    a, b = vector[0], vector[1]
    angle = torch.tensor(float(position), dtype=torch.float64)
    first, second = a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()
    return torch.stack((first, second, vector[2], vector[3]))


def reference(layer, x, read_by):
    """The equations of the docstring for one sequence, expert by expert."""
    heads, width, n = layer.num_heads, layer.channels, layer.num_experts
    result = [0] * len(x)
    turn = rotated if layer.rotary else lambda vector, position: vector
    for h in range(heads):
        rows = slice(h * width, (h + 1) * width)
        queries = [turn(layer.weight_query[rows] @ t, i) for i, t in enumerate(read_by)]
        keys = [turn(layer.weight_key[rows] @ t, i) for i, t in enumerate(read_by)]

        def mixed(token, chooser, select, weight, h=h):
            scores = torch.sigmoid(select[h * n : (h + 1) * n] @ chooser)
            best = sorted(range(n), key=lambda e: -scores[e].item())[: layer.top_k]
            return sum(scores[e] * (token @ weight[h * n + e]) for e in best)

        values = [
            mixed(t, c, layer.select_value, layer.weight_value)
            for t, c in zip(x, read_by, strict=True)
        ]
        for i, q in enumerate(queries):
            seen = range(i + 1) if layer.causal else range(len(x))
            logits = torch.stack([q @ keys[j] / width**0.5 for j in seen])
            read = sum(a * values[j] for a, j in zip(logits.softmax(0), seen, strict=True))
            result[i] = result[i] + mixed(read, read_by[i], layer.select_out, layer.weight_out)
    return torch.stack(result)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("rotary", [True, False])
@pytest.mark.parametrize("backend", ["loop", "blockwise"])
def test_equals_the_equations(causal, rotary, backend):
    layer = make(causal=causal, rotary=rotary, backend=backend)
    x, read_by = draw(2, 4).requires_grad_(), draw(2, 4, seed=2).requires_grad_()
    output = layer(x, read_by=read_by).answer
    expected = torch.stack([reference(layer, *both) for both in zip(x, read_by, strict=True)])
    assert_close(output, expected)
    leaves = [x, read_by, *layer.parameters()]
    own, gradients = (torch.autograd.grad(one.square().sum(), leaves) for one in (output, expected))
    assert_close(own, gradients)
    assert_close(layer(x).answer, layer(x, read_by=x).answer)


def test_rotation_depends_on_distance_alone():
    layer = make(causal=True)
    token = draw(1, 1).expand(1, 6, 8)
    weights = layer.weights(token).log()
    # All tokens are the same: logits differ by the distance of target and source only.
    logits = weights - weights.diagonal(dim1=-2, dim2=-1).unsqueeze(-1)
    assert_close(logits[0, :, 4, 2], logits[0, :, 3, 1])


def test_one_expert_with_a_score_of_one_is_plain_attention():
    layer, x = make(num_experts=1, top_k=1, rotary=False), draw(2, 5)
    weights = layer.weights(x)
    choices = [
        choice._replace(weights=torch.ones_like(choice.weights)) for choice in layer.choose(x)
    ]
    output = layer.attend(x, None, x, *choices)
    expected = sum(
        weights[:, h] @ (x @ layer.weight_value[h]) @ layer.weight_out[h] for h in range(2)
    )
    assert_close(output, expected)


def test_entropy():
    layer, x = make(), draw(2, 4)
    expected = 0
    for select in (layer.select_value, layer.select_out):
        for logits in (x @ select.T).split(3, -1):
            p = logits.softmax(-1).mean((0, 1))
            expected = expected + (p * p.log()).sum() / 4
    assert_close(layer(x).terms["attention_entropy"], expected)


def test_bad_arguments():
    with pytest.raises(UserError, match="SwitchHead: num_experts must be at least 4; got 3"):
        make(top_k=4)
    with pytest.raises(UserError, match="multiple of num_heads unless head_features is given"):
        SwitchHead(9, 2)
    assert SwitchHead(9, 2, head_features=4)(torch.ones(1, 2, 9)).answer.shape == (1, 2, 9)
