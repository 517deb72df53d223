"""Scripts of benchmarks/ import each other as files of one folder."""

import sys
from pathlib import Path

import pytest
import torch

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))


@pytest.fixture(autouse=True)
def restored_torch():
    """Undo what a benchmark sets for its process."""
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)
    torch.set_flush_denormal(False)
