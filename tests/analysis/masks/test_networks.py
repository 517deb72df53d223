"""Masks of networks that know nothing of masks."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from wug.analysis.masks.find import find_masks
from wug.analysis.masks.sampling import initial_logit
from wug.models.fnn import FNN
from wug.models.lstm import LSTM
from wug.models.ndr import NDR
from wug.models.repeated_lstm import RepeatedLSTM
from wug.models.resnet import ResNet
from wug.models.simple_cnn import SimpleCNN
from wug.models.transformer import Transformer
from wug.training.kept_networks import load

QUICK = {"steps": 2, "seeds": 1, "controls": (), "shares": (), "progress": False}


def tokens(rows=8, length=5, vocabulary=11):
    generator = torch.Generator().manual_seed(0)
    return torch.randint(vocabulary, (rows, length), generator=generator)


class Encoder(nn.Module):
    """A classifier around torch's own encoder."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.last = nn.Linear(8, 3)

    def forward(self, x):
        return self.last(self.encoder(self.embedding(x)).mean(1))


@pytest.mark.parametrize("granularity", ["weight", "neuron", "head", "layer"])
def test_transformer_encoder_of_torch(granularity):
    found = find_masks(
        Encoder(), {"f": [(tokens(), tokens()[:, 0] % 3)]}, F.cross_entropy,
        granularity=granularity, **QUICK,
    )  # fmt: skip
    assert any("in_proj_weight" in name for name in found["f"].kept)
    assert "embedding.weight" not in found["f"].kept


def check_that_the_loss_moves_gates(model, batch):
    """With beta 0 nothing else moves them; a weight of 0 is the same with and without a gate."""
    found = find_masks(model, {"f": [batch]}, F.cross_entropy, beta=0.0, **QUICK)
    (logits,), params = found.logits["f"], dict(model.named_parameters())
    still = [n for n, value in logits.items() if (value - initial_logit(0.9)).abs().max() < 1e-4]
    assert all(not params[name].any() for name in still), still
    assert len(logits) >= 3


SEQUENCES = {
    "ndr": lambda: NDR(11, 3, features=8, hidden_features=8, num_heads=2),
    "transformer": lambda: Transformer(11, 3, features=8, hidden_features=8, num_heads=2),
    "lstm": lambda: LSTM(11, 3, features=8),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_our_networks_on_sequences(name):
    lengths = torch.tensor([5, 1, 3, 4] * 2)
    batch = (tokens(), lengths, tokens()[:, 0] % 3)
    check_that_the_loss_moves_gates(SEQUENCES[name](), batch)


VECTORS = {
    "fnn": lambda: FNN(16, 3, hidden=(8, 8)),
    "repeated_lstm": lambda: RepeatedLSTM(16, 3, features=8, num_layers=2, num_steps=2),
    "simple_cnn": lambda: SimpleCNN(16, 3, widths=(2, 2, 4, 4)),
    "resnet110": lambda: ResNet(16, 3, depth=110, widths=(2, 2, 4)),
}


@pytest.mark.parametrize("name", VECTORS)
def test_our_networks_on_vectors_and_pictures(name):
    generator = torch.Generator().manual_seed(0)
    batch = (torch.randn(8, 16, generator=generator), tokens()[:, 0] % 3)
    check_that_the_loss_moves_gates(VECTORS[name](), batch)


class Pictures(nn.Module):
    """Convolutions with normalisation, in training mode until somebody says otherwise."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4)
        self.last = nn.Linear(4, 3)

    def forward(self, x):
        return self.last(self.norm(self.first(x)).relu().mean((-1, -2)))


def test_convolutions_and_batch_norm_keep_their_statistics():
    model = Pictures()
    before = model.norm.running_mean.clone()
    x = torch.randn(8, 1, 6, 6, generator=torch.Generator().manual_seed(0))
    found = find_masks(
        model, {"f": [(x, tokens()[:, 0] % 3)]}, F.cross_entropy, biases=True, **QUICK
    )
    assert torch.equal(model.norm.running_mean, before) and "norm.weight" in found["f"].kept


def test_a_model_of_hugging_face():
    transformers = pytest.importorskip("transformers", reason="pip install transformers")
    config = transformers.GPT2Config(
        vocab_size=11, n_positions=8, n_embd=8, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0
    )
    model = transformers.GPT2LMHeadModel(config)
    batch = {"input_ids": tokens(), "labels": tokens()}

    def score(network, one):
        return (network(input_ids=one["input_ids"]).logits.argmax(-1) == one["labels"]).float()

    found = find_masks(
        model, {"f": [batch]}, lambda network, one: network(**one).loss, score=score, **QUICK
    )
    assert any("c_attn" in name for name in found["f"].kept)


def test_a_shipped_router_on_the_functions_of_table_lookup():
    path = Path(__file__).parents[3] / "results/csordas2023.ctl/laptop/models"
    network, task = load(path / "ndr-forward-1.safetensors")
    examples = task.examples("validation")
    short = examples[examples.levels == 2][:400]
    functions = {}
    for token in (short.tokens[0, 2].item(), short.tokens[0, 1].item()):  # written as last, first
        uses = (short.tokens[:, 1:3] == token).any(1)
        some = short[uses][:8]
        functions[task.tokens[token]] = [(some.tokens[:, :3].long(), some.lengths, some.labels)]
    found = find_masks(network, functions, F.cross_entropy, **QUICK)
    assert min(found.full.values()) == 1  # it has learnt both
    assert set(found.masks) == set(functions) and found.setting["granularity"] == "weight"
