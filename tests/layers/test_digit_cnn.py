"""The CNN in front of arithmetic units."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.layers.digit_cnn import DEVIATION, MEAN, DigitCNN


def test_equals_the_reference():
    cnn = DigitCNN(28 * 28, 3, generator=torch.Generator().manual_seed(0))
    x = torch.rand(2, 5, 28 * 28, generator=torch.Generator().manual_seed(1))
    picture = ((x - MEAN) / DEVIATION).view(10, 1, 28, 28)
    for kernel, bias in zip(cnn.kernels, cnn.kernel_biases, strict=True):
        picture = F.max_pool2d(F.relu(F.conv2d(picture, kernel, bias)), 2)
    assert picture.shape == (10, 50, 4, 4)
    hidden = F.relu(picture.permute(0, 2, 3, 1).flatten(1) @ cnn.weights[0].T + cnn.biases[0])
    assert_close(cnn(x), (hidden @ cnn.weights[1].T + cnn.biases[1]).view(2, 5, 3))
    expected = torch.autograd.grad(hidden.sum(), list(cnn.kernels), retain_graph=True)
    assert all(gradient.abs().sum() > 0 for gradient in expected)


def test_starts_as_torch_layers_do():
    cnn = DigitCNN(28 * 28, 1, generator=torch.Generator().manual_seed(0))
    plain = [nn.Conv2d(1, 20, 5), nn.Conv2d(20, 50, 5), nn.Linear(800, 500), nn.Linear(500, 1)]
    mine = [*cnn.kernels, *cnn.weights]
    for layer, weight in zip(plain, mine, strict=True):
        assert layer.weight.shape == weight.shape
        bound = weight[0].numel() ** -0.5
        assert 0.9 * bound < weight.abs().max() <= bound


def test_small_pictures_are_filled_up():
    assert DigitCNN(2, 3).side == 16
    assert DigitCNN(64, 1)(torch.rand(4, 64)).shape == (4, 1)
    with pytest.raises(UserError, match="64 numbers; got 3"):
        DigitCNN(64, 1)(torch.rand(3))
