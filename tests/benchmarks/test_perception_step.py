"""The benchmark of sequences of digits: what it calls bare is what the CNN multiplies."""

import perception_step
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from wug.layers.digit_cnn import DigitCNN


def test_bare_products_are_those_of_the_cnn(monkeypatch):
    """Shapes of weights and inputs are those that a picture goes through."""
    seen = []
    for name in ("conv2d", "linear"):
        plain = getattr(F, name)

        def spied(x, weight, *rest, plain=plain):
            seen.append((tuple(x.shape), tuple(weight.shape)))
            return plain(x, weight, *rest)

        monkeypatch.setattr(F, name, spied)
    DigitCNN(28 * 28, 1)(torch.rand(3, 28 * 28))
    real, seen[:] = list(seen), []
    perception_step.bare(3)()
    assert seen[: len(real)] == real


def test_the_task_gives_one_batch():
    task = perception_step.PlainDigits(operation="sum", train_length=10)
    batch = task.source(4).draw({}, (0,), 5, 0)
    assert batch["x"].shape == (4, 10, 784)
    assert_close(batch["x"], task.source(4).draw({}, (1,), 9, 0)["x"])
