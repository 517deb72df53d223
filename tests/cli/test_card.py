"""wug card on a model in a file of a user's."""

from pathlib import Path

import pytest

from wug.cli.main import main
from wug.records import read_run
from wug.stats.comparison_table import make_table
from wug.training.plan import ENDLESS

MODEL = """
import torch
from torch import nn

class Mean(nn.Module):
    def __init__(self, num_tokens, num_classes):
        super().__init__()
        self.embedding = nn.Embedding(num_tokens, 16)
        self.out = nn.Linear(16, {classes})

    def forward(self, tokens, lengths):
        inside = torch.arange(tokens.shape[1]) < lengths[:, None]
        return self.out((self.embedding(tokens) * inside[..., None]).sum(1) / lengths[:, None])
"""


def write_model(folder: Path, stem: str, classes: str = "num_classes") -> str:
    path = folder / f"{stem}.py"
    path.write_text(MODEL.format(classes=classes), encoding="utf-8")
    return f"{path}:Mean"


def test_a_card_is_complete_and_in_time(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WUG_CACHE", str(tmp_path / "cache"))
    model = write_model(tmp_path, "mean_model")
    tasks = ["--tasks", "ctl", "simple_arithmetic"]
    short = ["--minutes", "0.05", "--evaluate-every", "5", "--least-steps", "1"]
    image = ["--image", "card.png"]
    assert main(["card", model, *short, *tasks, *image]) == 0
    folder = Path("runs/card/0.05min")
    records = list(read_run(folder).records())
    assert {record.key["task"] for record in records} == {"ctl", "simple_arithmetic"}
    for record in records:
        assert (
            0 <= record.outcome["selected"]["test"]["accuracy"] <= 1
            and record.outcome["steps"] >= 1
        )
        # Half of the time each. That a training keeps to its time is tested in test_single.py, with
        # a clock of its own: how long the last step takes depends on the machine.
        assert record.config["plan"]["stopping"]["seconds"] == 60 * 0.05 / 2
        assert record.outcome["steps"] < ENDLESS
    said = capsys.readouterr().out
    assert "mean" in said and "chance" in said and "Card: card.png" in said
    assert (folder / "card.svg").read_text(encoding="utf-8").startswith("<svg")
    assert Path("card.png").read_bytes().startswith(b"\x89PNG")
    # Another model joins the same table.
    assert main(["card", model, *short, "--name", "other", *tasks]) == 0
    assert main(["show", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "mean" in shown and "other" in shown
    # Fewer steps than are asked for are no score.
    assert main(["card", model, *short[:-1], "1000000", *tasks]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "not scored: mean ctl:" in said and "at least 1,000,000 are needed" in said
    assert make_table(read_run(folder)).rows == []


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("nothing.py:Model", "there is no file nothing.py"),
        ("nothing_here:Model", "No module named 'nothing_here'"),
        ("wug.models.ndr:Nothing", "has no attribute 'Nothing'"),
        ("nothing", "unknown model 'nothing'"),
    ],
)
def test_a_model_that_is_not_there(model, sentence, capsys):
    assert main(["card", model]) == 2
    assert sentence in capsys.readouterr().err


def test_a_model_of_the_wrong_shape(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["card", write_model(tmp_path, "wrong_model", classes="3")]) == 2
    error = capsys.readouterr().err
    assert "must return logits of shape (batch, num_classes) = (2, 8) for two sequences" in error
    assert "(ctl); got (2, 3)" in error
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        (("--device", "mars"), "device 'mars' can't be used here"),
        (("--learning-rate", "-1"), "learning_rate must be at least 0"),
        (("--minutes", "0"), "minutes must be at least 0.01"),
        (("--least-steps", "0"), "least_steps must be at least 1"),
        (("--image", "card.gif"), "the ending of --image must be one of .svg, .png"),
    ],
)
def test_bad_options_are_a_sentence_and_leave_nothing(
    option, sentence, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert main(["card", "ndr", *option]) == 2
    assert sentence in capsys.readouterr().err
    assert not Path("runs").exists()


def test_an_unknown_task(capsys):
    assert main(["card", "ndr", "--tasks", "chess"]) == 2
    assert "unknown task 'chess'" in capsys.readouterr().err


def test_the_help_says_that_the_file_is_run(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["card", "--help"])
    said = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "Your file is imported: what stands in it runs, with your rights." in said
