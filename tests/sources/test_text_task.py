"""What text tasks have beside what tests/tasks/test_text_contract.py asks of all of them."""

import pytest
import torch

from wug.interfaces.next_token import NEXT_TOKEN
from wug.tasks.language.wug_test import WugTest
from wug.training.train import train


class TwoByteTokens(WugTest):
    """A task whose tokens stand for two bytes each, but for token 0."""

    token_lengths = torch.tensor([0, *[2] * 255])


def test_bits_are_counted_per_byte_of_the_text():
    batch = {
        "inputs": torch.tensor([[1, 2], [3, 0]]), "targets": torch.tensor([[2, 3], [0, 5]]),
        "mask": torch.tensor([[True, True], [True, False]]),
        "starts": torch.tensor([True, True]),
    }  # fmt: skip
    network = torch.nn.Embedding(256, 256)  # logits from the token alone
    network.forward = lambda tokens, state=None: torch.zeros(*tokens.shape, 256)
    by_byte, _ = NEXT_TOKEN.counts(WugTest(), network, batch, None, 1)
    by_pair, _ = NEXT_TOKEN.counts(TwoByteTokens(), network, batch, None, 1)
    # 256 equally likely tokens are 8 bits each; of three targets two stand for two bytes.
    torch.testing.assert_close(by_byte["bits_per_character"], torch.tensor([[24.0, 3.0]]).double())
    torch.testing.assert_close(by_pair["bits_per_character"], torch.tensor([[24.0, 4.0]]).double())
    assert by_byte["loss"][0, 1] == by_pair["loss"][0, 1] == 3


@pytest.fixture(scope="module")
def result():
    options = {"features": 16, "num_layers": 1, "num_heads": 2, "memory_length": 16}
    task = WugTest(length=16, num_blocks=2, train_bytes=5_000, held_out_bytes=400)
    return train("transformer_xl", task, steps=4, options=options, batch_size=2)[0]


def test_outcomes_have_bits_for_each_block(result):
    outcome = result.outcome
    assert set(outcome["groups"]["selected"]["test"]["bits_per_character"]) == {"0", "1"}
    assert outcome["selected"]["ood_validation"] == {}
    assert outcome["engine"] == "single"
    whole = outcome["selected"]["test"]["bits_per_character"]
    blocks = outcome["groups"]["selected"]["test"]["bits_per_character"].values()
    assert min(blocks) <= whole <= max(blocks)
