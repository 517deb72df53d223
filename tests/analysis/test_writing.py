"""What a network writes, what it looks at, and where it goes wrong."""

import numpy as np
import pytest
import torch
from torch import nn

from wug.analysis.writing import writing_record
from wug.core.errors import UserError
from wug.models.encoder_decoder import EncoderDecoder
from wug.models.lstm_encoder_decoder import LSTMEncoderDecoder
from wug.tasks.productivity.scan_length import ScanLength

TASK = ScanLength()
END = TASK.num_target_tokens


def network(make=EncoderDecoder, **options):
    return make(13, 6, features=16, generator=torch.Generator().manual_seed(1), **options).eval()


class Says(nn.Module):
    """Writes what it was told to, and has no attention."""

    def __init__(self, text):
        super().__init__()
        self.ids = nn.Parameter(torch.tensor([*TASK.encode_target(text), END]).float())

    def decode(self, source, source_lengths, max_length):
        ids = self.ids.long()[:max_length]
        return torch.cat([ids, ids.new_full((max_length - len(ids),), END)])[None]


@pytest.mark.parametrize(
    ("says", "outcome", "first"),
    [
        ("I_WALK I_WALK", "right", None),
        ("I_WALK", "stopped early", 1),
        ("I_WALK I_WALK I_RUN", "stopped late", 2),
        ("I_RUN I_WALK", "wrote wrongly", 0),
        ("I_WALK I_WALK" + " I_WALK" * 40, "stopped late", 2),
    ],
)
def test_where_it_goes_wrong(says, outcome, first):
    source, target = TASK.encode_source("walk twice"), TASK.encode_target("I_WALK I_WALK")
    arrays, about = writing_record(Says(says), TASK, source, target)
    assert arrays == {} and (about["outcome"], about["first_error"]) == (outcome, first)
    assert about["source"] == ["begin", "walk", "twice", "end"]
    assert about["target"] == ["I_WALK", "I_WALK"]
    ended = len(says.split()) < len(target) + 8
    assert about["written"] == [*says.split()[: len(target) + 8], *(["end"] if ended else [])]


@pytest.mark.parametrize(
    ("make", "layers"),
    [(EncoderDecoder, 3), (LSTMEncoderDecoder, 1)],
)
def test_attention_is_that_of_the_network_fed_what_it_wrote(make, layers):
    model = network(make)
    source = TASK.encode_source("jump around left twice")
    arrays, about = writing_record(model, TASK, source, max_length=5)
    written = [
        END if word == "end" else TASK.target_tokens.index(word) for word in about["written"]
    ]
    fed = torch.tensor([[END, *written]])[:, : len(written)]
    trace = model.trace(torch.tensor([source]), torch.tensor([len(source)]), fed)
    expected = trace["cross_attention"][:, 0].mean(1).detach().numpy()
    assert arrays["attention"].shape == (layers, len(written), len(source) + 2)
    np.testing.assert_allclose(arrays["attention"], expected, atol=1e-6)
    np.testing.assert_allclose(arrays["attention"].sum(-1), 1, atol=1e-5)
    assert "outcome" not in about


def test_what_cannot_be_read():
    with pytest.raises(UserError, match="empty source"):
        writing_record(network(), TASK, [])


class Loosely(ScanLength):
    def same(self, answer, target):
        return sorted(answer.split()) == sorted(target.split())


def test_what_means_the_same_is_right_if_the_task_says_so():
    source, target = TASK.encode_source("walk"), TASK.encode_target("I_RUN I_WALK")
    for task, outcome, first in ((TASK, "wrote wrongly", 0), (Loosely(), "right", None)):
        about = writing_record(Says("I_WALK I_RUN"), task, source, target)[1]
        assert (about["outcome"], about["first_error"]) == (outcome, first)
    endless = writing_record(Says("I_WALK" + " I_WALK" * 40), Loosely(), source, target)[1]
    assert endless["outcome"] == "wrote wrongly"
