import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.func import vmap
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.functional.weighted_sum import UNROLL_LIMIT, gated_product, product, weighted_sum

# Zeros are common on purpose: products must be right, and differentiable, there.
numbers = st.one_of(st.just(0.0), st.just(1.0), st.floats(-3, 3, width=32))
sizes = st.integers(1, 2 * UNROLL_LIMIT + 1)


def matrix(rows, columns):
    row = st.lists(numbers, min_size=columns, max_size=columns)
    return st.lists(row, min_size=rows, max_size=rows).map(
        lambda values: torch.tensor(values, dtype=torch.float64)
    )


problems = st.tuples(st.integers(1, 3), sizes, st.integers(1, 3)).flatmap(
    lambda shape: st.tuples(matrix(shape[0], shape[1]), matrix(shape[2], shape[1]))
)


def slow_product(x, weight):
    return torch.stack([
        torch.stack([
            math.prod(w * x_i + 1 - w for w, x_i in zip(weights, row, strict=True))
            for weights in weight
        ])
        for row in x
    ])  # fmt: skip


def same_gradients(fast, slow, *arguments):
    leaves = [argument.clone().requires_grad_() for argument in arguments]
    results = []
    for function in (fast, slow):
        output = function(*leaves)
        scale = torch.arange(1.0, output.numel() + 1, dtype=output.dtype).view_as(output)
        results.append(torch.autograd.grad((output * scale).sum(), leaves))
    assert_close(*results)


@given(problems)
@settings(deadline=None, max_examples=50)
def test_weighted_sum_is_einsum(problem):
    def slow(x, weight):
        return torch.einsum("bi,oi->bo", x, weight)

    assert_close(weighted_sum(*problem), slow(*problem))
    same_gradients(weighted_sum, slow, *problem)


@given(problems)
@settings(deadline=None, max_examples=50)
def test_gated_product_is_a_loop(problem):
    assert_close(gated_product(*problem), slow_product(*problem))
    same_gradients(gated_product, slow_product, *problem)


@given(sizes.flatmap(lambda n: matrix(2, n)))
@settings(deadline=None, max_examples=50)
def test_product_is_torch_prod(factors):
    assert_close(product(factors), factors.prod(-1))
    same_gradients(product, lambda f: f.prod(-1), factors)


@given(sizes.flatmap(lambda n: matrix(3, n)))
@settings(deadline=None, max_examples=25)
def test_product_under_vmap(factors):
    assert_close(vmap(product)(factors), factors.prod(-1))
    stacked = vmap(torch.func.grad(product))(factors)
    alone = torch.stack([torch.func.grad(lambda f: f.prod())(row) for row in factors])
    assert_close(stacked, alone)


@given(problems)
@settings(deadline=None, max_examples=25)
def test_leading_axes(problem):
    x, weight = problem
    for function in (weighted_sum, gated_product):
        expected = function(x, weight)
        assert_close(function(x[:, None, None], weight), expected[:, None, None])
        assert_close(function(x[0], weight), expected[0])


@given(problems)
@settings(deadline=None, max_examples=25)
def test_laws(problem):
    x, weight = problem
    assert_close(weighted_sum(2 * x, weight), 2 * weighted_sum(x, weight))
    assert_close(
        gated_product(x, torch.zeros_like(weight)), torch.ones_like(x[:, :1] @ weight.T[:1])
    )
    everything = gated_product(x, torch.ones_like(weight))
    assert_close(everything, x.prod(-1, keepdim=True).expand_as(everything))


@pytest.mark.parametrize("function", [weighted_sum, gated_product])
@pytest.mark.parametrize("in_features", [2, UNROLL_LIMIT + 1])
@pytest.mark.parametrize("got", [1, 9])
def test_wrong_number_of_inputs(function, in_features, got):
    with pytest.raises(UserError, match=f"must have {in_features} inputs .* got {got}"):
        function(torch.ones(3, got), torch.ones(1, in_features))
