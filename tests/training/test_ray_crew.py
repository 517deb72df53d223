"""A real Ray cluster of two nodes on this machine, started and stopped here."""

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import pytest
from cluster_experiment import UNITS, drive, gated, needing
from interrupts import heed_interrupts
from ray_cluster import HELPERS, TwoNodes, environment, two_nodes

from wug.core.errors import WorkError
from wug.core.index import entry, import_target
from wug.records import RunStore, read_run
from wug.study.experiment import RunOptions
from wug.training.ray_cluster import Cluster
from wug.training.work import WorkOptions, work

pytestmark = [
    pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray: pip install 'wug[ray]'"),
    pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs Linux"),
]

EXPERIMENTS = HELPERS / "cluster_experiment.py"
HOW = WorkOptions(compile="off", threads=1)
LONGEST = 400
Driver = Callable[..., Future[None]]


@pytest.fixture(scope="module")
def started() -> Iterator[TwoNodes]:
    with two_nodes() as nodes:
        yield nodes


@pytest.fixture
def driver(started: TwoNodes) -> Driver:
    """Return `drive` in a process that may talk to the cluster."""
    return partial(started.elsewhere.submit, drive)


@pytest.fixture
def cluster(started: TwoNodes) -> TwoNodes:
    """Return the cluster with two nodes of this wug, whatever a test before has done."""
    started.want_second()
    return started


