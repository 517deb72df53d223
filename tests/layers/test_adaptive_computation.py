import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.layers.adaptive_computation import AdaptiveComputation

NUM_STEPS = 6

every_kind = pytest.mark.parametrize(
    ("variant", "reads"),
    [(variant, reads) for variant in ("graves", "universal") for reads in ("before", "after")],
)


def make(variant="graves", bias=-1.0, **options):
    halt = AdaptiveComputation(4, variant=variant, **options).double()
    nn.init.normal_(halt.weight, generator=torch.Generator().manual_seed(0))
    nn.init.constant_(halt.bias, bias)
    return halt


def run(halt, states, valid, num_steps=NUM_STEPS):
    state = halt.start(states[0], valid)
    for step in range(num_steps):
        last = step == num_steps - 1
        state = halt.step(state, states[step], states[step + 1], last=last)
    return halt.output(state)


def draw_states(columns):
    generator = torch.Generator().manual_seed(3)
    x, valid = columns(4)
    states = torch.randn(NUM_STEPS + 1, *x.shape, generator=generator, dtype=torch.float64)
    return states.requires_grad_(), valid


def one_column(halt, states):
    """Eqs. D.1-D.5 of csordas2023, or listings 1 and 2 of dehghani2019, until the column halts."""
    output, spent = torch.zeros(4, dtype=torch.float64), 0.0
    for step in range(NUM_STEPS):
        h = states[step + 1]
        read = states[step] if halt.reads == "before" else h
        chance = torch.sigmoid(halt.weight[0] @ read + halt.bias[0])
        halts = spent + chance >= 0.99 or (step == NUM_STEPS - 1 and halt.variant == "graves")
        weight = 1 - spent if halts else chance
        output = (output * (1 - weight) if halt.variant == "universal" else output) + weight * h
        spent = spent + weight
        if halts:
            return output, weight, step + 1
    return output, 0.0, NUM_STEPS


@every_kind
@pytest.mark.parametrize("bias", [-4.0, -1.0, 2.0])
def test_equals_a_loop_that_stops_early(columns, variant, reads, bias):
    """With small biases no column halts by itself, with large ones all do."""
    halt = make(variant, bias, reads=reads)
    states, valid = draw_states(columns)
    output, mean, steps = run(halt, states, valid)
    expected, means = [], []
    for b, length in enumerate(valid.sum(-1).tolist()):
        alone = [one_column(halt, states[:, b, i]) for i in range(length)]
        expected += [column for column, _, _ in alone]
        means.append(sum(remainder for _, remainder, _ in alone) / length)
        assert steps[b].tolist() == [n for _, _, n in alone] + [0] * (valid.shape[1] - length)
    expected, mean_of_all = torch.stack(expected), sum(means) / len(means)
    assert_close(output[valid], expected)
    assert_close(mean, torch.as_tensor(mean_of_all, dtype=torch.float64))
    leaves = [states, *halt.parameters()]
    actual = torch.autograd.grad(output[valid].square().sum() + mean, leaves)
    wanted = torch.autograd.grad(expected.square().sum() + mean_of_all, leaves)
    assert_close(actual, wanted)


def test_weights_add_up_to_one_only_for_graves(columns):
    states, valid = draw_states(columns)
    ones = torch.ones_like(states)
    for variant, whole in (("graves", True), ("universal", False)):
        output, _, _ = run(make(variant, bias=-4.0, reads="before"), ones, valid)
        assert torch.allclose(output[valid], ones[0][valid]) == whole


@every_kind
def test_steps_after_all_have_halted_change_nothing(columns, variant, reads):
    halt = make(variant, bias=2.0, reads=reads)
    states, valid = draw_states(columns)
    few = run(halt, states, valid)
    more = run(halt, torch.cat((states, states)), valid, num_steps=NUM_STEPS + 5)
    assert few[2].max() < NUM_STEPS
    assert_close(more, few)


def test_padding_never_runs(columns):
    states, valid = draw_states(columns)
    output, _, steps = run(make(), states, valid)
    assert not output[~valid].any() and not steps[~valid].any() and steps[valid].all()


def test_mean_remainder_with_padding_counted(columns):
    states, valid = draw_states(columns)
    _, mean, _ = run(make(), states, valid)
    _, diluted, _ = run(make(count_padding=True), states, valid)
    each = [run(make(), states[:, b : b + 1], valid[b : b + 1])[1] for b in range(len(valid))]
    assert_close(mean, torch.stack(each).mean())
    total = sum(m * v.sum() for m, v in zip(each, valid, strict=True))
    assert_close(diluted, total / valid.numel())


def test_defaults_and_initial_weights():
    assert [AdaptiveComputation(4, variant=v).reads for v in ("graves", "universal")] == [
        "after", "before",
    ]  # fmt: skip
    halt = AdaptiveComputation(64)
    assert halt.weight.abs().max() <= 1 / math.sqrt(64) and halt.epsilon == 0.01


def test_bad_arguments():
    with pytest.raises(UserError, match="variant must be one of graves, universal; got 'paper'"):
        AdaptiveComputation(4, variant="paper")
    with pytest.raises(UserError, match="reads must be one of before, after; got 'both'"):
        AdaptiveComputation(4, reads="both")
