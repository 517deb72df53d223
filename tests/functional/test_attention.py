import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.functional.attention import (
    align_distances,
    align_past,
    head_features,
    mask_future,
    masked_softmax,
    mix_values,
    project_heads,
)
from wug.functional.padding import LONG


def numbers(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def test_heads_are_slices_of_the_projections():
    x, weight = numbers(3, 5, 6), numbers(18, 6)
    for part, heads in enumerate(project_heads(x, weight, 2)):
        for head in range(2):
            rows = weight[6 * part + 3 * head : 6 * part + 3 * head + 3]
            assert_close(heads[:, head], x @ rows.T)


def test_mixed_values():
    weights, values, projection = numbers(2, 3, 4, 5), numbers(2, 3, 5, 2), numbers(7, 6)
    for b in range(2):
        for t in range(4):
            read = [sum(weights[b, h, t, s] * values[b, h, s] for s in range(5)) for h in range(3)]
            expected = projection @ torch.cat(read)
            assert_close(mix_values(weights, values, projection)[b, t], expected)


def test_softmax_of_valid_sources():
    logits = 30 * numbers(3, 2, 4, 5)
    lengths = torch.tensor([5, 2, 0])
    weights = masked_softmax(logits, torch.arange(5) < lengths[:, None])
    for b, length in enumerate(lengths.tolist()):
        if length:
            assert_close(weights[b, ..., :length], logits[b, ..., :length].softmax(-1))
            assert (weights[b, ..., length:] == 0).all()
    assert weights.isfinite().all()
    assert_close(masked_softmax(logits, None), logits.softmax(-1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_padding_is_not_read_however_large_its_logits_are(dtype):
    logits = torch.tensor([0.0, 1e4, -1e4, 0.0], dtype=dtype)[None, None, None]
    valid = torch.tensor([[True, False, False, True]])
    assert masked_softmax(logits, valid)[0, 0, 0].tolist() == [0.5, 0, 0, 0.5]


@pytest.mark.parametrize("seq", [5, LONG + 1])
def test_softmax_compiles_in_one_piece(seq):
    logits, valid = numbers(2, 3, seq, seq), torch.arange(seq) < torch.tensor([[seq], [2]])
    torch.compiler.reset()
    compiled = torch.compile(masked_softmax, fullgraph=True, backend="aot_eager")
    assert_close(compiled(logits, valid), masked_softmax(logits, valid))


@pytest.mark.parametrize("seq", [1, 2, 7])
def test_distances_are_aligned(seq):
    logits = numbers(2, 3, seq, 2 * seq - 1)
    aligned = align_distances(logits)
    for i in range(seq):
        for j in range(seq):
            assert torch.equal(aligned[..., i, j], logits[..., i, j - i + seq - 1])


@pytest.mark.parametrize(("seq", "total"), [(1, 1), (1, 4), (3, 3), (3, 7)])
def test_distances_to_the_past_are_aligned(seq, total):
    logits = numbers(2, 3, seq, total)
    aligned = align_past(logits)
    assert aligned.shape == logits.shape
    for i in range(seq):
        target = total - seq + i
        for j in range(target + 1):
            assert torch.equal(aligned[..., i, j], logits[..., i, j - target + total - 1])


def test_errors():
    with pytest.raises(UserError, match="Mine: features must be a multiple of num_heads; got 6"):
        head_features("Mine", 6, 4)
    with pytest.raises(UserError, match="Mine: num_heads must be at least 1; got 0"):
        head_features("Mine", 6, 0)
    with pytest.raises(UserError, match="x must have 6 features in its last axis; got 4"):
        project_heads(numbers(3, 5, 4), numbers(18, 6), 2)


@pytest.mark.parametrize("seq", [1, 2, 7])
def test_logits_by_distance_of_the_past(seq):
    by_distance = numbers(2, 3, seq, seq)
    aligned = align_past(by_distance)
    for target in range(seq):
        for source in range(target + 1):
            place = source - target + seq - 1
            assert torch.equal(aligned[..., target, source], by_distance[..., target, place])


def test_the_future_is_not_read():
    weights = mask_future(50 * numbers(2, 3, 5, 5)).softmax(-1)
    assert not weights.triu(1).any() and weights.isfinite().all()


@pytest.mark.parametrize("width", [1, 7, 15, 16, 17])
def test_softmax_of_few_and_many_sources_is_torchs(width):
    logits = numbers(2, 3, 4, width).requires_grad_()
    actual, expected = masked_softmax(logits, None), logits.softmax(-1)
    assert_close(actual, expected)
    factors = numbers(2, 3, 4, width, seed=1)
    gradients = [torch.autograd.grad((one * factors).sum(), logits) for one in (actual, expected)]
    assert_close(*gradients)
