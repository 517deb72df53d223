import pytest
import torch
from torch.testing import assert_close

from wug.functional.padding import LONG, mask_padding


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_padding_is_lowered_beyond_all_reach_and_stays_finite(dtype):
    logits = torch.tensor([0.0, 1e4, -1e4, 3.0], dtype=dtype)[None, None, None]
    masked = mask_padding(logits, torch.tensor([[True, False, False, True]]))[0, 0, 0]
    assert masked.dtype == dtype and masked.isfinite().all()
    assert masked[[0, 3]].tolist() == [0, 3]
    assert masked[[1, 2]].exp().tolist() == masked[[1, 2]].sigmoid().tolist() == [0, 0]


def test_nothing_changes_without_padding():
    logits = torch.randn(2, 1, 3, 3, generator=torch.Generator().manual_seed(0))
    assert mask_padding(logits, None) is logits
    assert torch.equal(mask_padding(logits, torch.ones(2, 3, dtype=torch.bool)), logits)


@pytest.mark.parametrize("seq", [5, LONG + 1])
def test_compiles_in_one_piece(seq):
    logits = torch.randn(2, 1, 3, seq, generator=torch.Generator().manual_seed(0))
    valid = torch.arange(seq) < torch.tensor([[seq], [2]])
    torch.compiler.reset()
    compiled = torch.compile(mask_padding, fullgraph=True, backend="aot_eager")
    assert_close(compiled(logits, valid), mask_padding(logits, valid))
