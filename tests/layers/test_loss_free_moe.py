"""The bias that balances without a loss, and every way in which others got it wrong."""

import copy

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from torch.utils.checkpoint import checkpoint

from wug.core.errors import UserError
from wug.functional.parts import prefixed, update_parts
from wug.layers.loss_free_moe import LossFreeMoE
from wug.layers.sigma_moe import SigmaMoE

RATE = 0.01


def make(seed=0, **options):
    options = {"num_experts": 6, "expert_features": 4, "top_k": 2} | options
    generator = torch.Generator().manual_seed(seed)
    return LossFreeMoE(5, load_balance_coeff=RATE, generator=generator, **options)


def draw(*shape, seed=1):
    return torch.randn((*shape, 5), generator=torch.Generator().manual_seed(seed))


def step(layer, statistics):
    """What a trainer does after the optimiser's step: in place, so that checkpoints see it."""
    buffers = dict(layer.named_buffers())
    for name, value in layer.update(buffers, statistics).items():
        buffers[name].copy_(value)


def test_loads_even_out():
    layer, x = make(), draw(64, 8).index_fill(-1, torch.tensor([0]), 1.0)
    with torch.no_grad():
        layer.router.weight[0, 0] += 3.0  # all prefer expert 0
    spread = []
    for _ in range(300):
        loads = layer(x).statistics["router.load"]
        spread.append((loads.max() / loads.mean()).item())
        step(layer, layer(x).statistics)
    assert spread[0] > 1.3 and max(spread[-20:]) < 1.15


def test_mean_of_the_bias_stays_0():
    layer = make()
    for seed in range(50):
        step(layer, layer(draw(7, seed=seed)).statistics)
    assert layer.router.expert_bias.any()
    assert layer.router.expert_bias.mean().abs() < 1e-6


def test_bias_is_in_the_choice_and_not_in_the_weights():
    layer, x = make().double(), draw(4).double()
    layer.router.expert_bias[3] = 10.0
    routing = layer.route(x)
    assert (routing.index == 3).any(-1).all()
    assert_close(routing.weight, routing.logits.sigmoid().gather(-1, routing.index))
    assert routing.weight.max() <= 1


def test_forward_never_changes_the_bias():
    layer = make()
    before = copy.deepcopy(layer.state_dict())
    output = layer(draw(4, 3))
    layer.update(dict(layer.named_buffers()), output.statistics)
    assert all(torch.equal(value, before[name]) for name, value in layer.state_dict().items())


def test_a_checkpoint_holds_the_bias():
    layer = make()
    saved = layer.state_dict()  # refers to the buffer, as an exported or wrapped network may
    step(layer, layer(draw(4, 3)).statistics)
    assert saved["router.expert_bias"].any()
    other = make(seed=1)
    other.load_state_dict(saved)
    assert torch.equal(other.router.expert_bias, layer.router.expert_bias)


def test_micro_batches_make_one_step():
    """Loads add up: two halves are the whole, not two steps."""
    layer, x = make(), draw(8, 3)
    halves = [layer(half).statistics["router.load"] for half in x.chunk(2)]
    total = {"router.load": halves[0] + halves[1]}
    whole = layer(x).statistics
    assert_close(total, whole)
    buffers = dict(layer.named_buffers())
    assert_close(layer.update(buffers, total), layer.update(buffers, whole))


def test_ranks_add_up():
    """Each rank sees other tokens; with the sum of their loads all take the same step."""
    layer = make()
    loads = [layer(draw(5, seed=rank)).statistics["router.load"] for rank in range(4)]
    total = {"router.load": torch.stack(loads).sum(0)}
    everything = torch.cat([draw(5, seed=rank) for rank in range(4)])
    assert_close(total["router.load"], layer(everything).statistics["router.load"])
    replicas = [make() for _ in range(4)]
    for replica in replicas:
        step(replica, total)
    biases = {tuple(replica.router.expert_bias.tolist()) for replica in replicas}
    assert len(biases) == 1


def test_nothing_is_counted_in_evaluation():
    layer = make().eval()
    assert layer(draw(4, 3)).statistics == {}
    assert layer.update(dict(layer.named_buffers()), {}) == {}


def test_tokens_count_once_under_activation_checkpointing():
    layer, x = make(), draw(4, 3).requires_grad_()
    calls = []
    layer.router.register_forward_hook(lambda *_: calls.append(1))

    def run(x):
        output = layer(x)
        return output.answer, output.statistics["router.load"]

    answer, load = checkpoint(run, x, use_reentrant=False)
    answer.square().sum().backward()
    assert len(calls) == 2  # computed again in the backward pass
    assert load.sum() == 4 * 3 * 2
    assert not layer.router.expert_bias.any()


def test_padding_is_not_counted():
    layer, x = make(), draw(2, 4)
    valid = torch.tensor([[True, True, True, False], [True, False, False, False]])
    load = layer(x, valid).statistics["router.load"]
    assert load.sum() == 4 * 2
    assert_close(load, layer(x[valid]).statistics["router.load"])


def test_a_layer_without_balancing_does_not_switch_off_the_others():
    network = nn.ModuleList([make(), SigmaMoE(5, num_experts=6, expert_features=4), make(seed=1)])
    x = draw(4, 3)
    statistics = {}
    for number, layer in enumerate(network):
        statistics |= prefixed(str(number), layer(x).statistics)
    changed = update_parts(network, dict(network.named_buffers()), statistics)
    assert set(changed) == {"0.router.expert_bias", "2.router.expert_bias"}
    assert all(bias.any() for bias in changed.values())


def test_bias_keeps_its_precision_in_half_precision_networks():
    layer = LossFreeMoE(8, num_experts=4, expert_features=4, top_k=1, dtype=torch.bfloat16)
    assert layer.router.expert_bias.dtype == torch.float32
    output = layer(torch.ones(3, 8, dtype=torch.bfloat16))
    assert output.answer.dtype == torch.bfloat16


def test_bad_arguments():
    with pytest.raises(UserError, match="score_func must be one of sigmoid, softmax; got 'relu'"):
        make(score_func="relu")
