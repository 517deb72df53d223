"""wug lm as a person meets it."""

from pathlib import Path

import pytest
import torch

import wug
from wug.cli.lm import pieces_of
from wug.cli.main import main
from wug.records import read_run
from wug.tasks.language.wug_test import WugTest
from wug.training.kept_networks import keep_network, load

SMALL = ("--features", "8", "--layers", "1", "--heads", "2", "--experts", "4", "--expert-size", "4",
         "--top-k", "2", "--length", "8", "--rows", "4", "--steps", "4")  # fmt: skip


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "my wugs.txt"
    path.write_text("This is a wug. Now there are two wugs.\n" * 60, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def run(text: Path) -> Path:
    folder = text.parent / "run"
    assert main(["lm", "train", str(text), *SMALL, "--out", str(folder)]) == 0
    return folder


def test_training_leaves_a_run_and_a_network(run: Path) -> None:
    (record,) = read_run(run).records()
    assert record.key == {"model": "sigma_moe", "text": "my_wugs", "seed": 0}
    assert record.outcome["selected"]["test"]["bits_per_character"] > 0
    assert record.outcome["steps"] == 4
    (path,) = (run / "models").glob("*.safetensors")
    network, task = load(path)
    assert task.path.endswith("my wugs.txt") and network.num_tokens == 256
    assert (run / "traces").is_dir()


def test_what_is_trained_is_not_trained_again(
    run: Path, text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lm", "train", str(text), *SMALL, "--out", str(run)]) == 0
    said = capsys.readouterr().out
    assert "1 of 1 are there" in said and "bits per character" in said


def test_a_text_is_continued(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for options in (("--seed", "1"), ("--seed", "1"), ("--seed", "2"), ("--temperature", "0")):
        assert main(["lm", "generate", str(run), "--prompt", "This is a wug. ", *options,
                     "--length", "40"]) == 0  # fmt: skip
        said.append(capsys.readouterr().out)
    assert all(one.startswith("This is a wug. ") for one in said)
    assert said[0] == said[1] != said[2]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("train", "nowhere.txt"), "there is no file or folder nowhere.txt"),
        (("train", "{text}", "--rows", "0"), "rows must be at least 1"),
        (("train", "{text}", "--rows", "4000"), "Take fewer rows"),
        (("train", "{text}", "--learning-rate", "0"), "learning-rate must be above 0"),
        (("train", "{text}", "--top-k", "20"), "top_k must be at most num_experts"),
        (("train", "{text}", "--pieces", "100000"), "pieces"),
        (("train", "{short}", "--rows", "1"), "too short"),
        (("generate", "nowhere", "--prompt", "a"), "there is no file or folder nowhere"),
        (("generate", "{folder}", "--prompt", "a"), "must hold one network"),
        (("generate", "{text}", "--prompt", "a"), "no network that wug kept"),
        (("generate", "{run}", "--prompt", ""), "empty text"),
        (("generate", "{run}", "--prompt", "a", "--temperature", "-1"), "temperature must be"),
        (("generate", "{other}", "--prompt", "a"), "no language model"),
    ],
)
def test_mistakes_are_sentences(
    arguments: tuple[str, ...],
    sentence: str,
    run: Path,
    text: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    short, other = tmp_path / "short.txt", tmp_path / "other.safetensors"
    short.write_text("a" * 300, encoding="utf-8")
    options = {"in_features": 2, "out_features": 1, "units": ["nau"], "hidden_features": 2}
    stack = wug.models.ArithmeticStack(**options)
    keep_network(other, stack.state_dict(), model="arithmetic_stack", options=options)
    places = {"text": text, "short": short, "folder": tmp_path, "run": run, "other": other}
    filled = [word.format(**{n: str(p) for n, p in places.items()}) for word in arguments]
    out = ["--out", str(tmp_path / "out")] if arguments[0] == "train" else []
    assert main(["lm", *filled, *out]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_letters_of_several_bytes_come_whole() -> None:
    tokens = [*"wüg".encode(), 0xE2, 0x82]  # the last letter lacks a byte
    pieces = [*pieces_of(WugTest(), iter(tokens))]
    assert "".join(pieces) == "wüg\N{REPLACEMENT CHARACTER}"
    assert torch.is_grad_enabled()
