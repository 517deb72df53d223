"""Masks on disk: bits as safetensors, with the hash of the network that they belong to."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from wug.analysis.masks.mask import Mask
from wug.core.errors import UserError
from wug.records import write_atomic

FORMAT = "wug masks 1"


def save_masks(path: Path | str, masks: Mapping[str, Mask], **about: Any) -> None:
    """Write masks of one network, eight weights to the byte.

    Args:
        path: The file.
        masks: By name.
        **about: Whatever else should be known of them, as JSON.

    Raises:
        UserError: They are of several networks, or there is none.
    """
    marks = {mask.model for mask in masks.values()}
    if len(marks) != 1:
        raise UserError(f"save_masks: masks must be of one network; got {len(marks)}.")
    tensors: dict[str, Tensor] = {}
    names = list(masks)
    for index, mask in enumerate(masks.values()):
        for name, kept in mask.kept.items():
            bits = np.packbits(kept.numpy(force=True).reshape(-1))
            tensors[f"{index}/{name}"] = torch.tensor(bits)
    shapes = {name: list(kept.shape) for name, kept in next(iter(masks.values())).kept.items()}
    facts = {
        "format": FORMAT, "model": marks.pop(), "masks": names, "shapes": shapes, "about": about,
    }  # fmt: skip
    write_atomic(Path(path), save(tensors, {"facts": json.dumps(facts)}))


def load_masks(path: Path | str, model: nn.Module | None = None) -> dict[str, Mask]:
    """Read masks, and check that they belong to a network.

    Args:
        path: A file of `save_masks`.
        model: The network; None leaves the check to you.

    Raises:
        UserError: The file holds no masks, or those of another network.
    """
    try:
        with safe_open(str(path), framework="pt") as file:
            facts = json.loads((file.metadata() or {})["facts"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if facts["format"] != FORMAT:
            raise ValueError(f"format {facts['format']!r}")
        found = {
            name: Mask(
                {
                    parameter: _unpack(tensors[f"{index}/{parameter}"], shape)
                    for parameter, shape in facts["shapes"].items()
                },
                facts["model"],
            )
            for index, name in enumerate(facts["masks"])
        }
    except (OSError, SafetensorError, KeyError, ValueError, TypeError) as error:
        raise UserError(f"load_masks: {Path(path).name} is no file of masks: {error!r}.") from None
    if model is not None:
        for mask in found.values():
            mask.require(model)
    return found


def _unpack(bits: Tensor, shape: list[int]) -> Tensor:
    flat = np.unpackbits(bits.numpy(), count=math.prod(shape)).astype(bool)
    return torch.tensor(flat).view(shape)
