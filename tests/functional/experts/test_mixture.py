from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from wug.functional.experts.backends import BACKENDS
from wug.functional.experts.mixture import backward_by_products, expert_mixture, forward_by_products


def gradients(output, leaves):
    weight = torch.linspace(-1, 2, output.numel(), dtype=output.dtype).view_as(output)
    return torch.autograd.grad((output * weight).sum(), leaves)


def gelu(hidden, gates):
    return F.gelu(hidden) * gates.unsqueeze(-1)


@pytest.mark.parametrize("inner", [None, gelu])
@pytest.mark.parametrize("backend", ["loop", "blockwise", "auto"])
def test_equals_the_dense_reference(experts, case, backend, inner):
    drawn = experts.draw(case)
    x, gates, weight_in, weight_out = drawn.leaves
    output = expert_mixture(
        x, drawn.index, gates, weight_in, weight_out, backend=backend, inner=inner
    )
    expected = experts.dense(drawn, inner)
    assert_close(output, expected)
    assert_close(gradients(output, drawn.leaves), gradients(expected, drawn.leaves))


@pytest.mark.parametrize("inner", [None, gelu])
def test_torch_s_grouped_product_equals_the_dense_reference(experts, case, inner):
    """In single precision, which is the best that it has; 6, 5 and 7 are no multiples of 4."""
    drawn, exact = experts.draw(case, torch.float32), experts.draw(case)
    x, gates, weight_in, weight_out = drawn.leaves
    output = expert_mixture(
        x, drawn.index, gates, weight_in, weight_out, backend="grouped", inner=inner
    )
    expected = experts.dense(exact, inner)
    tolerance = {"rtol": 1e-5, "atol": 1e-5, "check_dtype": False}
    assert_close(output, expected, **tolerance)
    own, reference = gradients(output, drawn.leaves), gradients(expected, exact.leaves)
    assert_close(own, reference, **tolerance)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(experts, case, dtype):
    """Rows of all choices are kept and summed in the end; empty experts leave no gap."""
    drawn = experts.draw(case, dtype)
    exact = SimpleNamespace(
        index=drawn.index, leaves=[one.detach().double().requires_grad_() for one in drawn.leaves]
    )
    x, gates, weight_in, weight_out = drawn.leaves
    output = expert_mixture(x, drawn.index, gates, weight_in, weight_out)
    expected = experts.dense(exact)
    pairs = zip(
        (output, *gradients(output, drawn.leaves)),
        (expected, *gradients(expected, exact.leaves)),
        strict=True,
    )
    for own, reference in pairs:
        assert own.dtype == dtype
        assert (own.double() - reference).norm() <= 0.01 * reference.norm()


def test_the_way_of_products_in_double_precision(experts, case):
    """What grouped and Triton back ends share, with the products of another back end."""
    drawn = experts.draw(case)
    x, gates, weight_in, weight_out = (leaf.detach() for leaf in drawn.leaves)
    order = drawn.index.flatten().sort(stable=True)
    ends = order.values.new_tensor(
        [(order.values <= expert).sum() for expert in range(len(weight_in))]
    ).int()
    one = BACKENDS["blockwise"]
    sorted_ones = (weight_in, weight_out, order.indices, ends)
    output, hidden = forward_by_products(one.product, x, gates, *sorted_ones)
    expected = experts.dense(drawn)
    assert_close(output, expected)
    gradient = torch.ones_like(output)
    own = backward_by_products(one.product, one.outer, gradient, x, gates, hidden, *sorted_ones)
    assert_close(own, torch.autograd.grad(expected.sum(), drawn.leaves))


@pytest.mark.parametrize("backend", ["blockwise", "grouped"])
def test_gradient_of_a_sum(experts, backend):
    """Its gradient is one number, expanded: not every product takes that."""
    drawn = experts.draw("usual", torch.float32)
    x, gates, weight_in, weight_out = drawn.leaves
    output = expert_mixture(x, drawn.index, gates, weight_in, weight_out, backend=backend)
    expected = torch.autograd.grad(experts.dense(drawn).sum(), drawn.leaves)
    assert_close(torch.autograd.grad(output.sum(), drawn.leaves), expected, rtol=1e-4, atol=1e-5)


def test_second_derivatives_by_the_loop(experts):
    drawn = experts.draw("usual")

    def mixture(*leaves):
        return expert_mixture(leaves[0], drawn.index, *leaves[1:], backend="loop")

    assert torch.autograd.gradgradcheck(mixture, drawn.leaves)


@pytest.mark.parametrize("backend", ["loop", "blockwise", "grouped"])
def test_autocast(experts, backend):
    """Products of 8 binary digits; gradients come in the precision of the weights."""
    drawn = experts.draw("usual", torch.float32)
    x, gates, weight_in, weight_out = drawn.leaves
    with torch.autocast("cpu", torch.bfloat16):
        output = expert_mixture(x, drawn.index, gates, weight_in, weight_out, backend=backend)
    assert output.dtype == torch.bfloat16
    assert_close(output.float(), experts.dense(drawn), rtol=0.05, atol=0.1)
    own, expected = gradients(output, drawn.leaves), gradients(experts.dense(drawn), drawn.leaves)
    assert [one.dtype for one in own] == [torch.float32] * 4
    assert_close(own, expected, rtol=0.1, atol=0.3)


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # by torch
@pytest.mark.parametrize("backend", ["blockwise", "grouped"])
def test_compiles_in_one_piece(experts, backend):
    torch.compiler.reset()
    drawn = experts.draw("usual", torch.float32)

    def mixture(x, gates, weight_in, weight_out):
        return expert_mixture(x, drawn.index, gates, weight_in, weight_out, backend=backend)

    output = torch.compile(mixture, fullgraph=True, backend="aot_eager")(*drawn.leaves)
    expected = mixture(*drawn.leaves)
    assert_close(output, expected)
    assert_close(gradients(output, drawn.leaves), gradients(expected, drawn.leaves))


@pytest.mark.parametrize("name", ["wug::expert_mixture", "wug::expert_product"])
def test_operations_keep_torch_s_rules(experts, name):
    """Shapes for the compiler, gradients and schemas agree with what is computed."""
    drawn = experts.draw("usual", torch.float32)
    x, gates, weight_in, weight_out = drawn.leaves
    order = drawn.index.flatten().argsort(stable=True)
    ends = torch.bincount(drawn.index.flatten(), minlength=5).cumsum(0).int()
    operation = getattr(torch.ops.wug, name.split("::")[1]).default
    arguments = {
        "wug::expert_mixture": (x, gates, weight_in, weight_out, order, ends, "blockwise"),
        "wug::expert_product": (x[order // 2].detach(), weight_in, ends, "blockwise"),
    }[name]
    tests = ("test_schema", "test_autograd_registration", "test_faketensor")
    torch.library.opcheck(operation, arguments, test_utils=tests)
