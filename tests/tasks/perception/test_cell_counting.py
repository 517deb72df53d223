"""Cells on pictures: how many there are, where, and in which split."""

import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.tasks.perception import cell_counting
from wug.tasks.perception.cell_counting import CellCounting, draw_cells


def test_a_picture_is_the_sum_of_its_cells(monkeypatch):
    monkeypatch.setattr(cell_counting, "NOISE", 0.0)
    side, generator = 16, torch.Generator().manual_seed(3)
    picture = draw_cells(torch.tensor([2]), side, generator).view(side, side)
    generator = torch.Generator().manual_seed(3)
    places = torch.rand(1, 2, 2, generator=generator)[0] * (side - 1)
    radii = 1.0 + 0.6 * torch.rand(1, 2, generator=generator)[0]
    light = 0.6 + 0.4 * torch.rand(1, 2, generator=generator)[0]
    for row in range(side):
        for column in range(side):
            distances = (torch.tensor([row, column]) - places).square().sum(-1)
            expected = (light * (-distances / (2 * radii**2)).exp()).sum().clamp(max=1)
            assert_close(picture[row, column], expected)


def test_splits_have_their_counts():
    task = CellCounting(evaluation_size=300)
    source = task.source(8)
    assert source.groups("test") == ("1-10", "16-20", "21-30")
    assert source.num_parts("test") == 6 and source.num_parts("validation") == 2
    for split in ("validation", "ood_validation", "test"):
        for index in range(source.num_parts(split)):
            batch = source.part(split, index)
            low, high = task.ranges(split)[int(batch["group"][0])]
            assert batch["y"].min() >= low and batch["y"].max() <= high
    sizes = [len(source.part("test", index)["y"]) for index in range(6)]
    assert sizes == [250, 50] * 3


def test_measures():
    task = CellCounting()
    prediction, target = torch.tensor([[3.4], [7.0]]), torch.tensor([[3.0], [9.0]])
    assert task.error(prediction, target).item() == pytest.approx((0.16 + 4) / 2)
    assert task.further["right"](prediction, target).item() == 0.5


def test_what_a_person_gets_wrong():
    with pytest.raises(UserError, match="the smaller one first"):
        CellCounting(ood_cells=(5, 2))
    with pytest.raises(UserError, match="side must be at least 8"):
        CellCounting(side=4)
