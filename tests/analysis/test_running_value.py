"""What a network makes of pictures, one by one."""

import numpy as np
import pytest
import torch
from torch import nn

from wug.analysis.running_value import first_error, running_record
from wug.core.errors import UserError
from wug.models.image_fold import ImageFold


def test_arrays_are_those_of_the_network():
    network = ImageFold(64, 1, cell="sum", generator=torch.Generator().manual_seed(0))
    x = torch.rand(4, 64, generator=torch.Generator().manual_seed(1))
    arrays, _ = running_record(network, x, torch.arange(4), torch.ones(4, 1))
    numbers = network.reader(x).detach().numpy()
    np.testing.assert_allclose(arrays["numbers"], numbers)
    np.testing.assert_allclose(arrays["running"], numbers.cumsum(0), rtol=1e-5)
    assert arrays["pictures"].dtype == np.uint8
    np.testing.assert_allclose(arrays["pictures"].reshape(4, 64) / 255, x, atol=1 / 255)
    assert arrays["digits"].tolist() == [0, 1, 2, 3]


def test_first_error():
    numbers = np.array([[1.4], [2.6], [9.0]])
    assert first_error({"numbers": numbers, "digits": np.array([1.0, 2.0, 2.0])}) == 1
    assert first_error({"numbers": numbers, "digits": np.array([1.0, 3.0, 9.0])}) is None
    assert first_error({"numbers": np.zeros((3, 10)), "digits": np.zeros(3)}) is None


def test_other_networks_are_refused():
    with pytest.raises(UserError, match="does not read pictures"):
        running_record(nn.Linear(4, 4), torch.ones(1, 4))
