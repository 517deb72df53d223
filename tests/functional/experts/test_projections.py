import pytest
import torch
from torch.testing import assert_close

from wug.functional.experts.projections import expert_projections


@pytest.mark.parametrize("backend", ["loop", "blockwise"])
def test_every_choice_by_itself(experts, case, backend):
    drawn = experts.draw(case)
    x, _, weight, _ = drawn.leaves
    output = expert_projections(x, drawn.index, weight, backend=backend)
    expected = torch.einsum("ti,tkih->tkh", x, weight[drawn.index])
    assert_close(output, expected)
    own, reference = (
        torch.autograd.grad(one.square().sum(), [x, weight]) for one in (output, expected)
    )
    assert_close(own, reference)
