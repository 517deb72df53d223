import math

import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.layers.stick_breaking_attention import StickBreakingAttention, break_sticks


def equation(layer, head, h, q, k):
    """The weights of tan2024 as products, with what is left for the column itself."""

    def beta(i, j):
        return torch.sigmoid(q[i] @ k[j] / math.sqrt(q.shape[-1]))

    def weight(i, j):
        """Go back from the target and break off each source's share."""
        left, taken = torch.ones((), dtype=torch.float64), torch.zeros((), dtype=torch.float64)
        for source in range(i if layer.attend_current else i - 1, -1, -1):
            if source == j:
                taken = beta(i, source) * left
            left = left * (1 - beta(i, source))
        return taken + left if layer.remainder and i == j else taken

    return weight


@pytest.mark.parametrize("num_heads", [1, 2])
@pytest.mark.parametrize("attend_current", [True, False])
@pytest.mark.parametrize("remainder", [True, False])
def test_equals_the_equation(check_attention, num_heads, attend_current, remainder):
    options = {"attend_current": attend_current, "remainder": remainder}
    check_attention(StickBreakingAttention(4, num_heads, **options), equation)


def test_padding_anywhere_takes_nothing(columns, shaken):
    layer, (x, _) = shaken(StickBreakingAttention(4, 2)), columns(4)
    valid = torch.rand(x.shape[:2], generator=torch.Generator().manual_seed(0)) < 0.6
    output = layer(x, valid)
    for b, kept in enumerate(valid):
        assert_close(output[b, kept], layer(x[b : b + 1, kept])[0])


@pytest.mark.parametrize("remainder", [True, False])
def test_rows_sum_to_at_most_one(columns, shaken, remainder):
    layer, (x, valid) = shaken(StickBreakingAttention(4, 2, remainder=remainder)), columns(4)
    sums = layer.weights(x, valid).sum(-1)
    assert (sums <= 1 + 1e-12).all()
    assert torch.allclose(sums, torch.ones_like(sums)) == remainder


def test_huge_logits_stay_exact():
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(50, 64, 64, generator=generator)
    rare = torch.rand(logits.shape, generator=generator) < 0.1
    logits = torch.where(rare, 1e4 * logits.sign(), logits).requires_grad_()
    past = torch.ones(64, 64, dtype=torch.bool).tril(-1)
    weights = break_sticks(logits, past)
    assert_close(weights.double(), break_sticks(logits.double(), past), atol=1e-5, rtol=1e-4)
    (gradient,) = torch.autograd.grad(weights.square().sum(), logits)
    assert gradient.isfinite().all()


def test_the_nearest_certain_match_takes_all():
    logits = torch.tensor([[-100.0, 100.0, -100.0, 100.0, -100.0, -100.0]])
    expected = torch.tensor([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0]])
    assert_close(break_sticks(logits, torch.ones(1, 6, dtype=torch.bool)), expected)


def test_bad_arguments():
    with pytest.raises(UserError, match="StickBreakingAttention: features must be a multiple"):
        StickBreakingAttention(8, 3)
