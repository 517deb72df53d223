import gc
import weakref

import pytest
import torch
from torch.func import vmap
from torch.testing import assert_close

from wug.functional.unrolled import Unrolled
from wug.training.programs import compile_graph

SEQ, BATCH, SIZE = 6, 3, 4


def step(params, state, x):
    """A recurrent network with two parts of state, one of which no answer sees at once."""
    hidden = torch.tanh(x @ params["in"] + state["hidden"] @ params["own"] + state["slow"])
    slow = 0.9 * state["slow"] + 0.1 * hidden * params["scale"]
    return hidden @ params["out"], {"hidden": hidden, "slow": slow}


def draw(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()


def problem(lead=()):
    params = {
        "in": draw(*lead, 2, SIZE), "own": draw(*lead, SIZE, SIZE, seed=1),
        "scale": draw(*lead, SIZE, seed=2), "out": draw(*lead, SIZE, 5, seed=3),
    }  # fmt: skip
    state = {
        name: draw(*lead, BATCH, SIZE, seed=4 + i) for i, name in enumerate(("hidden", "slow"))
    }
    return params, state, draw(SEQ, BATCH, 2, seed=6)


def plain(function, params, state, xs):
    answers = []
    for x in xs:
        answer, state = function(params, state, x)
        answers.append(answer)
    return torch.stack(answers), state


def check(function, params, state, xs):
    unrolled = Unrolled(function, params, state, xs[0])
    leaves = [*params.values(), *state.values(), xs]
    results = []
    for run in (unrolled, lambda *arguments: plain(function, *arguments)):
        answers, after = run(params, state, xs)
        loss = answers.square().sum() + (3 * after["slow"]).sum() + after["hidden"].exp().sum()
        results.append((answers, after, torch.autograd.grad(loss, leaves)))
    assert_close(*results)


def test_equals_a_loop_in_answers_state_and_gradients():
    check(step, *problem())


def test_stacked_steps_do_too():
    check(vmap(step, in_dims=(0, 0, None)), *problem(lead=(2,)))


def test_other_lengths_and_values_need_no_new_programs():
    params, state, xs = problem()
    unrolled = Unrolled(step, params, state, xs[0].detach())
    for seq in (1, 3, 11):
        other = draw(seq, BATCH, 2, seed=seq).detach()
        answers, _ = unrolled(params, state, other)
        assert_close(answers, plain(step, params, state, other)[0])
        assert len(torch.autograd.grad(answers.sum(), [params["own"]])) == 1


def test_gradients_can_be_taken_once():
    params, state, xs = problem()
    unrolled = Unrolled(step, params, state, xs[0].detach())
    answers, _ = unrolled(params, state, xs.detach())
    torch.autograd.grad(answers.sum(), [params["own"]], retain_graph=True)
    with pytest.raises(RuntimeError, match="gradients can be taken once"):
        torch.autograd.grad(answers.sum(), [params["own"]])


def test_programs_are_compiled_by_whom_is_asked():
    seen = []

    def compiler(graph, inputs):
        seen.append(len(inputs))
        return graph

    params, state, xs = problem()
    Unrolled(step, params, state, xs[0], compile=compiler)
    assert len(seen) == 2  # forward and backward


def test_nothing_is_kept_when_the_answers_are_gone():
    params, state, xs = problem()
    unrolled = Unrolled(step, params, state, xs[0].detach())
    answers, after = unrolled(params, state, xs.detach())
    tape = weakref.ref(answers.grad_fn)
    gc.disable()
    del answers, after
    gone = tape() is None
    gc.enable()
    assert gone


def test_a_state_that_a_step_detaches_has_no_gradient_from_it():
    """As in the published DNC, whose usage gives none to the write that caused it."""

    def detached(params, state, x):
        hidden = torch.tanh(x @ params["in"] + state["hidden"] @ params["own"])
        slow = hidden * params["scale"] + state["slow"].detach()
        return hidden @ params["out"], {"hidden": hidden, "slow": slow}

    check_gradients_of_parameters(detached, *problem())


def check_gradients_of_parameters(function, params, state, xs):
    unrolled, results = Unrolled(function, params, state, xs[0]), []
    for run in (unrolled, lambda *arguments: plain(function, *arguments)):
        answers, after = run(params, state, xs)
        loss = answers.square().sum() + (3 * after["slow"]).sum()
        results.append((answers, torch.autograd.grad(loss, list(params.values()))))
    assert_close(*results)


def test_inputs_of_any_layout_meet_the_compiled_program():
    xs = torch.randn(3, 2, 4, 5).requires_grad_()
    weight, state = torch.randn(5, requires_grad=True), torch.zeros(4, 2, 5)
    turned = xs.transpose(1, 2)  # a view, as what `vmap` returns may be

    def step(weight, state, x):
        return state * weight + x, state + x * weight

    add = Unrolled(step, weight, state, turned[0].detach().requires_grad_(), compile=compile_graph)
    answers, _ = add(weight, state, turned)
    expected, slow = [], state
    for x in turned:
        answer, slow = step(weight, slow, x)
        expected.append(answer)
    assert_close(answers, torch.stack(expected))
    (found,) = torch.autograd.grad(answers.square().sum(), xs)
    (wanted,) = torch.autograd.grad(torch.stack(expected).square().sum(), xs)
    assert_close(found, wanted)
