"""Planted networks and the masks that are found for them, once for all tests."""

from functools import cache

import pytest
import torch

from wug.analysis.masks.find import find_masks
from wug.analysis.masks.planted import PLANTED

# Programs need all of many weights at once: they begin with nearly all.
SETTINGS = {
    "tables": {"beta": 3e-3, "steps": 300, "learning_rate": 0.05, "samples": 8},
    "programs": {
        "beta": 1e-3, "steps": 300, "learning_rate": 0.05, "samples": 8, "probability": 0.98,
    },
}  # fmt: skip


def repeated(batch, rows=72):
    """Return a batch with all problems several times, in another order."""
    number = len(batch[0])
    generator = torch.Generator().manual_seed(0)
    order = torch.cat([torch.randperm(number, generator=generator)] * (rows // number + 1))
    return tuple(part[order[:rows]] for part in batch)


@cache
def planted_masks(name):
    """Return a planted network and what is found for it."""
    planted = PLANTED[name]()
    data = {key: [repeated(batches[0])] for key, batches in planted.functions.items()}
    controls = ("shuffled", "random_mask", "seeds", "ablations") if name == "two_tables" else ()
    found = find_masks(
        planted.model, data, planted.loss, score=planted.score, evaluation=planted.functions,
        seeds=1 if "programs" in name else 2, controls=controls,
        shares=(0.0, 0.1, 0.2, 0.5, 1.0), progress=False,
        **SETTINGS["programs" if "programs" in name else "tables"],
    )  # fmt: skip
    return planted, found


@pytest.fixture(params=list(PLANTED))
def planted(request):
    return planted_masks(request.param)


@pytest.fixture
def two_tables():
    return planted_masks("two_tables")
