"""What a training process sets: in a process of its own, since it can't be taken back."""

import subprocess
import sys

import pytest

SCRIPT = """
import resource
import torch
from wug.training.process import prepare_process

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        torch.ones(2**23)  # 32 MB
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

without = faults()
prepare_process()
faults()
assert torch.tensor(1e-39).mul(1.0).item() == 0
print(without, faults())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a matter of glibc")
def test_memory_is_kept_and_tiny_numbers_are_0():
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    without, kept = map(int, run.stdout.split())
    assert kept < 0.1 * without  # ten times 32 MB of new pages, or none
