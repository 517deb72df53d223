"""Sums of two integers: every model answers at the end."""

import torch

from wug.experiments.trask2018.programs import MODELS


def test_every_model_answers_at_the_end():
    x = torch.rand(3, 2, 1)
    for build in MODELS.values():
        assert build(torch.Generator().manual_seed(0))(x).shape == (3, 1)
