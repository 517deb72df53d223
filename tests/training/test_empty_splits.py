"""A training whose splits have no examples says so before it begins."""

from dataclasses import replace

import pytest
import torch

from wug.core.errors import UserError
from wug.experiments.csordas2023.babi import plan
from wug.study.trainings import registered
from wug.tasks.memory.babi import Babi
from wug.training.loop import Training
from wug.training.plan import Lot, Variant

STORY = "1 Mary went {}.\n2 Where is Mary?\t{}\t1\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "en-10k").mkdir()
    for part in ("train", "test"):
        path = tmp_path / "en-10k" / f"qa1_single-supporting-fact_{part}.txt"
        places = ("home", "out", "there", "back")
        path.write_text("".join(STORY.format(place, place) for place in places), encoding="utf-8")
    return tmp_path


def training(folder, share, engine):
    task = Babi(folder=folder, tasks=(1,), version="as_published", validation_share=share)
    small = {"controller_features": 4, "num_cells": 4, "word_features": 4, "embedding_features": 4}
    lot = Lot(
        name="babi",
        build=registered("dnc", task, tokens=True, **small),
        variants=(Variant(labels={"model": "dnc"}, task=task),),
        seeds=(0,),
        plan=replace(plan("paper"), steps=2, evaluate_every=2, engine=engine),
    )
    return Training(lot, device=torch.device("cpu"), compiled=False)


@pytest.mark.parametrize("engine", ["single", "stacked"])
def test_without_validation_nothing_is_trained(folder, engine):
    made = training(folder, 0.0, engine)
    with pytest.raises(UserError, match="Lot babi: Babi has no examples of validation"):
        made.train()
    assert made.clock.step == 0


@pytest.mark.parametrize("engine", ["single", "stacked"])
def test_with_some_it_is_trained_as_at_paper_scale(folder, engine):
    (result,) = training(folder, 0.4, engine).train()
    assert result.outcome["steps"] == 2 and result.curves["validation"]
