"""Sums of two integers."""

import torch

from wug.tasks.extrapolation.integer_sums import IntegerSums


def test_integers_and_their_sizes():
    task = IntegerSums(largest=20, times=5)
    for split, most in (("validation", 20), ("test", 100)):
        numbers = 20 * task.evaluation_inputs(split)
        assert torch.allclose(numbers, numbers.round(), atol=1e-4)
        assert 0.9 * most < numbers.max() <= most + 1e-3 and numbers.min() == 0
