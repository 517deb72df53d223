import math
import pickle
from itertools import product

import dnc_reference as slow
import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.testing import assert_close
from torch.utils import _pytree as pytree

from wug.core.errors import UserError
from wug.models.dnc import DNC
from wug.tasks.memory.copy import Copy

SWITCHES = ("masking", "deallocation", "sharpening")
VARIANTS = [dict(zip(SWITCHES, on, strict=True)) for on in product((False, True), repeat=3)]
NAMES = ["".join(s[0].upper() for s, on in v.items() if on) or "plain" for v in VARIANTS]
SIZES = {"controller_features": 6, "num_cells": 4, "word_features": 3, "num_reads": 2}


def make(seed=0, dtype=torch.float64, **options):
    generator = torch.Generator().manual_seed(seed)
    return DNC(4, 3, generator=generator, dtype=dtype, **(SIZES | options))


def draw(*shape, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def check(model, x):
    """Compare answers and gradients with the reference."""
    output, expected = model(x).answer, slow.run_dnc(model, x)
    assert_close(output, expected)
    weights, leaves = draw(*output.shape, seed=2), list(model.parameters())
    fast = torch.autograd.grad((output * weights).sum(), leaves)
    assert_close(fast, torch.autograd.grad((expected * weights).sum(), leaves))


@pytest.mark.parametrize("switches", VARIANTS, ids=NAMES)
def test_every_variant_equals_the_loop_written_reference(switches):
    check(make(**switches), 2 * draw(2, 30, 4))


@pytest.mark.parametrize("controller", ["lstm", "feed_forward"])
@pytest.mark.parametrize("num_layers", [1, 2])
def test_controllers_equal_the_reference(controller, num_layers):
    check(make(controller=controller, num_layers=num_layers, num_reads=1), draw(2, 8, 4))


def test_carried_state_includes_everything():
    model, x = make(num_layers=2), draw(3, 12, 4)
    whole = model(x)
    for cut in range(1, 12):
        first = model(x[:, :cut])
        # Through bytes, as a checkpoint would.
        state = pickle.loads(pickle.dumps(pytree.tree_map(torch.Tensor.detach, first.state)))
        rest = model(x[:, cut:], state=state)
        assert torch.equal(torch.cat((first.answer, rest.answer), 1), whole.answer)
        pairs = zip(pytree.tree_leaves(rest.state), pytree.tree_leaves(whole.state), strict=True)
        assert all(torch.equal(a, b) for a, b in pairs)
    assert all(len(part) == 3 for part in pytree.tree_leaves(whole.state))


def test_first_weights():
    size, seen = 64, 4 + 2 * 3 + 64
    model = make(controller_features=size)
    write, keep, new, read = model.layer_weights[0].chunk(4)
    bound = math.sqrt(6 / (seen + size))
    for gate in (write, keep, read):
        assert 0.99 * bound < gate.abs().max() <= bound
    assert 0.99 * bound * 5 / 3 < new.abs().max() <= bound * 5 / 3
    zeros, ones = torch.zeros(size).double(), torch.ones(size).double()
    assert torch.equal(model.layer_biases[0], torch.cat((zeros, ones, zeros, zeros)))
    assert model.memory.bias.sum() == 3 * 3  # the masks of one write and two reads
    assert not make(version="as_published").memory.bias.any()


def test_tokens_are_embedded():
    model = make(tokens=True, embedding_features=5)
    tokens = torch.tensor([[1, 3, 0], [2, 2, 1]])
    vectors = make(tokens=True, embedding_features=5)
    vectors.embedding, vectors.in_features = None, 5
    assert_close(model(tokens).answer, vectors(model.embedding[tokens]).answer)
    assert 0.5 < DNC(400, 3, tokens=True).embedding.std() < 1.5


def test_sequences_are_classified_by_their_last_step():
    """The network of csordas2023's table 5.1: D and S on, no masking."""
    model = make(tokens=True, masking=False)
    tokens, lengths = torch.tensor([[1, 2, 3], [3, 0, 0]]), torch.tensor([3, 1])
    every, classes = model(tokens).answer, model(tokens, lengths).answer
    assert torch.equal(classes, torch.stack((every[0, 2], every[1, 0])))


def test_trace_has_everything_per_step():
    model, x = make(), draw(2, 5, 4)
    trace, output = model.trace(x), model(x)
    assert all(value.shape[:2] == (2, 5) for value in trace.values())
    assert torch.equal(trace["output"], output.answer)
    assert torch.equal(trace["links"][:, -1], output.state.memory.links)
    assert {"read_modes", "read_masks", "forward_links", "usage", "controller"} <= set(trace)


def test_an_untrained_network_stays_finite_over_long_sequences():
    model = make(dtype=torch.float32)
    output = model(100 * draw(2, 300, 4).float())
    assert output.answer.isfinite().all()
    output.answer.square().mean().backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


@pytest.mark.slow
def test_learns_to_copy():
    task = Copy(
        bits=3, train_lengths=(1, 3), repeats=(1, 1), ood_validation_lengths=(4, 4),
        test_lengths=(5, 5),
    )  # fmt: skip
    model = DNC(
        task.in_features, task.out_features, masking=False, num_cells=4, word_features=6,
        generator=torch.Generator().manual_seed(1),
    )  # fmt: skip
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(700):
        batch = task.batch("train", step=step, size=32)
        logits = model(batch.inputs).answer[batch.asked]
        loss = binary_cross_entropy_with_logits(logits, batch.targets[batch.asked])
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    batch = task.batch("validation", size=200, level=3)
    right = (model(batch.inputs).answer > 0) == (batch.targets > 0.5)
    assert right[batch.asked].float().mean() > 0.97


def test_bad_arguments():
    with pytest.raises(UserError, match="controller must be one of lstm, feed_forward; got 'gru'"):
        make(controller="gru")
    with pytest.raises(UserError, match="DNC: num_layers must be at least 1; got 0"):
        make(num_layers=0)
    with pytest.raises(UserError, match=r"x must be vectors \(batch, seq, 4\); got \(2, 5\)"):
        make()(torch.zeros(2, 5, dtype=torch.int64))
    with pytest.raises(UserError, match=r"tokens \(batch, seq\), int64; got \(2, 5, 4\)"):
        make(tokens=True)(draw(2, 5, 4))


def test_steps_look_alike_at_any_length(monkeypatch):
    model, strides = DNC(3, 2, controller_features=4, num_cells=3, word_features=4), set()

    def step(x, state, plain=model.step):
        strides.add(x.stride())
        return plain(x, state)

    monkeypatch.setattr(model, "step", step)
    for length in (2, 5):
        model(torch.zeros(4, length, 3))
    # A compiled step is compiled again for other strides.
    assert len(strides) == 1
