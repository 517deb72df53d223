"""Training of masks: gradients, samples at once or in turn, seeds stacked, resuming."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call
from torch.testing import assert_close

from wug.analysis.masks.gates import chosen_parameters, make_gates
from wug.analysis.masks.sampling import WAYS
from wug.analysis.masks.training import (
    MaskTraining,
    Setting,
    hashed,
    hashed_gradient,
    hashed_masked,
    masked,
    masked_gradient,
)
from wug.models.repeated_lstm import RepeatedLSTM


def data(rows=12, classes=3):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(rows, 5, generator=generator)
    return x, torch.randint(classes, (rows,), generator=generator)


def network(seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Dropout(0.5), nn.Linear(7, 3))


def training(model, granularity="weight", **setting):
    gates = make_gates(model, chosen_parameters(model, biases=True), granularity)
    return MaskTraining(model, gates, F.cross_entropy, Setting(steps=10, clip=None, **setting))


def reference_gradient(train, batch):
    """Autograd through equations 3.1 and 3.2, a sample for each part of the batch."""
    model, gates, setting = train.model, train.gates, train.setting
    logits = train.logits[0].clone().requires_grad_()
    parts = gates.split(logits)
    masked = {}
    x, y = batch
    for group, own in parts.items():
        u = train.uniform(group, 0, setting.samples).clamp(1e-7, 1 - 1e-7)
        soft = torch.sigmoid(own + u.log() - (1 - u).log())
        masked[group] = ((soft > 0.5).float() - soft).detach() + soft
    rows = len(x) // setting.samples
    losses = []
    for k in range(setting.samples):
        weights = {
            name: p * gates.factors(name, masked[gates.group(name)][k])
            for name, p in model.named_parameters()
        }
        model.eval()
        part = slice(k * rows, (k + 1) * rows)
        losses.append(F.cross_entropy(functional_call(model, weights, (x[part],)), y[part]))
    loss = torch.stack(losses).mean() + setting.beta / len(x) * logits.sum()
    return torch.autograd.grad(loss, logits)[0]


@pytest.mark.parametrize("granularity", ["weight", "neuron", "layer"])
def test_gradient_equals_autograd_through_the_equations(granularity):
    train, batch = training(network(), granularity, beta=0.1), data()
    expected = reference_gradient(train, batch)
    train.step(batch)
    assert train.stacks
    assert_close(train.logits.grad[0], expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("way", list(WAYS))
def test_samples_at_once_equal_samples_in_turn(way):
    model, batch = network(), data()
    at_once, in_turn = (training(model, way=WAYS[way]) for _ in range(2))
    in_turn._stacks = False
    for _ in range(3):
        at_once.step(batch)
        in_turn.step(batch)
    assert at_once.stacks and not in_turn.stacks
    assert_close(at_once.logits, in_turn.logits)


def test_seeds_stacked_equal_seeds_alone():
    model, batch = network(), data()
    both, first, second = (training(model, seeds=s) for s in ((3, 4), (3,), (4,)))
    for one in (both, first, second):
        for _ in range(3):
            one.step(batch)
    assert_close(both.logits, torch.cat((first.logits, second.logits)))
    assert not torch.equal(first.logits, second.logits)


def test_an_lstm_of_torch_runs_in_turn():
    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.last = nn.LSTM(5, 4, batch_first=True), nn.Linear(4, 3)

        def forward(self, x):
            return self.last(self.lstm(x.unsqueeze(1))[0][:, -1])

    train = training(Reader(), seeds=(0, 1))
    train.step(data())
    assert train.stacks is False and train.logits.grad.abs().sum(1).all()


def test_what_has_no_rule_runs_in_turn():
    class Undecided(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = nn.Linear(5, 3)

        def forward(self, x):
            x = self.last(x)
            return x if x.sum() > 0 else -x  # depends on data

    train = training(Undecided())
    train.step(data())
    assert train.stacks is False


def test_our_lstm_runs_at_once():
    train = training(RepeatedLSTM(5, 3, features=4))
    train.step(data())
    assert train.stacks


def test_network_is_left_as_it_was():
    model = network().train()
    before = {n: v.clone() for n, v in model.state_dict().items()}
    training(model).step(data())
    assert model.training and model[2].training
    assert all(torch.equal(v, before[n]) for n, v in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())


def test_a_resumed_training_goes_on_as_if_nothing_had_happened():
    model, batch = network(), data()
    whole, first, second = (training(model) for _ in range(3))
    for _ in range(6):
        whole.step(batch)
    for _ in range(3):
        first.step(batch)
    second.load_state({n: v.clone() if not isinstance(v, dict) else v
                       for n, v in first.state().items()})  # fmt: skip
    for _ in range(3):
        second.step(batch)
    assert torch.equal(whole.logits, second.logits)
    assert whole.losses == second.losses


def test_gradients_are_clipped_for_each_seed_alone():
    model = network()
    gates = make_gates(model, chosen_parameters(model))
    setting = Setting(steps=2, clip=1e-3, seeds=(0, 1))
    train = MaskTraining(model, gates, F.cross_entropy, setting)
    train.step(data())
    assert_close(train.logits.grad.norm(dim=1), torch.full((2,), 1e-3), rtol=1e-2, atol=0)


def test_pinned_logits_stay():
    model = network()
    gates = make_gates(model, chosen_parameters(model))
    pinned = {"3.weight": torch.full((1, 21), 5.0)}
    train = MaskTraining(model, gates, F.cross_entropy, Setting(steps=5, beta=10.0), pinned=pinned)
    for _ in range(5):
        train.step(data())
    assert (gates.split(train.logits)["3.weight"] == 5).all()
    assert (gates.split(train.logits)["0.weight"] < 2.19).all()


def compiled_loops_agree(compile_):
    """Compare a masked parameter and its gradient with the plain equations on the same noise."""
    generator = torch.Generator().manual_seed(0)
    weight, logits = torch.randn(2, 50, generator=generator)
    gradient = torch.randn(4, 50, generator=generator)
    key, step, way = torch.tensor([7, 8]), torch.tensor(3), WAYS["gumbel"]
    uniform, alpha = hashed(key, step, 4, 50), torch.tensor(0.1)
    assert_close(
        torch.stack(compile_(hashed_masked)(way, weight, logits, key, step, 4)),
        masked(way, weight, logits, uniform),
    )
    out = torch.empty(50)
    compile_(hashed_gradient)(out, way, list(gradient), weight, logits, key, step, alpha)
    expected = masked_gradient(way, gradient, weight, logits, uniform, alpha)
    assert_close(out, expected, atol=1e-5, rtol=1e-4)


def test_loops_that_draw_their_noise_twice_agree():
    compiled_loops_agree(lambda function: function)


@pytest.mark.slow
def test_compiled_loops_agree():
    compiled_loops_agree(lambda function: torch.compile(function, dynamic=True))
    train = training(network(), compiled=True)
    train.step(data())
    assert train.logits.isfinite().all()
