import pytest
import torch
from torch.testing import assert_close

from wug.functional.experts.assignment import sort_by_expert
from wug.functional.experts.product import expert_product


@pytest.mark.parametrize("backend", ["loop", "blockwise", "grouped"])
def test_equals_the_definition(experts, case, backend):
    """CVMM(V, S, M)[n, l] = sum_m V[n, m] M[S[n], m, l] (csordas2023, F.2.1)."""
    dtype = torch.float32 if backend == "grouped" else torch.float64
    drawn = experts.draw(case, dtype)
    x, _, weight, _ = drawn.leaves
    order, ends = sort_by_expert(drawn.index, len(weight))
    chosen = drawn.index.flatten()[order]
    output = expert_product(x[order // drawn.index.shape[1]], weight, ends, backend=backend)
    expected = torch.einsum("nm,nml->nl", x[order // drawn.index.shape[1]], weight[chosen])
    tolerance = {"rtol": 1e-5, "atol": 1e-5}
    assert_close(output, expected, **tolerance)
    factors = torch.arange(output.numel(), dtype=dtype).view_as(output).sin()
    own, reference = (
        torch.autograd.grad((one * factors).sum(), [x, weight]) for one in (output, expected)
    )
    assert_close(own, reference, **tolerance)
