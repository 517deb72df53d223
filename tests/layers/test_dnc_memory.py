from itertools import product

import dnc_reference as slow
import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.layers.dnc_memory import DNCMemory

SWITCHES = ("masking", "deallocation", "sharpening")
VARIANTS = [dict(zip(SWITCHES, on, strict=True)) for on in product((False, True), repeat=3)]
NAMES = ["".join(s[0].upper() for s, on in v.items() if on) or "plain" for v in VARIANTS]
every_variant = pytest.mark.parametrize("switches", VARIANTS, ids=NAMES)


def make(seed=0, dtype=torch.float64, **options):
    options = {"num_cells": 5, "word_features": 3, "num_reads": 2} | options
    generator = torch.Generator().manual_seed(seed)
    return DNCMemory(6, generator=generator, dtype=dtype, **options)


def draw(*shape, seed=1, dtype=torch.float64):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def run(layer, interface, state=None):
    """Run the memory on given interface values."""
    state, words = state or layer.initial_state(len(interface)), []
    for xi in interface.unbind(1):
        read, state, _ = layer.access(layer.controls(xi), state)
        words.append(read.flatten(1))
    return torch.stack(words, 1), state


@every_variant
@pytest.mark.parametrize("options", [{"num_reads": 1}, {"version": "as_published"}], ids=str)
def test_equals_the_loop_written_reference(switches, options):
    layer = make(mask_floor=0.1, num_cells=4, **switches, **options)
    interface = 2 * draw(1, 30, len(layer.weight))
    interface.requires_grad_()
    output, expected = run(layer, interface)[0], slow.run_memory(layer, interface)
    assert_close(output, expected)
    weights = draw(*output.shape, seed=2)
    (fast,) = torch.autograd.grad((output * weights).sum(), interface)
    (wanted,) = torch.autograd.grad((expected * weights).sum(), interface)
    assert_close(fast, wanted)


@every_variant
@pytest.mark.parametrize("version", ["text", "as_published"])
def test_huge_interface_values_give_finite_numbers(switches, version):
    layer = make(dtype=torch.float32, version=version, **switches)
    signs = draw(4, 30, len(layer.weight), dtype=torch.float32).sign()
    for scale in (1e4, 1.0, 1e-4):
        interface = (scale * signs).requires_grad_()
        # Half of the rows have huge values of one sign in some step.
        with torch.no_grad():
            interface[2, 3:9], interface[3, 3:9] = 1e4, -1e4
        words, state = run(layer, interface)
        assert words.isfinite().all() and all(part.isfinite().all() for part in state)
        (gradient,) = torch.autograd.grad(words.square().mean(), interface)
        assert gradient.isfinite().all()


def test_weights_are_distributions():
    layer = make()
    trace = layer.trace(3 * draw(4, 20, 6))
    for name in ("read_weights", "write_weights", "allocation", "usage", "precedence"):
        value = trace[name]
        assert (value >= -1e-9).all() and (value <= 1 + 1e-9).all(), name
        if name != "usage":
            assert (value.sum(-1) <= 1 + 1e-9).all(), name


def test_switches_are_independent_and_add_few_parameters():
    plain, word, reads = make(masking=False, sharpening=False), 3, 2
    assert len(plain.weight) == word * reads + 3 * word + 5 * reads + 3
    assert len(make(sharpening=False).weight) == len(plain.weight) + word * (reads + 1)
    assert len(make(masking=False).weight) == len(plain.weight) + 2 * reads
    assert len(make(deallocation=False).weight) == len(make().weight)
    # The size that csordas2023 prints for W_xi: 2 W R + 4 W + 7 R + 3.
    assert len(make().weight) == 2 * word * reads + 4 * word + 7 * reads + 3


def test_masks_start_open_in_the_text_and_half_open_in_the_code():
    x = torch.zeros(1, 1, 6).double()
    assert_close(make().trace(x)["read_masks"], torch.full((1, 1, 2, 3), 0.7310585786).double())
    trace = make(version="as_published", mask_floor=0.1).trace(x)
    assert_close(trace["write_mask"], torch.full((1, 1, 3), 0.55).double())


def test_freed_cells_are_erased_only_with_deallocation():
    def first_cell(deallocation):
        layer = make(num_reads=1, deallocation=deallocation)
        state = layer.initial_state(1)
        state = state._replace(memory=state.memory + 2, read_weights=state.read_weights + 1)
        interface = torch.zeros(1, len(layer.weight)).double()
        sizes = list(layer.control_sizes().items())
        for name, value in (("free_gates", 50.0), ("write_gate", -50.0)):
            start = sum(size for _, size in sizes[: [n for n, _ in sizes].index(name)])
            interface[:, start : start + 1] = value
        return layer.access(layer.controls(interface), state)[1].memory[0, 0]

    assert_close(first_cell(True), torch.zeros(3).double())
    assert_close(first_cell(False), torch.full((3,), 2.0).double())


def test_published_usage_has_no_gradient_from_the_write_that_caused_it():
    def flows(version):
        layer = make(version=version)
        written = draw(1, 5).sigmoid().requires_grad_()
        state = layer.initial_state(1)._replace(write_weights=written)
        _, after, _ = layer.access(layer.controls(draw(1, len(layer.weight))), state)
        return after.usage.requires_grad

    assert flows("text") and not flows("as_published")


def test_the_state_is_never_changed():
    layer, state = make(), make().initial_state(2)
    before = [part.clone() for part in state]
    layer(draw(2, 4, 6), state=state)
    assert all(map(torch.equal, before, state))


def test_trace_has_everything_per_step():
    layer = make()
    trace = layer.trace(draw(2, 4, 6))
    assert all(value.shape[:2] == (2, 4) for value in trace.values())
    assert {"memory", "links", "usage", "read_modes", "read_masks", "allocation"} <= set(trace)
    assert_close(trace["output"], layer(draw(2, 4, 6)).answer)
    assert_close(trace["memory"][:, -1], layer(draw(2, 4, 6)).state.memory)


def test_bad_arguments():
    with pytest.raises(UserError, match="DNCMemory: num_cells must be at least 1; got 0"):
        make(num_cells=0)
    with pytest.raises(UserError, match=r"mask_floor must be in \[0, 1\); got 1"):
        make(mask_floor=1.0)
    with pytest.raises(UserError, match="version must be one of text, as_published; got 'code'"):
        make(version="code")
    with pytest.raises(UserError, match="x must have 6 features in its last axis; got 5"):
        make()(draw(1, 2, 5))
