"""How long does a site of many records take, and how much memory?

Makes a run of 10,000 trainings with learning curves (25 seeds of 40 rows on ten columns), then
runs ``wug report`` in a process of its own. The bars are 20 seconds, 500 MB, and 3 MB for the
overview with all that it loads; the exit code says whether they hold.

    python benchmarks/report.py [--records 10000] [--smoke]
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import tyro

from wug.records import Record, RunStore

SEEDS, COLUMNS, STEPS = 25, 10, 51
MOST_SECONDS, MOST_MEMORY, MOST_OVERVIEW = 20.0, 500e6, 3e6


def make_record(rng: np.random.Generator, row: int, column: int, seed: int) -> Record:
    """Return a training that converges at a rate of its own, or does not."""
    steps = np.arange(STEPS) * 1000
    errors = 10.0 * np.exp(-rng.gamma(2.0, 2.0) * steps / 1e4)
    solved = bool(errors[-1] < 1e-3)
    where = int(steps[np.argmax(errors < 1e-3)])
    return Record(
        experiment="demo.many", kind="curve", seed=seed, seconds=0.1,
        key={"unit": f"unit{row}", "range": f"[{column},{column + 1})", "seed": seed},
        config={"unit": f"unit{row}", "rate": 0.001}, versions={"wug": "0"},
        outcome={"schema": 2, "solved": solved, "solved_at": where if solved else None,
                 "threshold": 1e-3, "observed": {"sparsity": float(rng.uniform(0, 0.5))},
                 "selected": {"test": {"error": float(errors[-1])},
                              "validation": {"error": float(errors[-1] / 10)}}},
        curves={"step": steps.tolist(), "test": errors.tolist(),
                "validation": (errors / 10).tolist()},
    )  # fmt: skip


def make_run(folder: Path, num_records: int) -> None:
    """Write the run, one lot for each row."""
    store = RunStore.open(folder, "demo.many", {"steps": 50_000})
    rng = np.random.default_rng(0)
    num_rows = -(-num_records // (SEEDS * COLUMNS))
    for row in range(num_rows):
        lot = [make_record(rng, row, c, s) for c in range(COLUMNS) for s in range(SEEDS)]
        store.append(f"unit{row}", lot[: num_records - row * SEEDS * COLUMNS])


def main(records: int = 10_000, smoke: bool = False) -> int:
    """Measure and print.

    Args:
        records: How many trainings.
        smoke: Only see whether it runs, in seconds; the bars are not asked for.
    """
    if smoke:
        records = 40
    with tempfile.TemporaryDirectory() as place:
        folder, out = Path(place) / "many", Path(place) / "site"
        make_run(folder, records)
        start = time.perf_counter()
        command = [sys.executable, "-m", "wug", "report", str(folder), "--out", str(out)]
        subprocess.run(command, check=True)
        seconds = time.perf_counter() - start
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        memory = used.ru_maxrss * 1024
        loaded = ("index.html", "assets/site.css", "assets/site.js")
        overview = sum((out / name).stat().st_size for name in loaded)
        largest = max(path.stat().st_size for path in out.glob("*.html"))
    print(
        f"{records:,} records: {seconds:.1f} s ({used.ru_utime + used.ru_stime:.1f} s of one core)"
    )
    print(f"memory {memory / 1e6:.0f} MB, overview {overview / 1e6:.2f} MB, ", end="")
    print(f"largest page {largest / 1e6:.1f} MB")
    held = seconds < MOST_SECONDS and memory < MOST_MEMORY and overview < MOST_OVERVIEW
    return 0 if held or smoke else 1


if __name__ == "__main__":
    sys.exit(tyro.cli(main))
