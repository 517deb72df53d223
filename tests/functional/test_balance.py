import math

import pytest
import torch
from torch.testing import assert_close

from wug.functional.balance import (
    balanced_bias,
    entropy_loss,
    expert_loads,
    multi_hot,
    negative_entropy,
    switch_loss,
    variation_loss,
)

INF = float("inf")


def draw(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_entropy_is_that_of_the_mean_choice():
    """Eqs. 7.19 and 7.20 of csordas2023, written out."""
    logits = draw(2, 5, 3)
    tokens = [row.exp() / row.exp().sum() for row in logits.flatten(0, 1)]
    p = sum(tokens) / len(tokens)
    expected = sum(one * math.log(one) for one in p.tolist())
    assert entropy_loss(logits).item() == pytest.approx(expected, rel=1e-12)


def test_entropy_is_not_the_mean_of_entropies():
    """Tokens that are certain of different experts are as good as it gets; of one, as bad."""
    different, same = 200 * torch.eye(4), 200 * torch.eye(4)[:1].expand(4, 4)
    assert entropy_loss(different).item() == pytest.approx(-math.log(4))
    assert entropy_loss(same).item() == pytest.approx(0)


def test_entropy_has_a_finite_gradient_where_a_probability_is_0():
    logits = torch.tensor([[0.0, 1.0, -INF], [2.0, 0.0, -INF]], requires_grad=True)
    entropy_loss(logits).backward()
    assert logits.grad.isfinite().all() and logits.grad.any()
    assert_close(entropy_loss(logits), entropy_loss(logits[:, :2]))
    assert negative_entropy(torch.tensor([1.0, 0.0])).item() == 0


def test_variation_is_deviation_over_mean():
    weights = draw(6, 4).sigmoid()
    total = weights.sum(0)
    mean = total.mean()
    deviation = ((total - mean) ** 2).mean().sqrt()
    assert_close(variation_loss(weights), deviation / mean)
    even = torch.ones(3, 4, requires_grad=True)
    variation_loss(even).backward()
    assert even.grad.isfinite().all()


def test_switch_loss():
    """Eqs. 7.14-7.16 of csordas2023, written out; at least 1 if all is even."""
    probabilities = draw(9, 3).softmax(-1)
    index = probabilities.topk(1).indices
    f = [sum(index[:, 0] == i).item() / 9 for i in range(3)]
    p = [sum(row[i] for row in probabilities).item() / 9 for i in range(3)]
    expected = 3 * sum(a * b for a, b in zip(f, p, strict=True))
    assert switch_loss(probabilities, index).item() == pytest.approx(expected)
    even = torch.full((3, 3), 1 / 3)
    assert switch_loss(even, torch.tensor([[0], [1], [2]])).item() == pytest.approx(1)


def test_switch_loss_pushes_down_experts_that_are_used_often():
    logits = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], requires_grad=True)
    probabilities = logits.softmax(-1)
    switch_loss(probabilities, probabilities.topk(1).indices).backward()
    assert (logits.grad[:, 0] > 0).all() and (logits.grad[:, 1] < 0).all()


def test_padding_does_not_count():
    logits, valid = draw(2, 3, 4), torch.tensor([[True, True, False], [True, False, False]])
    seen = logits[valid]
    index, p = logits.topk(2).indices, logits.softmax(-1)
    assert_close(entropy_loss(logits, valid), entropy_loss(seen))
    assert_close(variation_loss(p, valid), variation_loss(p[valid]))
    assert_close(switch_loss(p, index, valid), switch_loss(p[valid], index[valid]))
    assert_close(expert_loads(index, 4, valid), expert_loads(index[valid], 4))
    assert expert_loads(index, 4, valid).sum() == 2 * valid.sum()
    none = torch.zeros_like(valid)
    assert not expert_loads(index, 4, none).any() and entropy_loss(logits, none).isfinite()


def test_multi_hot():
    index = draw(5, 4).topk(2).indices
    chosen = multi_hot(index, 4, torch.float64)
    assert_close(chosen.sum(-1), torch.full((5,), 2.0, dtype=torch.float64))
    assert (chosen.gather(-1, index) == 1).all()


def test_bias_follows_loads_and_keeps_its_mean():
    bias = torch.zeros(4)
    for load in ([8.0, 2.0, 1.0, 1.0], [3.0, 3.0, 3.0, 3.0], [0.0, 0.0, 12.0, 0.0]):
        after = balanced_bias(bias, torch.tensor(load), 0.1)
        step = 0.1 * (3 - torch.tensor(load)).sign()
        assert_close(after - bias, step - step.mean())
        assert after.mean().abs() < 1e-7
        bias = after
