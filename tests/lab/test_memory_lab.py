"""Networks with an answer in every step are asked: a sequence to be copied, a story."""

from pathlib import Path

import pytest
import torch

from wug.core.errors import UserError
from wug.lab import Lab
from wug.lab.answers import answer
from wug.models.dnc import DNC
from wug.models.step_lstm import StepLSTM
from wug.tasks.memory.associative_recall import AssociativeRecall
from wug.tasks.memory.babi import Babi
from wug.tasks.memory.copy import Copy
from wug.training.kept_networks import keep_network

COPY = Copy(bits=6)


def dnc(task, **options):
    generator = torch.Generator().manual_seed(0)
    return DNC(task.in_features, task.out_features, num_cells=4, generator=generator, **options)


def test_a_sequence_is_copied_word_by_word(tmp_path: Path) -> None:
    network = dnc(COPY)
    keep_network(
        tmp_path / "models" / "dnc.safetensors", network.state_dict(), model="dnc",
        options={"num_cells": 4}, task=COPY, labels={"model": "dnc"}, seed=0,
        selected={"test": {"accuracy": 0.5}},
    )  # fmt: skip
    lab = Lab([tmp_path])
    (one,) = lab.checkpoints()["checkpoints"]
    assert one["example"] == "HELLO/wug" and "slash" in one["reads"] and one["tokens"] == []
    found = lab.answer(one["id"], " Hi/you ")
    assert found["kind"] == "steps" and found["problem"] == "Hi/you" and found["due"] == "Hiyou"
    # Two words, a mark and two answers; then three, a mark and three.
    assert len(found["said"]) <= 5 and len(found["memory"]["writes"]) == 2 + 1 + 2 + 3 + 1 + 3
    batch = COPY.read("Hi/you")
    bits = network(batch["inputs"]).answer[0][batch["asked"][0] > 0] > 0
    numbers = [sum(int(bit) << place for place, bit in enumerate(row)) for row in bits]
    assert found["said"] == "".join(COPY.letters[number] for number in numbers).strip()
    with pytest.raises(UserError, match="Copy: words must be letters of ABC.*; got '!'"):
        lab.answer(one["id"], "HI!")
    with pytest.raises(UserError, match="Copy: type something to be repeated, such as HELLO/wug"):
        lab.answer(one["id"], " / ")


def test_words_of_many_bits_are_written_as_bits() -> None:
    task = Copy(version="as_published")
    batch = task.read("00000001 11111111")
    assert batch["targets"][0, 3].tolist() == [0, 0, 0, 0, 0, 0, 0, 1, 0]
    assert task.write(2 * batch["targets"][0] - 1, batch)["said"] == "00000001 11111111 /"
    assert task.read(task.example)["inputs"].shape == (1, 4, 9)
    with pytest.raises(UserError, match="Copy: words must be 8 bits each; got '012'"):
        task.read("012")


def test_a_story_is_answered(tmp_path: Path) -> None:
    (tmp_path / "en-10k").mkdir()
    for part in ("train", "test"):
        path = tmp_path / "en-10k" / f"qa1_single-supporting-fact_{part}.txt"
        path.write_text("1 Mary went home.\n2 Where is Mary?\thome\t1\n", encoding="utf-8")
    task = Babi(folder=str(tmp_path), tasks=(1,), validation_share=0)
    network = dnc(task, tokens=True, embedding_features=4)
    found = answer(network, task, "Mary went home. Where is Mary?")
    assert found["said"] in task.vocabulary and found["due"] is None
    expected = ["mary", "went", "home", ".", "where", "is", "mary", "?", "-", "-", "-", "-"]
    assert found["labels"] == found["memory"]["labels"] == expected
    assert "inputs" not in found["memory"] and sum(found["memory"]["asked"]) == 1
    with pytest.raises(UserError, match="Babi: a story needs a question"):
        task.read("Mary went home.")


def test_networks_without_cells_have_no_picture_and_some_tasks_can_not_be_typed() -> None:
    lstm = StepLSTM(COPY.in_features, COPY.out_features, features=3)
    assert answer(lstm, COPY, "HI")["memory"] is None
    task = AssociativeRecall()
    with pytest.raises(UserError, match="AssociativeRecall has no inputs that a person can write"):
        answer(dnc(task), task, "01")
