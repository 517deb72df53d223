"""ODEBench: from trajectories to differential equations, judged where they were not seen.

Both published trajectories of a system are given, without noise. Recovered: from a third initial
state, between the two, the found system follows the true one over the whole time span with a
relative error below 1e-3 in every variable. Every system leaves one line in the file of records.

    python benchmarks/formula_odes.py DATA

DATA is strogatz_extended.json.gz of https://github.com/sdascoli/odeformer.
"""

from __future__ import annotations

import gzip
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import sympy
import tyro
from formula_records import append
from formula_records import read as read_records
from scipy.integrate import solve_ivp

from wug.estimators.odes import find_odes
from wug.sources.files import read

RECOVERED = 1e-3


def true_solution(texts: list[str], start: Any, times: Any) -> Any:
    """Return the states of the published system."""
    names = sympy.symbols([f"x_{i}" for i in range(len(texts))], real=True)
    local = {str(name): name for name in names}
    slopes = sympy.lambdify([names], [sympy.sympify(text, locals=local) for text in texts])
    solved = solve_ivp(
        lambda _, x: slopes(x), (times[0], times[-1]), start, t_eval=times, rtol=1e-10, atol=1e-11,
        method="LSODA",
    )  # fmt: skip
    return solved.y.T


def measure(system: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Find one system and say how it went."""
    solutions = system["solutions"][0]
    trajectories = [(np.array(one["t"]), np.array(one["y"]).T) for one in solutions]
    names = [f"x_{i}" for i in range(system["dim"])]
    began = time.process_time()
    record = {"id": system["id"], "dim": system["dim"], "limit": seconds}
    try:
        found = find_odes(trajectories, names, seconds=seconds, clock=time.process_time)
    except Exception as reason:  # A failure is a result.
        return record | {"recovered": False, "remark": f"{type(reason).__name__}: {reason}"}
    times = trajectories[0][0]
    first, second = (np.array(one) for one in system["init"])
    start = 0.6 * first + 0.4 * second
    truth, ours = true_solution(system["substituted"][0], start, times), found.solve(start, times)
    same = len(truth) == len(ours)
    size = np.sqrt(np.mean(truth**2, 0)) + 1e-300
    errors = np.sqrt(np.mean((truth - ours) ** 2, 0)) / size if same else np.array([np.inf])
    worst = float(np.max(np.where(np.isfinite(errors), errors, np.inf)))
    return record | {
        "recovered": worst < RECOVERED, "error": worst if np.isfinite(worst) else None,
        "found": str(found), "true": system["substituted"][0],
        "seconds": round(time.process_time() - began, 1),
    }  # fmt: skip


def unpacked(path: Path) -> bytes:
    """Return the content of a file, packed or not."""
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def main(
    data: tyro.conf.Positional[Path | None] = None,
    seconds: float = 30.0,
    out: Path = Path("benchmarks/results/odebench.jsonl"),
    smoke: bool = False,
) -> None:
    """Measure the systems that are not measured yet.

    Args:
        data: The published systems, as JSON; where wug data finds them if not given.
        seconds: Processor time for each system.
        out: Where the records are.
        smoke: Only see whether it runs, in seconds; the figures mean nothing.
    """
    content = read("odebench", "strogatz_extended.json") if data is None else unpacked(data)
    systems = json.loads(content)
    if smoke:
        systems, seconds = systems[:1], 1.0
        out = Path(tempfile.mkdtemp()) / out.name
    done = {(one["id"], one["limit"]) for one in read_records(out)}
    for system in systems:
        if (system["id"], seconds) not in done:
            record = measure(system, seconds)
            append(out, record)
            print(*(record.get(k) for k in ("id", "recovered", "error", "seconds", "found")))
    records = read_records(out)
    print(f"{sum(one['recovered'] for one in records)} of {len(records)} systems recovered")


if __name__ == "__main__":
    tyro.cli(main)
