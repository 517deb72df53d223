"""Rows of numbers as pictures."""

import pytest
import torch

from wug.core.errors import UserError
from wug.functional.pictures import side_of, squares


def test_square_pictures_stay_as_they_are():
    x = torch.arange(2 * 3 * 4.0).view(2, 12)
    assert torch.equal(squares(x, 3, 2), x.view(2, 3, 2, 2))


def test_every_channel_is_filled_up_by_itself():
    x = torch.tensor([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]])  # two channels of three numbers
    right = [[[[1.0, 2.0], [3.0, 0.0]], [[4.0, 5.0], [6.0, 0.0]]]]
    assert squares(x, 2, side_of("CNN", 6, 2)).tolist() == right


def test_channels_are_of_one_size():
    with pytest.raises(UserError, match="CNN: in_features must be a multiple of channels; got 7"):
        side_of("CNN", 7, 2)
