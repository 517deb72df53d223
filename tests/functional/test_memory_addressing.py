import dnc_reference as slow
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from wug.functional.memory_addressing import (
    allocation_weights,
    content_weights,
    retention,
    sharpened,
    updated_links,
    weigh,
)


def draw(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(shape, generator=generator, dtype=torch.float64)


usages = st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.5, 0.9, 1.0]), min_size=1, max_size=7)


@given(usages)
def test_allocation_is_the_sorted_free_list(usage):
    usage = torch.tensor(usage, dtype=torch.float64)
    assert_close(allocation_weights(usage), slow.free_list(usage))


@given(usages)
def test_allocation_gives_what_is_free_and_never_more_than_one(usage):
    usage = torch.tensor(usage, dtype=torch.float64)
    # Offered cell by cell until nothing is left: 1 - the product of all usages.
    assert_close(allocation_weights(usage).sum(), 1 - usage.prod())


def test_allocation_has_the_gradients_of_the_sorted_list():
    usage = draw(6).requires_grad_()
    weights = draw(6, seed=1)
    (fast,) = torch.autograd.grad(allocation_weights(usage) @ weights, usage)
    (expected,) = torch.autograd.grad(slow.free_list(usage) @ weights, usage)
    assert_close(fast, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_allocation_has_gradients_where_cells_are_empty(dtype):
    usage = torch.tensor([0.0, 0.5, 0.0], dtype=dtype, requires_grad=True)
    (gradient,) = torch.autograd.grad(allocation_weights(usage)[1], usage)
    # (1 - u_1) u_0 u_2: 0 in each factor's derivative, since the other one is 0.
    assert_close(gradient, torch.zeros(3, dtype=dtype))
    usage = torch.tensor([0.0, 0.5], dtype=dtype, requires_grad=True)
    (gradient,) = torch.autograd.grad(allocation_weights(usage)[1], usage)
    assert_close(gradient, torch.tensor([0.5, 0.0], dtype=dtype))


def test_rounding_below_zero_is_no_number_missing():
    below = torch.tensor([-1e-7, 0.5, -1e-7])
    assert_close(allocation_weights(below), torch.tensor([1.0, 0.0, 0.0]), atol=1e-6, rtol=0)
    assert sharpened(torch.tensor([[-1e-3, 0.5]]), torch.tensor([3.0])).isfinite().all()


@pytest.mark.parametrize("heads", [1, 3])
def test_look_up_is_a_softmax_of_cosines(heads):
    memory, keys, masks = draw(5, 4), draw(heads, 4, seed=1) - 0.5, draw(heads, 4, seed=2)
    strengths = 1 + draw(heads, seed=3)
    for used in (masks, None):
        weights = content_weights(memory, keys, strengths, used)
        used = torch.ones_like(masks) if used is None else used
        expected = [slow.look_up(memory, *one) for one in zip(keys, strengths, used, strict=True)]
        assert_close(weights, torch.stack(expected))


def test_a_mask_hides_a_part_of_the_words():
    memory = torch.tensor([[1.0, 7.0], [-1.0, 0.5]])
    mask, strength = torch.tensor([[1.0, 0.0]]), torch.tensor([50.0])
    for rest in (-9.0, 9.0):
        weights = content_weights(memory, torch.tensor([[3.0, rest]]), strength, mask)
        assert_close(weights, torch.tensor([[1.0, 0.0]]))


def test_empty_cells_match_nothing_and_have_finite_gradients():
    memory = torch.zeros(3, 4, requires_grad=True)
    key = torch.ones(1, 4, requires_grad=True)
    weights = content_weights(memory, key, torch.tensor([2.0]), torch.ones(1, 4))
    assert_close(weights, torch.full((1, 3), 1 / 3))
    for gradient in torch.autograd.grad(weights[0, 0], (memory, key)):
        assert gradient.isfinite().all()


@pytest.mark.parametrize("heads", [1, 3])
def test_retention_is_a_product_over_heads(heads):
    weights, gates = draw(heads, 5), draw(heads, seed=1)
    assert_close(retention(weights, gates), (1 - gates[:, None] * weights).prod(0))


def test_links_say_in_which_order_cells_were_written():
    links, precedence = torch.zeros(4, 4), torch.zeros(4)
    order = [2, 0, 3, 1]
    for cell in order:
        write = torch.eye(4)[cell]
        links = updated_links(links, precedence, write)
        precedence = write
    for first, second in zip(order, order[1:], strict=False):
        assert_close(weigh(torch.eye(4)[[first]], links.mT), torch.eye(4)[[second]])
        assert_close(weigh(torch.eye(4)[[second]], links), torch.eye(4)[[first]])
    assert links.sum() == 3


def test_links_have_rows_and_columns_of_at_most_one():
    links, precedence = torch.zeros(5, 5).double(), torch.zeros(5).double()
    for step in range(40):
        write = draw(5, seed=step)
        write = write / write.sum() * draw(1, seed=100 + step)
        links = updated_links(links, precedence, write)
        precedence = (1 - write.sum()) * precedence + write
        assert (links >= 0).all() and not links.diagonal().any()
        assert (links.sum(0) <= 1 + 1e-9).all() and (links.sum(1) <= 1 + 1e-9).all()


@given(st.floats(1, 50))
def test_sharpening_is_the_printed_quotient(sharpness):
    weights, power = draw(1, 6), torch.tensor([sharpness], dtype=torch.float64)
    assert_close(sharpened(weights, power)[0], slow.sharpen(weights[0], power))


def test_sharpening_keeps_normalised_weights_at_one_and_picks_the_largest_at_infinity():
    weights = torch.tensor([[0.1, 0.6, 0.3]])
    assert_close(sharpened(weights, torch.ones(1)), weights, atol=1e-5, rtol=0)
    assert_close(sharpened(weights, torch.full((1,), 1e4)), torch.eye(3)[[1]])


@pytest.mark.parametrize("heads", [1, 2])
def test_weighing_is_a_matrix_product(heads):
    weights, rows = draw(3, heads, 4), draw(3, 4, 5, seed=1)
    assert_close(weigh(weights, rows), weights @ rows)
