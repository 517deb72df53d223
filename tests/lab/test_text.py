"""Language models in the lab: a text goes on, with the experts of each token."""

from pathlib import Path

import pytest
import torch

from wug.lab import Lab
from wug.models.transformer_xl import TransformerXL
from wug.tasks.language.wug_test import WugTest
from wug.training.kept_networks import keep_network

SIZES = {"features": 8, "num_layers": 2, "num_heads": 2, "memory_length": 16}
EXPERTS = {"feed_forward": "sigma_moe", "num_experts": 4, "expert_features": 4, "top_k": 2}


@pytest.mark.parametrize("options", [{}, EXPERTS], ids=["dense", "experts"])
def test_a_text_is_continued_with_the_experts_of_each_token(tmp_path: Path, options) -> None:
    model = TransformerXL(256, **SIZES, **options, generator=torch.Generator().manual_seed(0))
    path = tmp_path / "models" / "text.safetensors"
    keep_network(path, model.state_dict(), model="transformer_xl", options={**SIZES, **options},
                 task=WugTest(test_tokens=200_000))  # fmt: skip
    lab = Lab([tmp_path])
    (one,) = lab.checkpoints()["checkpoints"]
    assert one["interface"] == "next_token" and one["example"].startswith("This is a wug.")
    answer = lab.answer(one["id"], "This is ä wug.")
    assert answer["prompt"] == "This is ä wug." and answer["num_prompt"] == 15
    assert len(answer["pieces"]) == 15 + 200
    assert answer["num_experts"] == (4 if options else 0)
    if not options:
        assert answer["experts"] == []
        return
    model.eval()
    tokens = torch.tensor([[*"This is ä wug.".encode()]])
    inside = model.trace(tokens)
    for layer in range(2):
        assert len(answer["experts"][layer]) == 215
        assert answer["experts"][layer][:15] == inside["experts"][layer, 0].tolist()
        for ours, theirs in zip(
            answer["weights"][layer], inside["weights"][layer, 0], strict=False
        ):
            assert ours == pytest.approx(theirs.tolist(), abs=1e-3)
    # The most likely token, again and again, as the network reads its own text at once.
    text = torch.tensor([[*"This is ä wug.".encode()]])
    with torch.no_grad():
        for _ in range(10):
            text = torch.cat([text, model(text).answer[:, -1:].argmax(-1)], 1)
    assert WugTest().decode(text[0, 15:].tolist()) == answer["continuation"][:10]
