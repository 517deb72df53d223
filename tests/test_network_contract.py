"""What every layer and model promises: a new file is tested by being there."""

import inspect
import re
from importlib.resources import files
from pathlib import Path

import pytest
import torch
from torch import nn

from wug.core.index import build, get

ENTRIES = [entry for entry in build() if entry.kind in ("layer", "model")]
SECTIONS = ("Notation:", "Departures:", "Args:", "Shape:", "Example:", "References:")

every_network = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.key)


def make(entry, seed=0):
    return get(entry.kind, entry.key)(2, 3, generator=torch.Generator().manual_seed(seed))


@every_network
def test_stands_in_the_file_of_its_key_and_has_a_test(entry):
    assert entry.target.startswith(f"wug.{entry.kind}s.{entry.key}:")
    assert (Path(__file__).parent / f"{entry.kind}s" / f"test_{entry.key}.py").is_file()


@every_network
def test_docstring_and_references(entry):
    text = inspect.getdoc(get(entry.kind, entry.key))
    lines = [line.strip() for line in text.splitlines()]
    assert all(section in lines for section in SECTIONS)
    assert re.search(r"^Equation \([a-z]+\d{4}, ", text, re.MULTILINE) and ">>> " in text
    bibliography = (files("wug") / "references.bib").read_text(encoding="utf-8")
    known = set(re.findall(r"^@\w+\{(\w+),", bibliography, re.MULTILINE))
    assert entry.references and set(entry.references) <= known
    assert entry.equation


@every_network
def test_is_a_module_whose_weights_come_from_the_generator(entry):
    first, again, other = make(entry), make(entry), make(entry, seed=1)
    assert isinstance(first, nn.Module)
    same = [torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True)]
    assert same and all(same)
    assert not torch.equal(next(first.parameters()), next(other.parameters()))


@every_network
def test_state_dict_round_trip(entry):
    first, other = make(entry), make(entry, seed=1)
    other.load_state_dict(first.state_dict())
    for name, value in first.state_dict().items():
        assert torch.equal(value, other.state_dict()[name])
    assert all(isinstance(getattr(first, name), int) for name in ("in_features", "out_features"))
