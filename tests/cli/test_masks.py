"""wug masks on a file of a user's."""

import json

import pytest
from safetensors.torch import save_file

from wug.analysis.masks.files import load_masks
from wug.analysis.masks.planted import two_tables
from wug.cli.main import main

FILE = """
from wug.analysis.masks.planted import two_tables

planted = two_tables(4)
loss, score = planted.loss, planted.score

def model():
    return planted.model

def functions():
    return {n: [tuple(p.repeat_interleave(2, 0) for p in b[0])]
            for n, b in planted.functions.items()}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "my_planted_network.py"
    path.write_text(FILE)
    return path


def test_masks_page_and_files(file, tmp_path, capsys):
    out, weights = tmp_path / "out", tmp_path / "weights.safetensors"
    model = two_tables(4).model
    save_file({n: v.contiguous() for n, v in model.state_dict().items()}, weights)
    command = ["masks", str(file), "--out", str(out), "--weights", str(weights), "--steps", "3"]
    assert main([*command, "--seeds", "1"]) == 0
    said = capsys.readouterr().out
    assert "P_specialize" in said and "one seed: no interval" in said
    assert said.count("mask of shuffled labels") == said.count("other weights resampled") == 2
    found = json.loads((out / "masks.json").read_text())
    assert found["functions"] == ["a", "b"] and set(found["controls"]["a"]) >= {"shuffled"}
    page = (out / "index.html").read_text()
    assert "mask of shuffled labels" in page and "without the weights of a" in page
    assert set(load_masks(out / "masks.safetensors")) == {"a", "b"}


def test_errors_are_for_people(tmp_path, capsys):
    empty = tmp_path / "my_empty_file.py"
    empty.write_text("x = 1\n")
    assert main(["masks", str(empty), "--out", str(tmp_path)]) == 2
    assert "lacks model, functions, loss" in capsys.readouterr().err
    assert main(["masks", str(tmp_path / "no.py"), "--out", str(tmp_path)]) == 2
    assert main(["masks", str(tmp_path / "notes.md"), "--out", str(tmp_path)]) == 2
    assert "must be a Python file" in capsys.readouterr().err


def test_other_weights_are_refused(file, tmp_path, capsys):
    weights = tmp_path / "no.safetensors"
    weights.write_bytes(b"no")
    command = ["masks", str(file), "--out", str(tmp_path / "o"), "--weights", str(weights)]
    assert main(command) == 2
    assert "does not hold" in capsys.readouterr().err
