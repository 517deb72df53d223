"""Masks on disk."""

import pytest
import torch
from torch import nn

from wug.analysis.masks.files import load_masks, save_masks
from wug.analysis.masks.mask import Mask, model_hash
from wug.core.errors import UserError


def masks(model):
    generator = torch.Generator().manual_seed(0)
    shapes = {name: value.shape for name, value in model.named_parameters()}

    def draw():
        return {n: torch.rand(s, generator=generator) > 0.5 for n, s in shapes.items()}

    return {name: Mask(draw(), model_hash(model)) for name in ("first", "second")}


def test_round_trip(tmp_path):
    model = nn.Linear(5, 3)
    saved = masks(model)
    save_masks(tmp_path / "m.safetensors", saved, note="mine")
    found = load_masks(tmp_path / "m.safetensors", model)
    assert list(found) == list(saved) and all(found[n] == saved[n] for n in saved)
    assert found["first"].model == model_hash(model)


def test_masks_of_other_weights_are_refused(tmp_path):
    model = nn.Linear(5, 3)
    save_masks(tmp_path / "m.safetensors", masks(model))
    with pytest.raises(UserError, match="hash"):
        load_masks(tmp_path / "m.safetensors", nn.Linear(5, 3))
    other = masks(nn.Linear(5, 3))["first"]
    with pytest.raises(UserError, match="one network"):
        save_masks(tmp_path / "n.safetensors", {**masks(model), "x": other})


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "no.safetensors"
    path.write_bytes(b"nothing")
    for name in (path, tmp_path / "missing"):
        with pytest.raises(UserError, match="no file of masks"):
            load_masks(name)
