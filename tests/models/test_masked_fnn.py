import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.models.masked_fnn import MaskedFNN, sampled


def make(seed=0, **options):
    generator = torch.Generator().manual_seed(seed)
    sizes = {"hidden": (6, 5), "samples": 2}
    return MaskedFNN(4, 3, generator=generator, dtype=torch.float64, **(sizes | options))


def with_gates(network, seed=1):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for logits in network.logits:
            logits.copy_(torch.randn(logits.shape, generator=generator))
    return network


def inputs(rows=8):
    generator = torch.Generator().manual_seed(2)
    return torch.randn(rows, 4, generator=generator, dtype=torch.float64)


def test_evaluation_is_a_plain_network_with_masked_weights():
    network, x = with_gates(make()).eval(), inputs()
    state = x
    for index, (weight, logits) in enumerate(zip(network.weights, network.logits, strict=True)):
        masked = weight * (logits > 0)
        state = F.linear(state, masked[:, :-1], masked[:, -1])
        state = state.relu() if index < 2 else state
    assert_close(network(x), state)


def test_gates_are_open_as_often_as_their_logits_say():
    logits = torch.tensor([-2.0, 0.0, 1.0, 3.0], dtype=torch.float64)
    noise = (torch.arange(20_000, dtype=torch.float64)[:, None] + 0.5) / 20_000
    assert_close(sampled(logits, noise.expand(-1, 4)).mean(0), logits.sigmoid(), atol=1e-3, rtol=0)


def test_the_gradient_is_that_of_the_soft_choice():
    logits = torch.tensor([0.3, -0.7], dtype=torch.float64, requires_grad=True)
    noise = torch.tensor([0.2, 0.8], dtype=torch.float64)
    (found,) = torch.autograd.grad(sampled(logits, noise).sum(), logits)
    soft = (logits + (noise / (1 - noise)).log()).sigmoid()
    assert_close(found, (soft * (1 - soft)).detach())


def test_frozen_weights_keep_their_values_and_get_no_gradient():
    first, second = with_gates(make()), make(seed=5)
    second.go_on_from(first)
    second(inputs()).square().sum().backward()
    for index in range(3):
        frozen = second.frozen[index]
        assert torch.equal(frozen, first.masks[index] & torch.tensor(index > 0))
        assert_close(second.in_use()[index][frozen], first.weights[index].detach()[frozen])
        assert not second.weights[index].grad[frozen].any()
    # The third network freezes what either of the first two used.
    third = make(seed=6)
    with_gates(second, seed=7)
    third.go_on_from(second)
    assert torch.equal(third.frozen[1], first.masks[1] | second.masks[1])
    assert_close(third.old[1][first.masks[1]], first.weights[1].detach()[first.masks[1]])


def test_new_gates_begin_lower_than_old_ones():
    first, second = with_gates(make()), make(new_logit=-1.0, old_logit=2.0)
    second.go_on_from(first)
    assert torch.equal(second.logits[1], torch.where(first.masks[1], 2.0, -1.0).double())
    assert (second.logits[0] == -1).all()


def test_sharing_counts_what_is_used_again():
    first, second = with_gates(make()), make()
    second.go_on_from(first)
    # All gates are open in the beginning: what is shared is what was used before.
    used = [mask.double().mean().item() for mask in first.masks]
    assert second.sharing() == pytest.approx([0.0, *used[1:]])


def test_the_penalty_is_the_sum_of_all_logits():
    network = with_gates(make())
    expected = sum(logits.sum() for logits in network.logits)
    assert_close(network.penalty(dict(network.named_parameters())), expected)


def test_other_sizes():
    with pytest.raises(UserError, match="only go on from one with the same sizes"):
        make().go_on_from(make(hidden=(6, 4)))
    with pytest.raises(UserError, match="hidden must be at least 1; got 0"):
        make(hidden=(0,))
