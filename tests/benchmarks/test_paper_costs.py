"""Operations of tables at paper scale: LSTMs and masks count, and no files are needed."""

import os
from pathlib import Path

import pytest
import torch
from paper_costs import costs, mask_rows, noise_for_pictures, unfused
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from wug.core import index
from wug.study.experiment import RunOptions


def test_an_lstm_costs_its_products() -> None:
    rows, steps, inputs, hidden = 3, 7, 10, 20
    lstm = nn.LSTM(inputs, hidden, batch_first=True)
    counter = FlopCounterMode(display=False)
    with unfused(), counter:
        lstm(torch.zeros(rows, steps, inputs))[0].sum().backward()
    forward = 2 * rows * steps * 4 * hidden * (inputs + hidden)
    # Neither the inputs nor the first state have a gradient.
    through_time = 2 * rows * (steps - 1) * 4 * hidden * hidden
    assert counter.get_total_flops() == 2 * forward + through_time
    assert torch._C._get_mkldnn_enabled()


def test_masks_are_counted_by_their_steps_and_rows() -> None:
    lot, *_ = index.get("experiment", "csordas2023.half_masks")(RunOptions(scale="smoke")).lots
    assert mask_rows(lot) == 3 * 128  # one mask, three steps, 128 rows
    found = costs("csordas2023.half_masks", "smoke", 2)
    network = found["flops"] - found["flops of masks"]
    assert found["flops of masks"] / network == 3 * 128 / (lot.plan.steps * lot.plan.batch_size)


def test_pictures_of_cifar_are_made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WUG_CIFAR10", raising=False)
    noise_for_pictures(tmp_path)
    folder = os.environ.pop("WUG_CIFAR10")
    assert folder == str(tmp_path)
    from wug.sources.pictures import pictures

    x, classes = pictures("cifar10", folder, "train")
    assert x.shape[1] == 3 * 32 * 32 and set(classes.tolist()) == set(range(10))
