import os

import pytest

from wug.core.errors import UserError
from wug.tasks.productivity._mathematics_questions import MODULES
from wug.tasks.productivity.mathematics import PUBLISHED, Mathematics

SMALL = {"num_train": 600, "num_evaluation": 60}


@pytest.fixture
def published(tmp_path):
    """Files as the published ones are: questions and answers in turn."""
    for folder, name, first in (
        ("train-easy", "arithmetic__add_or_sub", 0),
        ("train-medium", "arithmetic__add_or_sub", 10),
        ("train-hard", "arithmetic__add_or_sub", 20),
        ("interpolate", "arithmetic__add_or_sub", 28),
        ("extrapolate", "arithmetic__add_or_sub_big", 1_000),
    ):
        (tmp_path / folder).mkdir()
        rows = [f"What is {n} + 1?\n{n + 1}\n" for n in range(first, first + 10)]
        (tmp_path / folder / f"{name}.txt").write_text("".join(rows))
    return str(tmp_path)


@pytest.mark.parametrize("module", MODULES)
def test_levels_are_groups(module):
    task = Mathematics(module=module, **SMALL)
    groups = {split: {p.group for p in task.pairs(split)} for split in
              ("train", "validation", "ood_validation", "test")}  # fmt: skip
    assert groups["train"] == {"easy", "medium", "hard"} >= groups["validation"]
    assert groups["ood_validation"] == {"beyond by one"} and groups["test"] == {"beyond by two"}
    assert set(PUBLISHED) == set(MODULES)


def test_published_files(published):
    task = Mathematics(folder=published)
    train = task.pairs("train")
    # Questions of the interpolation set are left out of training.
    assert len(train) == 28 and {pair.group for pair in train} == {"easy", "medium", "hard"}
    assert train[0] == ("What is 0 + 1?", "1", "easy")
    assert len(task.pairs("validation")) == 10
    assert (len(task.pairs("ood_validation")), len(task.pairs("test"))) == (1, 9)
    for pair in task.pairs("test"):
        assert task.decode_source(task.encode_source(pair.source)) == pair.source


def test_what_is_not_there(published, tmp_path):
    with pytest.raises(UserError, match="collect has no published extrapolation set"):
        Mathematics(module="collect", folder=published).pairs("test")
    with pytest.raises(UserError, match="numbers__place_value.txt can't be read"):
        Mathematics(module="place_value", folder=published).pairs("validation")
    with pytest.raises(UserError, match="module must be one of add_or_sub"):
        Mathematics(module="gcd")


def test_changed_files_are_read_anew_and_missing_ones_named(published, tmp_path, monkeypatch):
    monkeypatch.setenv("WUG_CACHE", str(tmp_path / "cache"))
    task = Mathematics(folder=published)
    before = task.examples("test")
    assert task.examples("test").target.equal(before.target)
    path = tmp_path / "extrapolate" / "arithmetic__add_or_sub_big.txt"
    path.write_text("".join(f"What is {n} + 2?\n{n + 2}\n" for n in range(1_000, 1_010)))
    os.utime(path, ns=(0, 0))
    assert not task.examples("test").target.equal(before.target)
    task.require_files()
    path.unlink()
    with pytest.raises(UserError, match="add_or_sub_big.txt can't be read: No such file"):
        task.examples("test")
    with pytest.raises(UserError, match="mathematics_dataset"):
        task.require_files()
