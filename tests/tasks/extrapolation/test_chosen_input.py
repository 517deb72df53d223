"""Return one of two inputs."""

import pytest
import torch

from wug.core.errors import UserError
from wug.tasks.extrapolation.chosen_input import ChosenInput


def test_limits():
    task = ChosenInput()
    for split, low, high in (("validation", (0, -0.05), (2, 0.05)), ("test", (2, -0.5), (6, 0.5))):
        x = task.evaluation_inputs(split)
        assert (x >= torch.tensor(low)).all() and (x <= torch.tensor(high)).all()
        assert (x.amax(0) - x.amin(0) > 0.9 * (torch.tensor(high) - torch.tensor(low))).all()
    with pytest.raises(UserError):
        ChosenInput(tolerance=0)
