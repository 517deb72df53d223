import math

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.layers.gated_delta_rule import GatedDeltaRule

SEQ, FEATURES, HEADS = 7, 6, 2
WIDTH = FEATURES // HEADS


def make(seed=0, **options):
    generator = torch.Generator().manual_seed(seed)
    return GatedDeltaRule(FEATURES, HEADS, generator=generator, dtype=torch.float64, **options)


def draw(*shape, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def slow(layer, row):
    """Apply the layer to one sequence: step by step, head by head."""
    projected = [layer.weight_in @ h for h in row]
    memories = [torch.zeros(WIDTH, WIDTH).double() for _ in range(HEADS)]
    answers = []
    for t, h in enumerate(row):
        if layer.convolution > 1:
            seen = [projected[t - layer.convolution + 1 + i] if t - layer.convolution + 1 + i >= 0
                    else torch.zeros(3 * FEATURES).double()
                    for i in range(layer.convolution)]  # fmt: skip
            mixed = sum(w * p for w, p in zip(layer.filters, seen, strict=True))
        else:
            mixed = projected[t]
        queries, keys, values = F.silu(mixed).chunk(3)
        rates = layer.weight_rates @ h
        reads = []
        for head in range(HEADS):
            part = slice(head * WIDTH, (head + 1) * WIDTH)
            q, k, v = queries[part], keys[part], values[part]
            q, k = (x / (x @ x + 1e-6).sqrt() for x in (q, k))
            beta = rates[head].sigmoid() * (2 if layer.negative_eigenvalues else 1)
            alpha = 1.0
            if layer.gated:
                time = F.softplus(rates[HEADS + head] + layer.bias_decays[head])
                alpha = (-layer.log_decay[head].exp() * time).exp()
            identity = torch.eye(WIDTH).double()
            memories[head] = alpha * memories[head] @ (
                identity - beta * torch.outer(k, k)
            ) + beta * torch.outer(v, k)
            read = memories[head] @ q
            reads.append(read / (read.square().mean() + 1e-6).sqrt() * layer.scale)
        gate = F.silu(layer.weight_gate @ h)
        answers.append(layer.weight_out @ (torch.cat(reads) * gate))
    return torch.stack(answers)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"chunk": 1},
        {"chunk": 3, "negative_eigenvalues": True},
        {"gated": False, "convolution": 1},
        {"convolution": 2},
    ],
    ids=str,
)
def test_equals_the_loop_written_reference(options):
    layer, x = make(**options), draw(2, SEQ, FEATURES)
    expected, output = torch.stack([slow(layer, row) for row in x]), layer(x).answer
    assert_close(output, expected)
    leaves = list(layer.parameters())
    actual = torch.autograd.grad(output.square().sum(), leaves)
    assert_close(actual, torch.autograd.grad(expected.square().sum(), leaves))


def test_first_decays_are_those_of_state_space_models():
    layer = GatedDeltaRule(256, 64, generator=torch.Generator().manual_seed(0))
    rates, times = layer.log_decay.exp(), F.softplus(layer.bias_decays)
    assert rates.min() >= 1 and 10 < rates.max() <= 16
    assert 0.00099 < times.min() < 0.002 and 0.05 < times.max() <= 0.101


def test_state_has_a_size_of_its_own():
    layer = make()
    sizes = [[part.shape for part in layer(draw(1, seq, FEATURES)).state] for seq in (1, 2, 40)]
    assert sizes[0] == sizes[1] == sizes[2]
    assert sizes[0] == [(1, 3, 3 * FEATURES), (1, HEADS, WIDTH, WIDTH)]


def test_rates_go_up_to_one_or_two():
    huge = 1e3 * draw(1, 50, FEATURES)
    for negative, limit in ((False, 1.0), (True, 2.0)):
        rates = make(negative_eigenvalues=negative).trace(huge)["rates"]
        assert math.isclose(rates.max().item(), limit) and rates.min() >= 0


def test_bad_arguments():
    with pytest.raises(UserError, match="chunk must be at least 1; got 0"):
        make(chunk=0)
    with pytest.raises(UserError, match="features must be a multiple of num_heads"):
        GatedDeltaRule(6, 4)
