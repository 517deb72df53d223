"""What the tests of experts share: choices of many kinds, and the mixture computed in full."""

from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F

# name -> tokens, experts, choices of a token.
CASES = {
    "usual": (13, 5, 2),
    "one token": (1, 5, 3),
    "all experts": (7, 4, 4),
    "one expert": (6, 1, 1),
    "empty experts": (9, 6, 2),
    "no token": (0, 3, 2),
}
IN, HIDDEN, OUT = 6, 5, 7


def draw(name, dtype=torch.float64):
    tokens, experts, choices = CASES[name]
    generator = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)

    scores = torch.rand((tokens, experts), generator=generator)
    if name == "empty experts":
        scores[:, [0, 3, 5]] = -1
    return SimpleNamespace(
        index=scores.topk(choices).indices,
        leaves=[
            tensor.requires_grad_()
            for tensor in (
                normal(tokens, IN), normal(tokens, choices), normal(experts, IN, HIDDEN),
                normal(experts, HIDDEN, OUT),
            )
        ],
    )  # fmt: skip


def dense(case, inner=None):
    """Eq. 7.11 of csordas2023: every token through every expert, then the others masked out."""
    x, gates, weight_in, weight_out = case.leaves
    hidden = torch.einsum("ti,eih->teh", x, weight_in)
    chosen = F.one_hot(case.index, len(weight_in)).to(x.dtype)
    score = torch.einsum("tk,tke->te", gates, chosen)
    gated = F.relu(hidden) * score.unsqueeze(-1) if inner is None else inner(hidden, score)
    mask = chosen.sum(1).unsqueeze(-1)
    return torch.einsum("teh,eho->to", gated * mask, weight_out)


@pytest.fixture(params=CASES)
def case(request):
    return request.param


@pytest.fixture
def experts():
    return SimpleNamespace(draw=draw, dense=dense)
