"""A real Ray cluster of two nodes on this machine, of processes of its own."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path

HELPERS = Path(__file__).parent
SECONDS_TO_START = 300.0
PATIENCE = "300"
TOKEN = secrets.token_hex(32)


def environment(package: Path | None = None) -> dict[str, str]:
    """Return variables with which a process imports wug from a folder; from here by default."""
    source = package or HELPERS.parent.parent / "src"
    path = os.pathsep.join([str(source), str(HELPERS), str(HELPERS.parent / "training")])
    quiet = {"RAY_USAGE_STATS_ENABLED": "0", "OMP_NUM_THREADS": "1"}
    # A machine that is slow or short of memory is not what is tested.
    patient = {
        "RAY_memory_monitor_refresh_ms": "0",
        "RAY_worker_register_timeout_seconds": PATIENCE,
        "RAY_gcs_server_port_wait_time_s": PATIENCE,
        "RAY_gcs_server_request_timeout_seconds": PATIENCE,
        "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": PATIENCE,
        "RAY_health_check_timeout_ms": f"{PATIENCE}000",
    }
    # Only these processes may talk to the cluster, whatever token the user has.
    own = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN}
    return {**os.environ, **quiet, **patient, **own, "PYTHONPATH": path}


def free_port() -> int:
    """Return a port that is free, and that the system gives to nobody who asks for any."""
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        with socket.socket() as listener, suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port


class Node:
    """One node: `ray start` and all processes below it, which are a session of their own."""

    def __init__(self, *arguments: str, env: Mapping[str, str]) -> None:
        command = [str(Path(sys.executable).with_name("ray")), "start", "--num-cpus=1", "--block"]
        self.command, self.env = [*command, *arguments], dict(env)
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.command,
            env=self.env,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def restart_if_ended(self) -> None:
        """Start anew what gave up: `ray start` does so if a slow machine takes 30 seconds."""
        if self.process.poll() is not None:
            self.kill()
            self.start()

    def kill(self) -> None:
        """End the node as a power cut would: its workers, too, which Ray puts into own groups."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        for one in self._members():
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        self.process.wait()

    def _members(self) -> Iterator[int]:
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(ProcessLookupError):
                if os.getsid(int(entry.name)) == self.process.pid:
                    yield int(entry.name)


def adopt(variables: Mapping[str, str]) -> None:
    """Take variables over, before Ray is imported."""
    os.environ.update(variables)


def wait_for_nodes(address: str, number: int) -> None:
    """Wait until a cluster answers and has a number of nodes."""
    import ray

    while not ray.is_initialized():
        with suppress(Exception):  # of many types, until it is there
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
        time.sleep(0.1)
    while sum(node["Alive"] for node in ray.nodes()) != number:
        time.sleep(0.1)
    ray.shutdown()


class TwoNodes:
    """The cluster; a second node can be killed and started anew.

    Args:
        folder: For its files; sockets need a short path.
        elsewhere: A process that may talk to it.
    """

    def __init__(self, folder: str, elsewhere: ProcessPoolExecutor) -> None:
        self.elsewhere = elsewhere
        port, client = free_port(), free_port()
        self.address, self.client_port = f"127.0.0.1:{port}", client
        self.head = Node(
            "--head", f"--port={port}", f"--ray-client-server-port={client}",
            f"--temp-dir={folder}",
            "--include-dashboard=false", "--disable-usage-stats", "--object-store-memory=100000000",
            env=environment(),
        )  # fmt: skip
        self.second: Node | None = None
        self.package: Path | None = None

    def want_second(self, package: Path | None = None) -> None:
        """See to a second node, which may import wug from elsewhere."""
        if self.second is not None and self.package == package:
            return
        self.kill_second()
        self.package = package
        self.second = Node(
            f"--address={self.address}", "--object-store-memory=100000000",
            env=environment(package),
        )  # fmt: skip
        self.wait_for(2)

    def kill_second(self) -> None:
        """End the second node as a power cut would."""
        if self.second is not None:
            self.second.kill()
        self.second = None

    def wait_for(self, number: int) -> None:
        """Wait until a number of nodes are there."""
        there = self.elsewhere.submit(wait_for_nodes, self.address, number)
        until = time.monotonic() + SECONDS_TO_START
        while not there.done() and time.monotonic() < until:
            for node in (self.head, self.second):
                if node is not None:
                    node.restart_if_ended()
            time.sleep(0.1)
        there.result(0)

    def stop(self) -> None:
        for node in (self.second, self.head):
            if node is not None:
                node.kill()


@contextmanager
def two_nodes() -> Iterator[TwoNodes]:
    """Start a cluster, and stop it whatever happens."""
    with (
        tempfile.TemporaryDirectory(prefix="wr", dir="/tmp", ignore_cleanup_errors=True) as folder,
        ProcessPoolExecutor(
            1, get_context("spawn"), initializer=adopt, initargs=(environment(),)
        ) as elsewhere,
    ):
        cluster = TwoNodes(folder, elsewhere)
        try:
            cluster.wait_for(1)
            cluster.want_second()
            yield cluster
        finally:
            cluster.stop()
