"""Two processes; the rest is tested where networks are trained (tests/training/test_ranks.py)."""

import os
import subprocess
import sys

SCRIPT = """
import torch, torch.distributed as dist
from wug.functional.across_ranks import sum_over_ranks, summing_over_ranks
from wug.functional.balance import entropy_loss
dist.init_process_group("gloo")
rank = dist.get_rank()
generator = torch.Generator().manual_seed(0)
whole = torch.randn(6, 4, dtype=torch.float64, generator=generator, requires_grad=True)
entropy_loss(whole).backward()
mine = whole.detach()[rank::2].clone().requires_grad_()
with summing_over_ranks():
    loss = entropy_loss(mine)
    assert torch.allclose(loss, entropy_loss(whole))
    (loss / 2).backward()  # a rank's share of the whole loss
    assert torch.allclose(mine.grad, whole.grad[rank::2])
    valid = torch.tensor([True, False, True]) if rank else torch.tensor([True, True, False])
    places = torch.tensor([0, 2, 1, 5])
    assert torch.allclose(entropy_loss(mine, valid), entropy_loss(whole[places]))
assert sum_over_ranks(mine) is mine
dist.destroy_process_group()
"""


def test_a_mean_over_ranks_and_its_gradient(tmp_path: object) -> None:
    path = f"{tmp_path}/script.py"
    with open(path, "w") as file:
        file.write(SCRIPT)
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    found = subprocess.run(
        [sys.executable, *torchrun, path], env=environment, capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr[-3000:]
