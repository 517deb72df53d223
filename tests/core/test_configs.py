"""Settings as plain data."""

from dataclasses import dataclass

import pytest
import torch

from wug.core.configs import as_config
from wug.core.schedules import Constant, WarmUp
from wug.records import config_hash


@dataclass(frozen=True)
class Part:
    rate: object
    sizes: tuple[int, ...] = (1, 2)


def test_parts_of_parts_become_json():
    config = as_config(Part(WarmUp(1.0, 3), (4,)))
    assert config == {
        "kind": "Part",
        "rate": {"kind": "WarmUp", "peak": 1.0, "warm_up": 3, "steps": None, "final": 0.0},
        "sizes": [4],
    }
    assert config_hash(config) != config_hash(as_config(Part(Constant(1.0), (4,))))


def test_types_and_numbers_of_torch():
    assert as_config({"dtype": torch.float64, "device": torch.device("cpu")}) == {
        "dtype": "float64", "device": "cpu",
    }  # fmt: skip
    assert as_config(Part) == f"{__name__}:Part"


def test_functions_have_no_plain_form():
    with pytest.raises(TypeError, match="has no plain form"):
        as_config({"build": lambda: None})