def start(
    *arguments: Any, output: IO[str] | int = subprocess.PIPE, **variables: str
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        env=environment() | variables,
        preexec_fn=heed_interrupts,
        stdout=output,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run(*arguments: Any, **variables: str) -> str:
    process = start("-m", "wug", "run", *arguments, **variables)
    text, _ = process.communicate(timeout=LONGEST)
    assert process.returncode == 0, text
    return text


def results(folder: Path) -> dict[str, Any]:
    """Return everything but seconds, host, token and versions."""
    run = read_run(folder)
    assert run.problems == [] and run.duplicates == []
    found = {}
    for record in run.records():
        outcome = {k: v for k, v in record.outcome.items() if "seconds" not in k}
        found[record.identity] = repr((record.config, outcome, record.curves, record.kind))
    return found


def assert_same_files(ray: Path, local: Path) -> None:
    assert results(ray) == results(local)
    for kind in ("models", "progress"):
        one, other = (sorted(path.name for path in (run / kind).glob("*")) for run in (ray, local))
        assert one == other
    assert not list(ray.glob("*/*.lease"))


def test_records_are_those_of_a_local_run(cluster: TwoNodes, tmp_path: Path) -> None:
    table = ("mistry2022.single_module", "--scale", "smoke", "--only", "nau", "nmu")
    # Other tests name the cluster.
    text = run(*table, "--out", tmp_path / "ray", "--on", "auto", RAY_ADDRESS=cluster.address)
    assert "Ray: 2 nodes, 2 cores" in text
    make = import_target(entry("experiment", table[0]).target)
    work(make(RunOptions(scale="smoke", only=("nau", "nmu"))), tmp_path / "local", HOW)
    assert_same_files(tmp_path / "ray", tmp_path / "local")


@pytest.mark.slow
@pytest.mark.parametrize("experiment", ["mistry2022.single_module", "csordas2023.ctl"])
def test_whole_tables_are_those_of_a_local_run(
    cluster: TwoNodes, tmp_path: Path, experiment: str
) -> None:
    run(experiment, "--scale", "smoke", "--out", tmp_path / "ray", "--on", cluster.address)
    run(experiment, "--scale", "smoke", "--out", tmp_path / "local", "--workers", 2)
    assert_same_files(tmp_path / "ray", tmp_path / "local")


def test_a_lot_waits_for_the_lot_that_it_needs(
    cluster: TwoNodes, driver: Driver, tmp_path: Path
) -> None:
    driver("needing", Cluster(address=cluster.address), tmp_path / "ray").result(LONGEST)
    work(needing(RunOptions()), tmp_path / "local", HOW)
    assert_same_files(tmp_path / "ray", tmp_path / "local")


@pytest.fixture
def gates(tmp_path: Path) -> Path:
    """Return a folder in which the gates of all lots are closed."""
    folder = tmp_path / "gates"
    folder.mkdir()
    for lot in UNITS:
        (folder / lot).touch()
    return folder


def wait_for(condition: Callable[[], bool], at_work: Callable[[], bool]) -> None:
    until = time.monotonic() + LONGEST
    while not condition():
        assert at_work() and time.monotonic() < until
        time.sleep(0.02)


def asked(gates: Path, lot: str) -> list[int]:
    """Return the steps at which a lot has asked for its learning rate, first ones of ten."""
    path = gates / f"{lot}.steps"
    return [int(step) for step in path.read_text().split()] if path.exists() else []


def at_work(gates: Path, folder: Path) -> list[str]:
    """Return the lots that wait at their gates, with a checkpoint that has come back."""
    back = {path.stem for path in folder.glob("checkpoints/*.safetensors")}
    return [lot for lot in UNITS if lot in back and 30 in asked(gates, lot)]


def went_on(gates: Path) -> bool:
    """Tell whether every lot began once, and came to its end."""
    return all(asked(gates, lot).count(0) == 1 and 50 in asked(gates, lot) for lot in UNITS)


def local_results(folder: Path, gates: Path) -> dict[str, Any]:
    work(gated(RunOptions(only=(str(gates),))), folder, HOW)
    return results(folder)


def test_a_killed_node_and_a_stopped_driver_lose_nothing(
    cluster: TwoNodes, driver: Driver, tmp_path: Path, gates: Path
) -> None:
    """One node is killed midway; the driver is interrupted; what is left is trained on the other.

    A lot goes on where its last checkpoint is, on whatever node.
    """
    folder, said = tmp_path / "ray", tmp_path / "said.txt"
    with said.open("w") as output:
        process = start(EXPERIMENTS, cluster.address, folder, gates, output=output)

    def wait(condition: Callable[[], bool]) -> None:
        wait_for(condition, lambda: process.poll() is None)

    wait(lambda: len(at_work(gates, folder)) == 2)
    # One lot on each node.
    first = at_work(gates, folder)
    cluster.kill_second()
    wait(lambda: "died; it is sent out again" in said.read_text())
    for lot in first:
        (gates / lot).unlink()
    # The lot of the first node ends, and the next one begins there.
    wait(lambda: len(set(at_work(gates, folder)) - set(first)) == 1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=LONGEST)
    text = said.read_text()
    assert process.returncode != 0
    assert text.count("died; it is sent out again") == 1, text
    assert not list(folder.glob("locks/*.lease")), text
    assert 2 <= len(read_run(folder).finished()) < 8
    for lot in set(UNITS) - set(first):
        (gates / lot).unlink()

    driver("gated", Cluster(address=cluster.address), folder, gates).result(LONGEST)
    assert went_on(gates) and not list(folder.glob("checkpoints/*"))
    assert results(folder) == local_results(tmp_path / "local", gates)


def test_a_run_that_began_here_goes_on_with_ray(
    cluster: TwoNodes,
    driver: Driver,
    tmp_path: Path,
    gates: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is interrupted in the middle of a lot, and goes on by Ray's client."""
    for lot in UNITS:
        (gates / lot).unlink()
    folder = tmp_path / "ray"

    def interrupt(_: RunStore, lot: str, **news: Any) -> None:
        if lot == "nmu" and news["step"] == 30:
            raise KeyboardInterrupt

    experiment = gated(RunOptions(only=(str(gates),)))
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(RunStore, "report_progress", interrupt)
        work(experiment, folder, WorkOptions(compile="off", threads=1, checkpoint_seconds=0.0))
    assert [path.stem for path in folder.glob("checkpoints/*")] == ["nmu"]
    driver("gated", Cluster(address=str(cluster.client_port)), folder, gates).result(LONGEST)
    assert went_on(gates)
    assert results(folder) == local_results(tmp_path / "local", gates)


@pytest.mark.slow
def test_a_worker_with_another_version_is_refused_unless_ours_is_sent(
    started: TwoNodes, driver: Driver, tmp_path: Path, gates: Path
) -> None:
    package = tmp_path / "other"
    source = HELPERS.parent.parent / "src" / "wug"
    ignored = shutil.ignore_patterns("__pycache__", "*.js", "vendored")
    shutil.copytree(source, package / "wug", ignore=ignored)
    init = package / "wug" / "__init__.py"
    text = init.read_text()
    assert '__version__ = "' in text
    init.write_text(text.replace('__version__ = "', '__version__ = "9.'))
    started.want_second(package)
    where = Cluster(address=started.address)
    # A lot waits on the first node, so another one goes to the second.
    with pytest.raises(WorkError, match=r"has wug 9\..* install the same versions there\."):
        driver("gated", where, tmp_path / "ray", gates).result(LONGEST)
    future = driver("gated", replace(where, ship=True), tmp_path / "ray", gates)
    wait_for(lambda: len(at_work(gates, tmp_path / "ray")) == 2, lambda: not future.done())
    for lot in UNITS:
        (gates / lot).unlink()
    future.result(LONGEST)
    assert len(read_run(tmp_path / "ray").finished()) == 8
