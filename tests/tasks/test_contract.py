"""What every task promises, over the whole register."""

import inspect
import re
from importlib.resources import files
from pathlib import Path

import pytest
import torch

from wug.core.index import build, get

TASKS = [entry for entry in build() if entry.kind == "task"]
SPLITS = {"train", "validation", "ood_validation", "test"}
CLAIMS = {
    "extrapolation", "productivity", "systematicity", "memory", "modularity", "perception",
    "language",
}  # fmt: skip

# Tasks on token sequences and on time steps have contracts of their own: test_sequence_contract,
# test_pair_contract, test_text_contract and test_step_contract.
OF_TOKENS = ("tokens", "transduction", "next_token", "steps")
NUMBER_TASKS = [entry for entry in TASKS if entry.details.get("interface") not in OF_TOKENS]

every_task = pytest.mark.parametrize("entry", TASKS, ids=lambda entry: entry.key)
every_number_task = pytest.mark.parametrize("entry", NUMBER_TASKS, ids=lambda entry: entry.key)


def test_there_are_tasks():
    assert "single_module" in {entry.key for entry in TASKS}


@every_task
def test_claim_is_the_folder(entry):
    module, _, _ = entry.target.partition(":")
    _, _, folder, stem = module.split(".")
    assert entry.details["claim"] == folder
    assert folder in CLAIMS
    assert stem == entry.key
    assert (Path(__file__).parent / folder / f"test_{stem}.py").is_file()


@every_task
def test_citation(entry):
    bibliography = (files("wug") / "references.bib").read_text(encoding="utf-8")
    known = set(re.findall(r"^@\w+\{(\w+),", bibliography, re.MULTILINE))
    assert entry.references and set(entry.references) <= known


@every_task
def test_docstring(entry):
    text = inspect.getdoc(get("task", entry.key))
    for section in ("Departures:", "Args:", "Raises:", "Example:", "References:"):
        assert f"\n{section}\n" in text
    assert entry.summary.endswith(".")


@every_number_task
def test_four_splits(entry):
    assert set(entry.details["splits"]) == SPLITS
    task = get("task", entry.key)()
    batches = {split: task.batch(split, torch.Generator().manual_seed(0)) for split in SPLITS}
    # Sequences may be longer out of distribution: (batch, seq, in), with an answer in every step.
    ends = {
        (len(x), x.dim(), x.shape[-1], len(y), y.dim(), y.shape[-1]) for x, y in batches.values()
    }
    shapes = ends if batches["train"][1].dim() > 2 else {y.shape for _, y in batches.values()}
    assert len(ends) == 1
    assert len(shapes) == 1
    if next(iter(batches.values()))[0].dim() == 2:
        assert len({x.shape for x, _ in batches.values()}) == 1
    assert all(part.isfinite().all() for batch in batches.values() for part in batch)


@every_number_task
def test_same_seed_same_data(entry):
    task = get("task", entry.key)()
    for split in SPLITS:
        first, again, other = (
            task.batch(split, torch.Generator().manual_seed(seed)) for seed in (0, 0, 1)
        )
        assert all(map(torch.equal, first, again))
        assert not torch.equal(first[0], other[0])


@every_task
def test_says_what_solved_means(entry):
    assert get("task", entry.key)().threshold() > 0
