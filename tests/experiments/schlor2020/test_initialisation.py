"""iNALU's initial means."""

import torch

from wug.core import index
from wug.experiments.schlor2020.initialisation import CHOSEN, MEANS, started_at
from wug.study.experiment import RunOptions


def test_parameters_start_around_their_means():
    network = started_at((1, -1, 0))(torch.Generator().manual_seed(0))
    for name, parameter in network.named_parameters():
        own = name.rpartition(".")[2]
        mean = 1 if own.startswith("gate") else -1 if own.startswith("m_hat") else 0
        assert (parameter - mean).abs().max() < 0.5


def test_means():
    assert len(MEANS) == 27 and MEANS[CHOSEN] == (0, -1, 1)
    paper = index.get("experiment", "schlor2020.initialisation")(RunOptions(scale="paper"))
    assert len(paper.lots) == 27
