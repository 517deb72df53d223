"""Words to a number."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from wug.models.word_fold import WordFold

WORDS = torch.tensor([[0, 0, 2, 5], [1, 2, 3, 4]])


def fold(**options):
    return WordFold(7, 1, generator=torch.Generator().manual_seed(0), **options)


@pytest.mark.parametrize("states", ["final", "summed"])
def test_equals_torch(states):
    ours = fold(states=states, hidden_features=4)
    theirs = nn.LSTM(4, 4, batch_first=True)
    theirs.load_state_dict({f"{n}_l0": p for n, p in ours.lstm.named_parameters()})
    hidden, _ = theirs(ours.embedding[WORDS])
    kept = (WORDS != 0).unsqueeze(-1)
    read = hidden[:, -1] if states == "final" else (hidden * kept).sum(1)
    expected = read @ ours.head.weight.T + ours.head.bias
    assert_close(ours(WORDS), expected)


def test_a_unit_reads_the_states():
    network = fold(states="summed", head="nau")
    torch.nn.init.constant_(network.head.weight, 2.0)
    params = dict(network.named_parameters())
    assert network.penalty(params) == 1 and (network.project(params)["head.weight"] == 1).all()
    plain = fold()
    assert set(plain.project(dict(plain.named_parameters()))) == set(dict(plain.named_parameters()))
    assert_close(network.trace(WORDS)["output"], network(WORDS))
    network.reset_parameters(torch.Generator().manual_seed(1))
    assert network.head.weight.abs().max() < 1
