import math
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from wug.functional.initialise import (
    fill_attention_jointly,
    fill_equal_rows,
    fill_normal,
    fill_uniform,
    kaiming_bound,
    xavier_bound,
)
from wug.layers.absolute_attention import AbsoluteAttention
from wug.layers.absolute_relative_attention import AbsoluteRelativeAttention
from wug.layers.relative_attention import RelativeAttention


def generator():
    return torch.Generator().manual_seed(0)


def test_uniform_moments():
    values = fill_uniform(torch.empty(100_000, dtype=torch.float64), 1.0, 3.0, generator())
    assert values.min() >= 1 and values.max() < 3
    assert abs(values.mean().item() - 2) < 4 * math.sqrt(4 / 12 / 1e5)
    assert values.var().item() == pytest.approx(4 / 12, rel=0.02)


def test_normal_moments():
    values = fill_normal(torch.empty(100_000, dtype=torch.float64), -1.0, 0.5, generator())
    assert abs(values.mean().item() + 1) < 4 * 0.5 / math.sqrt(1e5)
    assert values.std().item() == pytest.approx(0.5, rel=0.01)


@pytest.mark.parametrize("fill", [fill_uniform, fill_normal])
def test_parameters_are_filled_in_place(fill):
    before = torch.get_rng_state()
    first, second = (nn.Parameter(torch.zeros(3)) for _ in range(2))
    assert fill(first, 0.0, 1.0, generator()) is first
    fill(second, 0.0, 1.0, generator())
    assert torch.equal(first, second) and first.all()
    assert first.requires_grad and first.grad_fn is None
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    ("sizes", "bound"),
    [((2, 1), 1.414), ((2, 2), 1.225), ((4, 2), 1.0), ((10, 1), 0.739), ((100, 2), 0.243)],
)
def test_xavier_bound(sizes, bound):
    assert round(xavier_bound(*sizes), 3) == bound


def test_bounds_are_torchs():
    weight = torch.empty(300, 700)
    nn.init.xavier_uniform_(weight, generator=generator())
    assert weight.abs().max().item() == pytest.approx(xavier_bound(700, 300), rel=1e-3)
    nn.init.kaiming_uniform_(weight, nonlinearity="relu", generator=generator())
    assert weight.abs().max().item() == pytest.approx(kaiming_bound(700), rel=1e-3)


def test_equal_rows():
    """Rows of one length, numbers of the deviation that is asked for (csordas2023, section 7.4)."""
    weight = torch.empty(40, 300)
    fill_equal_rows(weight, 0.3, torch.Generator().manual_seed(0))
    lengths = weight.norm(dim=1)
    assert_close(lengths, lengths[:1].expand(40))
    assert weight.std().item() == pytest.approx(0.3, rel=1e-3)
    assert weight.mean().item() == pytest.approx(0, abs=0.01)


def test_attention_as_in_the_code_of_the_data_router():
    weight_in, weight_out = torch.empty(384, 128), torch.empty(128, 128)
    fill_attention_jointly(weight_in, weight_out, generator())
    queries, others = weight_in[:128], weight_in[128:]
    # The deviations were measured on the authors' network with 128 features.
    for weight, deviation in ((queries, 0.0884), (others, 0.0722), (weight_out, 0.0510)):
        assert weight.square().mean().sqrt().item() == pytest.approx(deviation, rel=0.02)


@pytest.mark.parametrize("layer", [AbsoluteAttention, RelativeAttention, AbsoluteRelativeAttention])
def test_attentions_can_start_so(layer):
    drawn = layer(128, 4, initial="csordas2022", generator=generator())
    assert drawn.weight_out.abs().max() <= 128**-0.5
    assert drawn.weight_in[128:].abs().max() <= xavier_bound(128, 256)
    assert drawn.weight_in[:128].abs().max() > xavier_bound(128, 256)


def test_what_has_no_memory_is_not_drawn():
    script = (
        "import sys, torch; from wug.models.ndr import NDR;"
        "NDR(num_tokens=10, num_classes=4, features=8, device='meta');"
        "sys.exit('torch.fx.experimental.symbolic_shapes' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0
    for fill in (fill_uniform, fill_normal):
        nothing = torch.empty(2, device="meta")
        assert fill(nothing, 0.0, 1.0, None) is nothing
