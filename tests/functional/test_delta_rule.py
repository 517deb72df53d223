import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from wug.functional.delta_rule import delta_rule_chunks, delta_rule_steps

KEY, VALUE = 4, 3


def draw(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def parts(seq, rate=1.0):
    keys = F.normalize(draw(2, seq, KEY, seed=1), dim=-1)
    tensors = [
        draw(2, seq, KEY),
        keys,
        draw(2, seq, VALUE, seed=2),
        rate * draw(2, seq, seed=3).sigmoid(),
        F.logsigmoid(draw(2, seq, seed=4)),
        draw(2, VALUE, KEY, seed=5),
    ]
    return [tensor.detach().requires_grad_() for tensor in tensors]


@pytest.mark.parametrize("rate", [1.0, 2.0])
def test_steps_are_the_printed_products_of_matrices(rate):
    queries, keys, values, rates, log_decays, memory = parts(6, rate)
    outputs, last = delta_rule_steps(queries, keys, values, rates, log_decays, memory)
    for row in range(2):
        s = memory[row]
        for t in range(6):
            k, b = keys[row, t], rates[row, t]
            forget = torch.eye(KEY).double() - b * torch.outer(k, k)
            s = log_decays[row, t].exp() * s @ forget + b * torch.outer(values[row, t], k)
            assert_close(outputs[row, t], s @ queries[row, t])
        assert_close(last[row], s)


@pytest.mark.parametrize("rate", [1.0, 2.0])
@pytest.mark.parametrize(("seq", "chunk"), [(1, 4), (4, 4), (11, 4), (70, 32), (5, 1)])
def test_chunks_equal_steps(seq, chunk, rate):
    arguments = parts(seq, rate)
    fast, slow = delta_rule_chunks(*arguments, chunk=chunk), delta_rule_steps(*arguments)
    assert_close(fast, slow)
    weights = [draw(*part.shape, seed=6) for part in fast]
    gradients = [
        torch.autograd.grad(
            sum((part * weight).sum() for part, weight in zip(parts, weights, strict=True)),
            arguments,
        )
        for parts in (fast, slow)
    ]
    assert_close(*gradients)


def test_strong_decay_does_not_overflow():
    queries, keys, values, rates, log_decays, memory = (part.float() for part in parts(40))
    outputs, _ = delta_rule_chunks(queries, keys, values, rates, 100 * log_decays - 50, memory)
    assert outputs.isfinite().all()


def test_a_pair_is_stored_and_overwritten():
    keys, values = torch.eye(KEY).double()[[0, 1, 0]], draw(3, VALUE)
    ones, memory = torch.ones(3).double(), torch.zeros(VALUE, KEY).double()
    outputs, memory = delta_rule_chunks(keys, keys, values, ones, 0 * ones, memory)
    assert_close(outputs, values)
    assert_close(memory.mT[:2], values[[2, 1]])


def test_rates_of_two_reflect():
    key, ones = torch.eye(KEY).double()[[0]].expand(5, -1), torch.ones(5).double()
    nothing, memory = torch.zeros(5, VALUE).double(), torch.ones(VALUE, KEY).double()
    outputs, _ = delta_rule_chunks(key, key, nothing, 2 * ones, 0 * ones, memory)
    assert_close(outputs[:, 0], torch.tensor([-1, 1, -1, 1, -1]).double())
