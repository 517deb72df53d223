"""Scores under masks and what follows from them."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from wug.analysis.masks.judging import (
    area,
    confusion,
    kept_by_size,
    reuse,
    scores_under,
    specialisation,
    with_interval,
)
from wug.analysis.masks.mask import Mask
from wug.analysis.masks.overlap import (
    io_min,
    iou,
    layer_names,
    precision_recall,
    sharing_table,
    total_sharing,
)
from wug.analysis.masks.problem import batches, cut_rows, first_batches, mean_score, right_answers
from wug.core.errors import UserError


def mask(*kept):
    return Mask({"weight": torch.tensor(kept, dtype=torch.bool)})


def test_overlaps_of_empty_masks():
    empty, one = mask(0, 0), mask(1, 0)
    assert math.isnan(iou(empty, empty)) and math.isnan(io_min(empty, one))
    assert sharing_table({"a": one, "b": mask(1, 1)}) == {"a": {"weight": 1}, "b": {"weight": 0.5}}
    assert total_sharing([one, mask(1, 1)]) == 0.5
    assert precision_recall(mask(1, 1), one) == (0.5, 1.0)
    assert layer_names(["a"]) == ["a"]


def test_definitions_by_hand():
    under = {"a": {"a": 0.9, "b": 0.1}, "b": {"a": 0.3, "b": 0.8}}
    full = {"a": 1.0, "b": 0.8}
    expected = ((0.9 / 1 - 0.1 / 0.8) + (0.8 / 0.8 - 0.3 / 1)) / 2
    assert specialisation(under, full) == pytest.approx(expected)
    assert reuse(under, full) == pytest.approx(((1 - 0.1 / 0.8) + (1 - 0.3)) / 2)
    assert math.isnan(specialisation({"a": {"a": 1.0}}, {"a": 1.0}))
    assert with_interval([0.4, 0.6]).value == 0.5 and with_interval([0.4, 0.6]).has_interval


def identity():
    model = nn.Linear(3, 3, bias=False)
    with torch.no_grad():
        model.weight.copy_(torch.eye(3))
    return model


def test_confusion_with_and_without_a_weight():
    model = identity()
    data = [(torch.eye(3).repeat(2, 1), torch.arange(3).repeat(2))]
    assert np.array_equal(confusion(model, None, data, 3), np.eye(3))
    one_hot = [(torch.eye(3), torch.eye(3))]
    kept = Mask({"weight": torch.eye(3, dtype=torch.bool) & (torch.arange(3) != 2)})
    expected = np.array([[1, 0, 0], [0, 1, 0], [1, 0, 0]])
    assert np.array_equal(confusion(model, kept, one_hot, 3), expected)
    assert np.isnan(confusion(model, None, one_hot, 4)[3]).all()


def test_largest_logits_are_kept_first():
    logits = {"a": torch.tensor([3.0, 1.0]), "b": torch.tensor([[2.0, 0.0]])}
    kept = kept_by_size(logits, 0.5)
    assert kept.kept["a"].tolist() == [True, False] and kept.kept["b"].tolist() == [[True, False]]
    with pytest.raises(UserError):
        area([0.0, 0.0], [1.0, 1.0])


def test_scores_are_means_over_rows():
    model = identity()
    data = [(torch.eye(3), torch.tensor([0, 1, 0])), (torch.eye(3)[:1], torch.tensor([0]))]
    assert mean_score(model, data, right_answers) == 0.75
    full = Mask({"weight": torch.ones(3, 3, dtype=torch.bool)})
    assert scores_under(model, full, {"f": data}, right_answers) == {"f": 0.75}


def test_streams():
    loop = batches([1, 2, 3], start=2)
    assert [next(loop) for _ in range(4)] == [3, 1, 2, 3]
    steps = batches(lambda step: step * 10, start=2)
    assert [next(steps) for _ in range(2)] == [20, 30]
    assert first_batches([1, 2], 5) == [1, 2] and first_batches(lambda s: s, 2) == [0, 1]
    parts = cut_rows({"x": torch.arange(7)}, 3)["x"]
    assert parts.tolist() == [[0, 1], [2, 3], [4, 5]]
