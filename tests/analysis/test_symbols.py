import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from wug.analysis.symbols import (
    classifier_inputs,
    cluster,
    compare_symbols,
    compatibility,
    cosine_similarities,
    group_numbers,
    representations,
)
from wug.core.errors import UserError
from wug.models.lstm import LSTM
from wug.models.ndr import NDR
from wug.models.transformer import Transformer
from wug.tasks.systematicity.ctlpp import CTLpp

TOKENS, LENGTHS = torch.tensor([[5, 6, 1], [4, 2, 0]]), torch.tensor([3, 2])
SMALL = {"features": 8, "hidden_features": 8, "num_heads": 2}


class Writer(nn.Module):
    """Writes a symbol along an axis of its own, and another one for each chosen dialect."""

    def __init__(self, task, dialects):
        super().__init__()
        self.task, self.dialects = task, dialects
        self.classifier = nn.Linear(4 * task.num_symbols, task.num_symbols)

    def forward(self, tokens, lengths):
        assert not self.training
        symbols = torch.tensor([self.task.answer(row) for row in tokens.tolist()])
        dialects = torch.tensor(self.dialects)[tokens[:, 0] - self.task.num_symbols]
        scale = 1.0 + tokens[:, :1]  # which a cosine does not see
        axes = F.one_hot(symbols + self.task.num_symbols * dialects, 4 * self.task.num_symbols)
        return self.classifier(scale * axes)


class Product(nn.Module):
    """Logits without a linear layer."""

    def forward(self, tokens, lengths):
        return tokens.float() @ torch.ones(tokens.shape[1], 8)


@pytest.mark.parametrize("readout", ["last", "first"])
def test_what_the_classifier_of_ndr_reads_is_its_last_state(readout):
    network = NDR(9, 4, **SMALL, num_steps=3, readout=readout, dropout=0.5).train()
    read = classifier_inputs(network, TOKENS, LENGTHS)
    assert network.training
    states = network.eval().trace(TOKENS, LENGTHS)["states"][-1]
    places = (LENGTHS + 1).tolist() if readout == "last" else [0, 0]
    assert_close(read, torch.stack([states[row, place] for row, place in enumerate(places)]))


@pytest.mark.parametrize(
    ("network", "weight", "bias"),
    [
        (Transformer(9, 4, **SMALL, num_layers=2), "weight_out", "bias_out"),
        (Transformer(9, 4, **SMALL, readout="attention"), "weight_out", "bias_out"),
        (Transformer(9, 4, **SMALL, halting="graves"), "weight_out", "bias_out"),
        (LSTM(9, 4, features=6, bidirectional=True), "weight", "bias"),
    ],
    ids=["transformer", "attention", "halting", "lstm"],
)
def test_what_any_classifier_reads_gives_its_logits(network, weight, bias):
    read = classifier_inputs(network, TOKENS, LENGTHS)
    logits = read @ getattr(network, weight).T + getattr(network, bias)
    assert_close(logits, network.eval()(TOKENS, LENGTHS))


def test_logits_that_no_linear_map_made():
    with pytest.raises(UserError, match="must be what nn.Linear or F.linear returns.*Product"):
        classifier_inputs(Product(), TOKENS, LENGTHS)


def test_representations_are_of_the_symbol_that_comes_out():
    task = CTLpp(num_functions=6, num_symbols=4)
    vectors = representations(Writer(task, [0] * 6), task)
    assert vectors.shape == (4, 6, 16)
    for symbol in range(4):
        assert vectors[symbol].nonzero()[:, 1].tolist() == [symbol] * 6


def test_similarities_equal_the_formula():
    vectors = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    similarities = cosine_similarities(vectors)
    for symbol in range(2):
        for a in range(3):
            for b in range(3):
                u, v = vectors[symbol, a], vectors[symbol, b]
                assert_close(similarities[symbol, a, b], (u @ v) / (u.norm() * v.norm()))


@pytest.mark.parametrize(
    ("dialects", "clusters", "agreement"),
    [
        ([0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1], 1.0),  # figure 6.3a
        ([1, 0, 0, 0, 0, 0], [0, 1, 1, 1, 1, 1], 0.0),  # figure 6.3b: a cluster within a group
        ([0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], 0.0),  # figure E.5: one way for all
    ],
)
def test_compare_symbols(dialects, clusters, agreement):
    task = CTLpp(num_functions=6, num_symbols=4)
    found = compare_symbols(Writer(task, dialects), task)
    expected = np.equal.outer(dialects, dialects)
    np.testing.assert_allclose(found.similarities, np.broadcast_to(expected, (4, 6, 6)), atol=1e-12)
    assert found.clusters.tolist() == [clusters] * 4
    assert found.groups.tolist() == [0, 0, 0, 1, 1, 1]
    np.testing.assert_allclose(found.agreement, agreement, atol=1e-12)


def test_clusters_by_least_similarity():
    similarities = np.array([[1.0, 0.2, 0.9], [0.2, 1.0, 0.4], [0.9, 0.4, 1.0]])
    assert cluster(similarities).tolist() == [0, 1, 0]
    assert cluster(similarities, 3).tolist() == [0, 1, 2]
    assert cluster(similarities, least=0.95).tolist() == [0, 1, 2]
    assert cluster(similarities, least=0.35).tolist() == [0, 1, 0]
    assert cluster(similarities, least=0.25).tolist() == [0, 0, 0]  # the mean of 0.2 and 0.4 is 0.3


def test_clusters_need_functions():
    with pytest.raises(UserError, match="at least 2; got 1"):
        cluster([[1.0]])
    with pytest.raises(UserError, match="num_clusters must be at least 1; got 0"):
        cluster(np.eye(2), 0)


def test_compatibility_equals_counting():
    rng = np.random.default_rng(0)
    right = rng.random((8, 8)) < 0.5
    clusters, groups = [0, 1, 0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 1, 2, 2, 2]
    shares = compatibility(right, clusters, groups)
    assert shares.shape == (2, 3)
    for c in range(2):
        for g in range(3):
            pairs = [
                right[first, second]
                for first in range(8)
                for second in range(8)
                if clusters[first] == c and groups[second] == g
            ]
            assert shares[c, g] == pytest.approx(sum(pairs) / len(pairs))


def test_groups_of_the_staged_variant():
    task = CTLpp(variant="S")
    numbers = group_numbers(task.groups)
    for number, functions in enumerate(task.groups.values()):
        assert (numbers[list(functions)] == number).all()
    assert len(numbers) == task.num_functions
