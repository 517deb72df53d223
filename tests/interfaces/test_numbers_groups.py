"""Groups of rows and further measures of tasks on numbers."""

from types import SimpleNamespace

import torch
from torch import nn

from wug.interfaces.numbers import NUMBERS

TASK = SimpleNamespace(
    loss=lambda prediction, target: (prediction - target).square().mean(),
    error=lambda prediction, target: (prediction - target).abs().mean(),
    further={"largest": lambda prediction, target: (prediction - target).abs().max()},
)


def test_a_part_counts_for_its_group_alone():
    x = torch.tensor([[1.0], [3.0]])
    batch = {"x": x, "y": torch.zeros(2, 1), "group": torch.tensor([1, 1])}
    counts, _ = NUMBERS.counts(TASK, nn.Identity(), batch, None, 3)
    assert counts["loss"].tolist() == [[0, 0], [10, 2], [0, 0]]
    assert counts["error"].tolist() == [[0, 0], [4, 2], [0, 0]]
    assert counts["largest"].tolist() == [[0, 0], [6, 2], [0, 0]]


def test_without_groups_there_is_one():
    batch = {"x": torch.tensor([[1.0], [3.0]]), "y": torch.zeros(2, 1)}
    counts, _ = NUMBERS.counts(TASK, nn.Identity(), batch, None, 1)
    assert counts["loss"].tolist() == [[10, 2]]
