"""Digits that a person draws, and traces of networks that read them."""

from pathlib import Path

import pytest
import torch

from wug.core.errors import UserError
from wug.lab import Lab
from wug.models.image_fold import ImageFold
from wug.study.traces import write_traces
from wug.tasks.perception.digit_sequences import MOST_PICTURES, DigitSequences
from wug.training.kept_networks import keep_network

TASK = DigitSequences(operation="product", train_length=2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run folder with a network that reads pictures of 8 x 8."""
    network = ImageFold(64, 1, cell="nmu", generator=torch.Generator().manual_seed(0))
    path = tmp_path / "runs" / "demo" / "models" / "nmu-product-0.safetensors"
    path.parent.mkdir(parents=True)
    keep_network(
        path, network.state_dict(), model="image_fold", options={"cell": "nmu"}, task=TASK,
        labels={"model": "nmu"}, seed=0, selected={},
    )  # fmt: skip
    return path.parents[1]


def test_drawn_digits_are_answered_one_by_one(folder: Path) -> None:
    lab = Lab([folder])
    (one,) = lab.checkpoints()["checkpoints"]
    assert one["side"] == 8 and "pictures" in one["reads"] and one["example"] == ""
    text = " ".join(("0f" * 32, "3" * 64, "f" * 64))
    answer = lab.answer(one["id"], text)
    assert answer["kind"] == "pictures" and len(answer["pictures"]) == 3
    network = ImageFold(64, 1, cell="nmu", generator=torch.Generator().manual_seed(0))
    pictures = torch.tensor([[0.0, 1.0] * 32, [0.2] * 64, [1.0] * 64])
    expected = network(pictures).answer.flatten().tolist()
    assert [row[0] for row in answer["running"]] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("text", ["", "0f", "x" * 64, " ".join(["0" * 64] * (MOST_PICTURES + 1))])
def test_what_is_no_picture_is_refused(folder: Path, text: str) -> None:
    lab = Lab([folder])
    (one,) = lab.checkpoints()["checkpoints"]
    with pytest.raises(UserError, match="lab: "):
        lab.answer(one["id"], text)


def test_traces_show_the_best_and_the_worst_sequence(folder: Path) -> None:
    written, problems = write_traces(folder)
    assert not problems and [path.name.split(".")[1] for path in written] == [
        "digits-1",
        "digits-2",
    ]
    assert write_traces(folder) == ([], [])
