import functools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.func import grad, vmap
from torch.testing import assert_close

from wug.functional.geometric_weights import geometric_weights, mirrored, source_masks
from wug.functional.padding import LONG

LONGEST = 64


@functools.cache
def closer_than(longest=LONGEST):
    """Eq. 5.8 of csordas2023 as it is printed: S_ij as a mask over k, by target i and source j."""

    def closer(i, j, k):
        if k in (i, j):
            return False
        return abs(i - k) < abs(i - j) if i < j else abs(i - k) <= abs(i - j)

    places = range(longest)
    return torch.tensor([[[closer(i, j, k) for k in places] for j in places] for i in places])


def product_formula(logits, valid):
    """Eqs. 5.6 and 5.7: every product over its own set, with padding that never matches."""
    n = logits.shape[-1]
    p = logits.sigmoid() * valid[:, None, None, :]
    others = torch.where(closer_than()[:n, :n, :n], 1 - p.unsqueeze(-2), 1.0)
    return p * others.prod(-1) * (1 - torch.eye(n, dtype=p.dtype))


def draw(n, seed=0, batch=2, heads=2):
    """Logits of standard deviation 3, padding behind random lengths, and a gradient."""
    generator = torch.Generator().manual_seed(1000 * seed + n)
    logits = 3 * torch.randn(batch, heads, n, n, generator=generator, dtype=torch.float64)
    lengths = torch.randint(1, n + 1, (batch, 1), generator=generator)
    gradient = torch.randn(logits.shape, generator=generator, dtype=torch.float64)
    return logits, torch.arange(n) < lengths, gradient


def value_and_gradient(function, logits, valid, gradient):
    logits = logits.clone().requires_grad_()
    weights = function(logits, valid)
    return weights.detach(), torch.autograd.grad(weights, logits, gradient)[0]


