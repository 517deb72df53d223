"""A network that counts: a sum of places, with a unit beside its convolutions."""

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.models.cell_counter import CellCounter

PICTURES = torch.rand(3, 64, generator=torch.Generator().manual_seed(1)).double()


@pytest.mark.parametrize("unit", [None, "nau", "nalu"])
def test_the_count_is_the_sum_of_a_density(unit):
    generator = torch.Generator().manual_seed(0)
    network = CellCounter(64, 1, unit=unit, generator=generator, dtype=torch.float64)
    traced = network.trace(PICTURES)
    assert traced["density"].shape == (3, 16, 1)
    assert_close(traced["density"].sum(1), network(PICTURES))
    h = PICTURES.view(3, 1, 8, 8)
    first, second = network.kernels
    h = F.max_pool2d(F.conv2d(h, first, network.kernel_biases[0], padding=1).relu(), 2)
    h = F.conv2d(h, second, network.kernel_biases[1], padding=1).relu()
    for place in range(16):
        seen = h[0, :, place // 4, place % 4]
        if unit is not None:
            seen = torch.cat((seen, network.unit(seen)))
        assert_close(network.weight @ seen + network.bias, traced["density"][0, place])


def test_a_dense_read_out_has_a_weight_for_every_place():
    network = CellCounter(64, 1, read_out="dense", channels=4).double()
    assert network.weight.shape == (1, 16 * 4)
    assert "density" not in network.trace(PICTURES)


def test_rules_of_the_unit():
    network = CellCounter(64, 1, unit="nau")
    with torch.no_grad():
        network.unit.weight.fill_(2.0)
    params = dict(network.named_parameters())
    assert network.project(params)["unit.weight"].max() == 1
    assert network.penalty(params) == network.unit.penalty({"weight": network.unit.weight})
    plain = CellCounter(64, 1)
    assert plain.penalty(dict(plain.named_parameters())) == 0


def test_pictures_of_another_size():
    with pytest.raises(UserError, match="must have 64 numbers"):
        CellCounter(64, 1)(torch.ones(1, 49))
