import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from torch.testing import assert_close

from wug.functional.routing import precise, select_experts, sinkhorn, within_capacity

INF = float("inf")


def draw(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def norm_topk(scores, k):
    """Eqs. F.1-F.3 of csordas2023 for one token, written out."""
    best = sorted(range(len(scores)), key=lambda i: -scores[i])[:k]
    topk = [scores[i] if i in best else 0.0 for i in range(len(scores))]
    return [one / sum(topk) for one in topk]


@pytest.mark.parametrize("k", [1, 2, 5])
def test_norm_topk(k):
    scores = draw(7, 5).sigmoid()
    index, weight = select_experts(scores, k, route_norm=True)
    spread = torch.zeros_like(scores).scatter(-1, index, weight)
    expected = [norm_topk(row, k) for row in scores.tolist()]
    assert_close(spread, torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("k", [1, 2, 5])
def test_softmax_renormalised_is_top_k_before_the_softmax(k):
    """Footnote 4 of csordas2023."""
    logits = draw(7, 5)
    index, weight = select_experts(logits.softmax(-1), k, route_norm=True)
    others, chosen = select_experts(logits, k)
    assert torch.equal(index, others)
    assert_close(weight, chosen.softmax(-1))


def test_chosen_by_something_else():
    scores, by = torch.tensor([0.9, 0.5, 0.1]), torch.tensor([0.0, 1.0, 2.0])
    index, weight = select_experts(scores, 2, by=by, route_scale=10.0)
    assert index.tolist() == [2, 1]
    assert_close(weight, torch.tensor([1.0, 5.0]))


@pytest.mark.parametrize("route_norm", [True, False])
@pytest.mark.parametrize("score", [torch.sigmoid, lambda z: z.softmax(-1)])
def test_logits_of_minus_infinity(score, route_norm):
    logits = torch.tensor([[1.0, -INF, 2.0], [-INF, -INF, 0.5]], requires_grad=True)
    _, weight = select_experts(score(logits), 2, route_norm=route_norm)
    assert weight.isfinite().all() and weight[1, 1] == 0
    (gradient,) = torch.autograd.grad(weight.square().sum(), logits)
    assert gradient.isfinite().all() and not gradient[logits == -INF].any()


def test_nothing_to_choose_from():
    """If all of a token's experts score 0 it gets nothing, not NaN."""
    _, weight = select_experts(torch.zeros(1, 3, requires_grad=True), 2, route_norm=True)
    assert not weight.any()
    weight.sum().backward()


def test_scores_have_single_precision_at_least():
    assert precise(torch.ones(1, dtype=torch.bfloat16)).dtype == torch.float32
    assert precise(torch.ones(1, dtype=torch.float64)).dtype == torch.float64


@given(
    st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=12),
    st.integers(0, 5),
)
def test_capacity(tokens, capacity):
    index = torch.tensor([[expert] for expert, _ in tokens])
    valid = torch.tensor([counts for _, counts in tokens])
    fits = within_capacity(index, 3, capacity, valid)[:, 0].tolist()
    taken = [0, 0, 0]
    for (expert, counts), fitted in zip(tokens, fits, strict=True):
        if counts:
            taken[expert] += 1
            assert fitted == (taken[expert] <= capacity)


def test_first_choices_come_first():
    index = torch.tensor([[0, 1], [1, 0]])
    assert within_capacity(index, 2, 1).tolist() == [[True, False], [True, False]]


def test_sinkhorn_shares_out_evenly():
    logits, num_experts = draw(12, 4), 4
    shares = sinkhorn(logits, num_iterations=200).exp()
    assert_close(shares.sum(-1), torch.ones(12, dtype=torch.float64))
    assert_close(shares.sum(0), torch.full((num_experts,), 3.0, dtype=torch.float64))


def test_sinkhorn_of_large_logits_solves_the_assignment_problem():
    """Eq. 7.18 of csordas2023, solved exactly by SciPy: experts have three places each."""
    for seed in range(5):
        logits = draw(12, 4, seed=seed)
        places = logits.repeat_interleave(3, 1)
        rows, columns = linear_sum_assignment(-places)
        assert rows.tolist() == list(range(12))
        chosen = sinkhorn(300 * logits, num_iterations=3000).argmax(-1)
        assert chosen.tolist() == (columns // 3).tolist()


def test_sinkhorn_without_padding():
    logits, valid = draw(6, 3), torch.tensor([True, True, False, True, True, False])
    balanced = sinkhorn(logits, valid, 5)
    assert_close(balanced[valid], sinkhorn(logits[valid], None, 5))
    assert balanced.isfinite().all()
    nobody = logits.index_fill(1, torch.tensor([1]), -INF)
    assert sinkhorn(nobody).argmax(-1).ne(1).all() and not sinkhorn(nobody).isnan().any()