@pytest.mark.parametrize(("dtype", "error"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
def test_equals_the_product_formula(dtype, error):
    for n in range(1, LONGEST + 1):
        logits, valid, gradient = draw(n)
        logits = logits.to(dtype)  # rounded before both, so that only what is computed differs
        exact = value_and_gradient(product_formula, logits.double(), valid, gradient)
        fast = value_and_gradient(geometric_weights, logits, valid, gradient.to(dtype))
        for actual, expected in zip(fast, exact, strict=True):
            assert_close(actual.double(), expected, rtol=0, atol=error)
        assert (fast[0].sum(-1) <= 1 + 1e-5).all() and (fast[0] >= 0).all()


def test_padding_anywhere():
    logits, _, gradient = draw(9)
    valid = torch.rand(2, 9, generator=torch.Generator().manual_seed(1)) < 0.5
    assert_close(
        value_and_gradient(geometric_weights, logits, valid, gradient),
        value_and_gradient(product_formula, logits, valid, gradient),
    )
    without = value_and_gradient(geometric_weights, logits, None, gradient)
    assert_close(without, value_and_gradient(product_formula, logits, valid | ~valid, gradient))


def test_padding_is_as_if_it_were_not_there():
    logits, _, _ = draw(8)
    valid = torch.arange(8).expand(2, 8) < 5
    assert_close(
        geometric_weights(logits, valid)[..., :5, :5], geometric_weights(logits[..., :5, :5])
    )
    nothing = geometric_weights(logits, torch.zeros(2, 8, dtype=torch.bool))
    assert not nothing.any()


@pytest.mark.parametrize("n", [2, 10, 64])
def test_certain_matches(n):
    logits, valid, gradient = draw(n, seed=1, batch=4)
    generator = torch.Generator().manual_seed(n)
    certain = torch.rand(logits.shape, generator=generator) < 0.1
    logits = torch.where(certain, 1e4 * logits.sign(), logits).float()
    exact = value_and_gradient(product_formula, logits.double(), valid, gradient)
    fast = value_and_gradient(geometric_weights, logits, valid, gradient.float())
    for actual, expected in zip(fast, exact, strict=True):
        assert actual.isfinite().all()
        assert_close(actual.double(), expected, rtol=0, atol=1e-2)


def test_the_closest_match_is_read_and_the_right_one_of_two_as_close():
    """Fig. 5.2 of csordas2023: the order of sources, here for the middle one of five targets."""
    logits = torch.full((1, 1, 5, 5), -1e4)
    for first in ((3,), (1, 3), (0, 1, 4), (0, 4), (0,)):
        matches = logits.clone()
        matches[..., list(first)] = 1e4
        order = [j for j in (3, 1, 4, 0) if j in first]
        expected = torch.tensor([float(j == order[0]) for j in range(5)])
        assert_close(geometric_weights(matches)[0, 0, 2], expected, rtol=0, atol=1e-9)


def test_half_precision_costs_no_more_than_rounding():
    """Half a unit in the last of bfloat16's 8 digits."""
    logits, valid, _ = draw(64)
    logits = logits.bfloat16()
    weights, exact = geometric_weights(logits, valid), product_formula(logits.double(), valid)
    assert weights.dtype == torch.bfloat16
    assert_close(weights.double(), exact, rtol=2**-8, atol=1e-5)


def test_fewer_targets_than_sources():
    logits, valid, gradient = draw(7)
    whole, slope = value_and_gradient(geometric_weights, logits, valid, gradient)
    for offset in range(7):
        for end in range(offset + 1, 8):
            rows = (..., slice(offset, end), slice(None))
            some, part = value_and_gradient(
                lambda x, valid, offset=offset: geometric_weights(x, valid, offset),
                logits[rows], valid, gradient[rows],
            )  # fmt: skip
            assert_close(some, whole[rows])
            assert_close(part, slope[rows])


def test_runs_under_vmap_and_grad():
    logits = torch.stack([draw(6, seed)[0] for seed in range(3)])
    valid, gradient = draw(6)[1:]
    assert_close(
        vmap(geometric_weights, in_dims=(0, None))(logits, valid),
        torch.stack([geometric_weights(one, valid) for one in logits]),
    )
    slopes = vmap(grad(lambda one: (geometric_weights(one, valid) * gradient).sum()))(logits)
    alone = [value_and_gradient(geometric_weights, one, valid, gradient)[1] for one in logits]
    assert_close(slopes, torch.stack(alone))


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # by torch
@pytest.mark.parametrize("seq", [6, LONG + 6])
def test_compiles_in_one_piece(seq):
    logits, valid, gradient = draw(seq)
    torch.compiler.reset()
    compiled = torch.compile(geometric_weights, fullgraph=True, backend="aot_eager")
    assert_close(
        value_and_gradient(compiled, logits, valid, gradient),
        value_and_gradient(geometric_weights, logits, valid, gradient),
    )


@given(st.data(), st.integers(1, 6))
def test_what_the_sources_leave_is_that_none_matches(data, n):
    row = st.lists(st.floats(-50, 50), min_size=n, max_size=n)
    logits = torch.tensor(data.draw(st.lists(row, min_size=n, max_size=n)), dtype=torch.float64)
    nothing_matches = torch.stack(
        [(1 - logits[i].sigmoid())[torch.arange(n) != i].prod() for i in range(n)]
    )
    total = geometric_weights(logits[None, None])[0, 0].sum(-1) + nothing_matches
    assert_close(total, torch.ones(n, dtype=torch.float64), rtol=0, atol=1e-12)


@pytest.mark.parametrize("offset", [0, 1, 4])
def test_mirrored_sums(offset):
    source = torch.arange(1.0, 6.0)
    sums = torch.stack([source.cumsum(-1) * (t + 1) for t in range(5 - offset)])
    images = mirrored(sums, source_masks(sums, offset), offset)
    for row, up_to, i in zip(sums, images, range(offset, 5), strict=True):
        places = [2 * i - j for j in range(5)]
        assert up_to.tolist() == [0.0 if k < 0 else row[min(k, 4)].item() for k in places]
