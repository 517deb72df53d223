"""Two processes by torchrun against one process with the joined batch."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import ranks_driver
import torch
from ray_cluster import free_port
from safetensors.torch import load_file
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.functional.across_ranks import several_ranks, sum_over_ranks, summing_over_ranks
from wug.training.ranks import Ranks, asked_for, here

DRIVER = ranks_driver.__file__
LAYERS = ("dense", "sigma_moe")
LONGEST = 400


def torchrun(*arguments: Any) -> subprocess.Popen[str]:
    path = os.pathsep.join(filter(None, sys.path))
    # A test that compiled something before has set where programs are kept.
    others = {k: v for k, v in os.environ.items() if k != "TORCHINDUCTOR_CACHE_DIR"}
    return subprocess.Popen(
        [sys.executable, "-m", "torch.distributed.run", *map(str, arguments)],
        env=others | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("".join(f"{n} wugs and {n * n} gutches, {n % 7} bix. " for n in range(1_500)))
    return path


@pytest.fixture(scope="module")
def compared(text: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Return what this process made, and two processes of two nodes."""
    folders = {ranks: tmp_path_factory.mktemp(f"ranks{ranks}") for ranks in (1, 2)}
    end = f"127.0.0.1:{free_port()}"
    meet = ("--nnodes=2", "--rdzv-backend=c10d", f"--rdzv-endpoint={end}", "--local-addr=127.0.0.1")
    nodes = [torchrun(*meet, DRIVER, folders[2], text) for _ in range(2)]
    ranks_driver.compare(folders[1], str(text))
    for node in nodes:
        said, _ = node.communicate(timeout=LONGEST)
        assert node.returncode == 0, said[-3000:]
        assert "returned a view" not in said
    return folders


def assert_near(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    """Compare gradients by name, relative to their sizes."""
    assert found.keys() == expected.keys()
    for name, gradient in expected.items():
        size = gradient.norm().clamp(min=1e-12)
        assert float((found[name] - gradient).norm() / size) < 1e-6, name


@pytest.mark.parametrize("layer", LAYERS)
def test_gradients_of_one_step(compared: dict[int, Path], layer: str) -> None:
    one, two = (load_file(compared[n] / f"{layer}-gradients.safetensors") for n in (1, 2))
    assert_near(two, one)


@pytest.fixture(scope="module")
def wrapped(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what two processes of one node made with torch's own wrapper."""
    folder = tmp_path_factory.mktemp("wrapped")
    process = torchrun("--standalone", "--nproc-per-node=2", DRIVER, folder, text, "wrapped")
    said, _ = process.communicate(timeout=LONGEST)
    assert process.returncode == 0, said[-3000:]
    return folder


@pytest.mark.parametrize("layer", LAYERS)
def test_gradients_are_those_of_torchs_wrapper(
    compared: dict[int, Path], wrapped: Path, layer: str
) -> None:
    ours = load_file(compared[2] / f"{layer}-gradients.safetensors")
    theirs = load_file(wrapped / f"{layer}-wrapped.safetensors")
    assert_near(ours, theirs)


def test_ranks_of_a_machine_keep_their_programs_apart(wrapped: Path) -> None:
    first, second = json.loads((wrapped / "caches.json").read_text())
    assert first != second


@pytest.mark.parametrize("layer", LAYERS)
def test_losses_of_fifty_steps(compared: dict[int, Path], layer: str) -> None:
    one, two = (json.loads((compared[n] / f"{layer}.json").read_text()) for n in (1, 2))
    assert len(one["float64"]) == 50 and one["float64"][-1] < one["float64"][0]
    assert_close(two["float64"], one["float64"], rtol=0, atol=1e-9)
    assert_close(two["float32"], one["float32"], rtol=1e-3, atol=0)
    for name, counts in one["counts"]["validation"].items():
        assert_close(torch.tensor(two["counts"]["validation"][name]), torch.tensor(counts))


@pytest.mark.parametrize("layer", LAYERS)
def test_checkpoints_are_the_same_files(compared: dict[int, Path], layer: str) -> None:
    one, two = (load_file(compared[n] / f"{layer}.safetensors") for n in (1, 2))
    assert one.keys() == two.keys()
    for name, value in one.items():
        assert value.shape == two[name].shape and value.dtype == two[name].dtype
        if "carried" in name or "network" in name:  # rows in the order of the whole batch
            assert_close(two[name], value, rtol=0, atol=1e-9)
    assert any("carried" in name for name in one)


def test_shares_are_disjoint(compared: dict[int, Path]) -> None:
    shares = json.loads((compared[2] / "shares.json").read_text())
    assert shares == [[0, 2, 4, 6], [1, 3, 5, 7]]


def test_killed_with_two_and_resumed_with_one(text: Path, tmp_path: Path) -> None:
    killed = torchrun("--standalone", "--nproc-per-node=2", DRIVER, tmp_path, text, 5)
    (tmp_path / "whole").mkdir()
    ranks_driver.curve(tmp_path / "whole", str(text), None)
    killed.communicate(timeout=LONGEST)
    assert killed.returncode != 0
    assert (tmp_path / "curve.safetensors").exists() and not (tmp_path / "curve.json").exists()
    ranks_driver.curve(tmp_path, str(text), None)
    one, two = (json.loads((folder / "curve.json").read_text())
                for folder in (tmp_path / "whole", tmp_path))  # fmt: skip
    assert one["curves"]["step"] == [5, 10, 15, 20]
    for name, curve in one["curves"].items():
        assert_close(two["curves"][name], curve, rtol=1e-5, atol=0)  # five digits are kept
    for split, values in one["selected"].items():
        assert_close(two["selected"][split], values, rtol=1e-9, atol=0)


def test_sharded_weights(compared: dict[int, Path]) -> None:
    """Ten steps of sharded weights are those of whole ones, and leave the same file."""
    folder = compared[2]
    whole, shard = (json.loads((folder / f"{how}.json").read_text()) for how in ("whole", "shard"))
    assert_close(shard, whole, rtol=1e-5, atol=0)
    one, two = (load_file(folder / f"{how}.safetensors") for how in ("whole", "shard"))
    assert one.keys() == two.keys()
    for name, value in one.items():
        assert value.shape == two[name].shape and value.dtype == two[name].dtype
        assert_close(two[name], value, rtol=1e-3, atol=1e-4)


def test_alone_nothing_changes() -> None:
    assert asked_for() == 1 and not here().several and here().first
    tensor = torch.arange(4)
    assert here().rows(tensor) is tensor and here().all_rows(tensor) is tensor
    assert here().same({"a": 1}) == {"a": 1}
    with summing_over_ranks(False):
        assert not several_ranks() and sum_over_ranks(tensor) is tensor


def test_rows_that_can_not_be_shared() -> None:
    Ranks(0, 2).require_shares("lot", 8, 2)
    with pytest.raises(UserError, match="its 6 rows in 2 parts can't be shared by 2 processes"):
        Ranks(0, 2).require_shares("lot", 6, 2)
