"""The kernels in Triton's interpreter, in a process of its own: it must be told before the import.

The test runs this very file there. The interpreter takes bfloat16 for whole numbers in products:
of half precision, float16 is tested.
"""

import importlib.util
import os
import subprocess
import sys

import pytest
import torch
from torch.testing import assert_close

from wug.functional.experts import triton_kernels
from wug.functional.experts.backends import choose_backend
from wug.functional.experts.mixture import expert_mixture

CPU = torch.device("cpu")
SIZES = [((3, 9, 5), (0, 70, 0, 10)), ((40, 33, 65), (100,)), ((16, 16, 16), (64, 0, 65))]


def check(sizes, counts, dtype):
    """Products of interpreted kernels against torch's, expert by expert, with gradients."""
    num_in, hidden, num_out = sizes
    generator = torch.Generator().manual_seed(0)

    def draw(*shape):
        return torch.randn(shape, generator=generator).to(dtype).requires_grad_()

    index = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts)).unsqueeze(-1)
    leaves = [draw(len(index), num_in), draw(len(index), 1), draw(len(counts), num_in, hidden),
              draw(len(counts), hidden, num_out)]  # fmt: skip
    outputs = [
        expert_mixture(leaves[0], index, *leaves[1:], backend=backend)
        for backend in ("triton", "blockwise")
    ]
    assert choose_backend("triton", CPU, dtype) == "triton"
    assert choose_backend("auto", CPU, dtype) == "blockwise"
    tolerance = {"rtol": 1e-4, "atol": 1e-4}
    if dtype != torch.float32:
        tolerance = {"rtol": 0.05, "atol": 0.3}
    assert_close(*outputs, **tolerance)
    gradients = [torch.autograd.grad(one.sin().sum(), leaves) for one in outputs]
    if dtype == torch.float32:
        assert_close(*gradients, rtol=1e-3, atol=1e-3)
    else:
        assert all(one.isfinite().all() for one in gradients[0])


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
def test_in_the_interpreter():
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    run = subprocess.run(
        [sys.executable, __file__], env=environment, capture_output=True, text=True, timeout=600
    )
    assert run.returncode == 0, run.stderr


def test_says_why_it_can_t_run(monkeypatch):
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    with pytest.warns(UserWarning, match="blockwise stands in for triton: "):
        assert choose_backend("triton", CPU, torch.float32) == "blockwise"
    monkeypatch.setattr(triton_kernels, "triton", None)
    assert triton_kernels.problem(CPU, torch.float32).startswith("Triton is not installed")
    monkeypatch.setattr(triton_kernels, "triton", object())
    assert "not torch.float64" in triton_kernels.problem(CPU, torch.float64)
    assert "run on GPUs, not on cpu" in triton_kernels.problem(CPU, torch.float32)
    assert triton_kernels.problem(torch.device("cuda"), torch.bfloat16) is None


@pytest.mark.parametrize("counts", [(0, 0), (64, 1), (0, 200, 3), (5,)])
def test_tiles_cover_all_rows_once(counts):
    ends = torch.tensor(counts).cumsum(0)
    experts, begins, finishes = triton_kernels.tiles(ends, sum(counts))
    covered = []
    for expert, begin, finish in zip(
        experts.tolist(), begins.tolist(), finishes.tolist(), strict=True
    ):
        rows = list(range(begin, finish))
        assert len(rows) <= triton_kernels.ROWS
        covered += [(row, expert) for row in rows]
    expected = [expert for expert, count in enumerate(counts) for _ in range(count)]
    assert covered == list(enumerate(expected))


if __name__ == "__main__":
    for sizes, counts in SIZES:
        for dtype in (torch.float32, torch.float16):
            check(sizes, counts, dtype)
