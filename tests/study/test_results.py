"""Results, networks and runs from Python."""

import pytest
import torch

import wug
from wug.core.errors import UserError


def test_rows_are_flat_and_chosen_by_name():
    found = wug.results("mistry2022.single_module@shipped/nmu:mul:[1,2)")
    assert len(found) == 25
    assert {row["unit"] for row in found} == {"nmu"} and {row["range"] for row in found} == {
        "[1,2)"
    }
    assert all(isinstance(row["selected.test.error"], float) for row in found)
    assert len(wug.results("mistry2022.single_module@shipped/nmu:mul:[1,2)#3")) == 1
    assert "25 trainings" in repr(found)


def test_what_is_not_there():
    with pytest.raises(UserError, match="has no unit 'nmuu'; it has"):
        wug.results("mistry2022.single_module@shipped/nmuu")
    with pytest.raises(UserError, match="has no seed 99"):
        wug.results("mistry2022.single_module@shipped/nmu:mul:[1,2)#99")
    with pytest.raises(UserError, match="has no kept network"):
        wug.load("mistry2022.single_module@shipped/nmu:mul:[1,2)")


def test_a_shipped_router_answers_longer_problems():
    router = wug.load("csordas2023.ctl@shipped/ndr:backward")
    problem = router.task.encode("b a d b c a e f d 101")
    logits = router(torch.tensor([problem]), torch.tensor([len(problem)]))
    assert logits.argmax() == router.task.answer(problem)


def test_run_trains_a_table(tmp_path):
    folder = tmp_path / "run"
    found = wug.run(
        "mistry2022.redundancy", scale="smoke", only=("nau:add",), seeds=1, out=folder,
        compile="off",
    )  # fmt: skip
    assert len(found) == len({tuple(r.key.items()) for r in found.records}) > 0
    assert (folder / "catalog.json").is_file()


def test_pandas():
    pandas = pytest.importorskip("pandas", reason="pandas is not one of wug's dependencies")
    frame = wug.results("mistry2022.single_module@shipped/nmu:mul:[1,2)").to_pandas()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == 25
