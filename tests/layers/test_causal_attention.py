import cmath
import math

import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.layers.causal_attention import CausalAttention

SEQ, FEATURES, HEADS = 6, 8, 2
WIDTH = FEATURES // HEADS


def make(positions, seed=0):
    generator = torch.Generator().manual_seed(seed)
    layer = CausalAttention(
        FEATURES, HEADS, positions=positions, generator=generator, dtype=torch.float64
    )
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, 0.1, 0.5, generator=generator)
    return layer


def draw(*shape, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def rotate(vector, position):
    """Turn each pair of channels as a complex number."""
    turned = []
    for pair in range(WIDTH // 2):
        angle = cmath.exp(1j * position * 10_000 ** (-2 * pair / WIDTH))
        a, b = vector[2 * pair], vector[2 * pair + 1]
        turned += [a * angle.real - b * angle.imag, a * angle.imag + b * angle.real]
    return torch.stack(turned)


def wave(distance):
    channels = []
    for pair in range(FEATURES // 2):
        angle = distance * 10_000 ** (-2 * pair / FEATURES)
        channels += [math.sin(angle), math.cos(angle)]
    return torch.tensor(channels, dtype=torch.float64)


def logit(layer, head, h, i, j):
    rows = slice(head * WIDTH, (head + 1) * WIDTH)
    query_map, key_map, _ = (part[rows] for part in layer.weight_in.chunk(3))
    query, key = query_map @ h[i], key_map @ h[j]
    if layer.positions == "rotary":
        value = rotate(query, i) @ rotate(key, j)
    elif layer.positions == "none":
        value = query @ key
    else:
        by_position = layer.weight_position[rows] @ wave(i - j)
        value = (query + layer.content_bias[head]) @ key
        value = value + (query + layer.position_bias[head]) @ by_position
    return value / math.sqrt(WIDTH)


@pytest.mark.parametrize("positions", ["rotary", "relative", "none"])
def test_equals_the_equation_entry_by_entry(positions):
    layer, x = make(positions), draw(1, SEQ, FEATURES)
    x.requires_grad_()
    outputs = []
    for i in range(SEQ):
        heads = []
        for head in range(HEADS):
            scores = torch.stack([logit(layer, head, x[0], i, j) for j in range(i + 1)]).softmax(0)
            rows = slice(head * WIDTH, (head + 1) * WIDTH)
            value_map = layer.weight_in.chunk(3)[2][rows]
            heads.append(sum(scores[j] * (value_map @ x[0, j]) for j in range(i + 1)))
        outputs.append(layer.weight_out @ torch.cat(heads))
    expected, output = torch.stack(outputs), layer(x).answer[0]
    assert_close(output, expected)
    leaves = [x, *layer.parameters()]
    actual = torch.autograd.grad(output.square().sum(), leaves, retain_graph=True)
    assert_close(actual, torch.autograd.grad(expected.square().sum(), leaves))


def test_no_weight_is_on_the_future():
    weights = make("rotary").weights(draw(2, SEQ, FEATURES))
    assert not weights.triu(1).any()
    assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))


def test_step_by_step_is_the_whole():
    layer, x = make("relative"), draw(2, SEQ, FEATURES)
    state, answers = layer.initial_state(2), []
    for step in range(SEQ):
        output = layer(x[:, step : step + 1], state=state)
        state = output.state
        answers.append(output.answer)
        assert state.keys.shape == (2, HEADS, step + 1, WIDTH)
    assert_close(torch.cat(answers, 1), layer(x).answer)


def test_dropout_acts_in_training_only():
    layer, x = make("rotary"), draw(2, SEQ, FEATURES)
    layer.dropout = 1.0
    assert not layer(x).answer.any()
    assert layer.eval()(x).answer.any()


def test_bad_arguments():
    with pytest.raises(UserError, match="even number of features per head; got 3"):
        CausalAttention(6, 2)
    with pytest.raises(UserError, match="positions must be one of rotary, relative, none"):
        CausalAttention(8, positions="absolute")
