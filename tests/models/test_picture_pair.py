"""A CNN in front of a comparison."""

import pytest
import torch
from torch.testing import assert_close

from wug.models.picture_pair import HEADS, PicturePair

PAIRS = torch.rand(5, 2, 64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("head", HEADS)
def test_answers_are_probabilities(head):
    network = PicturePair(64, 1, head=head, generator=torch.Generator().manual_seed(0))
    answers = network(PAIRS)
    assert answers.shape == (5, 1) and (answers >= 0).all() and (answers <= 1).all()
    assert_close(network.trace(PAIRS)["output"], answers)
    answers.sum().backward()
    assert all(p.grad is not None for p in network.parameters())


def test_both_pictures_are_read_alike():
    network = PicturePair(64, 1, head="mlp", generator=torch.Generator().manual_seed(0))
    numbers = network.trace(PAIRS)["numbers"]
    assert_close(network.trace(PAIRS.flip(1))["numbers"], numbers.flip(1))
    assert_close(network(PAIRS), network.head(numbers.flatten(1)))
