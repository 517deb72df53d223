"""Which units overflow at inputs of ±1e30, as docs/which-unit.md says; and batches without rows."""

import re
from pathlib import Path

import pytest
import torch

from wug.core import index

DOCS = Path(__file__).parents[2] / "docs" / "which-unit.md"
UNITS = [entry.key for entry in index.entries("unit") if entry.target.startswith("wug.")]


def overflows(key: str, dtype: torch.dtype) -> bool:
    make = index.get("unit", key)
    unit = make(2, 1, generator=torch.Generator().manual_seed(0), dtype=dtype).eval()
    with torch.no_grad():
        return not all(
            unit(torch.full((1, 2), x, dtype=dtype)).isfinite().all() for x in (1e30, -1e30)
        )


def test_the_docs_name_those_that_overflow() -> None:
    section = DOCS.read_text(encoding="utf-8").partition("## Large inputs")[2].partition("##")[0]
    named = set(re.findall(r"`(\w+)`", section.partition("They multiply")[0]))
    assert named == {key for key in UNITS if overflows(key, torch.float32)}
    assert not any(overflows(key, torch.float64) for key in UNITS)


@pytest.mark.parametrize("key", UNITS)
def test_a_batch_without_rows(key: str) -> None:
    unit = index.get("unit", key)(2, 1, generator=torch.Generator().manual_seed(0))
    for mode in (True, False):
        output = unit.train(mode)(torch.zeros(0, 2))
        assert output.shape == (0, 1)
        output.sum().backward()
