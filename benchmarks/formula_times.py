"""Does a search keep to its time, and does a large table fit into time and memory?

Tables of up to 1,000 rows and 1,000 columns must end within 1.2 times the limit and 3 s; a million
rows of 5 columns within 20 s and 1 GB. Every table is fitted in a process of its own, whose largest
memory is measured; times are processor times, fair on a busy machine.

    python benchmarks/formula_times.py

What this version of wug has a record of is not run again.
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import tyro
from formula_records import append, read

CASE = ("rows", "columns", "limit", "noisy")
# Rows, columns, limit, and whether there is noise: without it a search may end at once.
CASES = (
    (1_000, 1_000, 10.0, True), (1_000, 1_000, 10.0, False), (1_000, 300, 10.0, True),
    (500, 300, 10.0, False), (100, 200, 10.0, True), (1_000_000, 5, 20.0, False),
    (1_000_000, 5, 13.0, True),
)  # fmt: skip
SHARE, GRACE = 1.2, 3.0
LARGE, LARGE_SECONDS, LARGE_MEGABYTES = 1_000_000, 20.0, 1_000.0


def fit(case: tuple[int, int, float, bool], answer: Any) -> None:
    """Fit a table of three columns that matter among others, and send what it took."""
    from wug.estimators import ArithmeticRegressor, search

    search.CLOCK = time.process_time
    rows, columns, limit, noisy = case
    generator = np.random.default_rng(0)
    x = generator.uniform(1, 3, (rows, columns))
    y = x[:, 0] * x[:, 1] / x[:, -1]
    if noisy:
        y = np.sin(3 * y) * x[:, 2] + 0.2 * generator.normal(size=rows)
    began = time.process_time()
    model = ArithmeticRegressor(time_budget=limit, random_state=0).fit(x, y)
    spent = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    answer.send({"seconds": round(spent, 2), "megabytes": round(peak), "says": model.status_})


def measure(case: tuple[int, int, float, bool]) -> dict[str, Any]:
    """Fit one table in a fresh process and say whether it kept to its bars."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=fit, args=(case, theirs))
    process.start()
    theirs.close()
    found = ours.recv()
    process.join()
    rows, columns, limit, noisy = case
    held = found["seconds"] <= SHARE * limit + GRACE
    if rows >= LARGE:
        held = found["seconds"] < LARGE_SECONDS and found["megabytes"] < LARGE_MEGABYTES
    return {"rows": rows, "columns": columns, "limit": limit, "noisy": noisy, "held": held} | found


def main(out: Path = Path("benchmarks/results/times.jsonl"), smoke: bool = False) -> None:
    """Measure the tables that no record of this version of wug is of.

    Args:
        out: Where the records are; those of other versions are replaced.
        smoke: Only see whether it runs, in seconds; the figures mean nothing.
    """
    cases = ((40, 3, 1.0, False),) if smoke else CASES
    if smoke:
        out = Path(tempfile.mkdtemp()) / out.name
    kept = [one for one in read(out) if one.get("version") == version("wug")]
    done = {tuple(one[name] for name in CASE) for one in kept}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("".join(f"{json.dumps(one)}\n" for one in kept), encoding="utf-8")
    for case in cases:
        if case not in done:
            record = measure(case) | {"version": version("wug")}
            append(out, record)
            print(*(f"{name} {value}" for name, value in record.items()), flush=True)


if __name__ == "__main__":
    tyro.cli(main)
