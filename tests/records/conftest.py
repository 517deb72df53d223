import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from wug.records import Record


@pytest.fixture(scope="session")
def make_record() -> Callable[..., Record]:
    def make(seed: int = 0, **changes: Any) -> Record:
        fields: dict[str, Any] = {
            "experiment": "demo",
            "key": {"unit": "nau", "range": "[1,2)", "seed": seed},
            "config": {"steps": 10, "clip": None},
            "seed": seed,
            "outcome": {"error": 0.1 * seed, "solved": True},
            "curves": {"step": [0, 1000], "loss": [1.0, 0.5]},
            "seconds": 0.25,
            "versions": {"wug": "0.1.0"},
        }
        return Record(**(fields | changes))

    return make


@pytest.fixture(scope="session")
def start_python() -> Callable[..., subprocess.Popen[str]]:
    """Starts a program in a process of its own; it sees the same packages as the tests."""

    def start(program: str, *arguments: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", program, *map(str, arguments)],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    return start
