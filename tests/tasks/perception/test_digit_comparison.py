"""Which digit is larger?"""

import pytest
import torch

from wug.core.errors import UserError
from wug.sources.pictures import part_of
from wug.tasks.perception.digit_comparison import DigitComparison


def test_targets():
    task = DigitComparison()
    x, y = task.batch("test", torch.Generator().manual_seed(0), size=50)
    pictures, labels = part_of("drawn", "", "test")
    for (first, second), target in zip(x, y, strict=True):
        a, b = (labels[(pictures == p).all(1).nonzero()[0, 0]] for p in (first, second))
        assert target.item() == float(a > b)


def test_measures():
    task = DigitComparison()
    prediction, target = torch.tensor([[0.9], [0.4], [1.0]]), torch.tensor([[1.0], [1.0], [0.0]])
    assert task.error(prediction, target).item() == pytest.approx(2 / 3)
    assert task.loss(prediction, target).isfinite()
    assert task.source(4).num_parts("test") == 10
    with pytest.raises(UserError):
        DigitComparison(data="no")
