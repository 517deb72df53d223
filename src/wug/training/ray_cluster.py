"""Where lots are trained with Ray: a cluster that is there already, or one in this process."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wug.core.errors import UserError
from wug.training.crew import num_cores
from wug.training.remote import CHECKPOINT_SECONDS

HERE, AUTO = "ray", "auto"
KNOCK_SECONDS = 20.0
HELP = "run: --on needs Ray, which is an extra: pip install 'wug[ray]'."
# Variables of Ray; those that are set already stay.
EVERYWHERE = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
# Of a cluster in this process. Its workers don't give way to everything else, and it gathers no
# numbers, events and logs, which nobody could look at: that would take processor time from them.
OWN = {
    "RAY_worker_niceness": "0",
    "RAY_enable_metrics_collection": "0",
    "RAY_task_events_report_interval_ms": "0",
    "RAY_LOG_MONITOR_MANY_FILES_THRESHOLD": "0",
    "LOG_NAME_UPDATE_INTERVAL_S": "86400",
}


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Where and with what lots are trained.

    Args:
        address: ``ray`` starts a cluster in this process, ``auto`` takes that of RAY_ADDRESS or of
            this machine, else HOST:PORT or ray://HOST:PORT.
        cores_per_lot: Cores that a lot takes, and its number of threads.
        gpus_per_lot: GPUs that a lot takes; a part is possible.
        ship: Whether to send this wug to the workers; else it must be installed there.
        checkpoint_seconds: Least time between two checkpoints of a lot that come back.
    """

    address: str
    cores_per_lot: int = 1
    gpus_per_lot: float = 0.0
    ship: bool = False
    checkpoint_seconds: float = CHECKPOINT_SECONDS


def load_ray(address: str = AUTO) -> Any:
    """Return Ray, without what it would report to its makers.

    Args:
        address: That of the cluster that will be asked for. Ray reads its variables only once, so
            those of a cluster in this process are set here.

    Raises:
        UserError: It is not installed.
    """
    for name, value in {**EVERYWHERE, **(OWN if address == HERE else {})}.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError:
        raise UserError(HELP) from None
    return ray


def connect(ray: Any, cluster: Cluster) -> None:
    """Join a cluster, or start one in this process.

    Raises:
        UserError: There is none at the address.
    """
    import wug

    settings: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if cluster.ship:
        settings["runtime_env"] = {"py_modules": [str(Path(wug.__file__).parent)]}
    if cluster.address == HERE:
        settings |= {"address": "local", "num_cpus": num_cores(), "include_dashboard": False}
    else:
        settings["address"] = cluster.address
    try:
        if cluster.address not in (HERE, AUTO):
            knock(cluster.address)
        ray.init(**settings)
    except Exception as error:  # of many types: no such host, no such process, another version
        reason = str(error).strip().split("\n", 1)[0]
        raise UserError(f"run: no Ray cluster at {cluster.address!r}: {reason}") from None


def knock(address: str) -> None:
    """Raise at once if nobody listens at an address: Ray itself would try for minutes.

    Raises:
        OSError: Nobody listens there, or there is no such host.
        ValueError: It is no HOST:PORT.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise ValueError("say ray, auto, HOST:PORT or ray://HOST:PORT.")
    socket.create_connection((host, int(port)), timeout=KNOCK_SECONDS).close()
