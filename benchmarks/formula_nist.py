"""NIST StRD: is a formula as good as the certified model on the front?

Twelve data sets of nonlinear regression with certified sums of squares. A data set counts if a
formula of the front has at most 1.01 times the certified sum of squares with no more numbers,
simple ones included, than the certified model has parameters. As NIST counts them, a root or a
whole power belongs to the form: (1 + 2 b2 x)**(-.5) has one parameter.

    python benchmarks/formula_nist.py FOLDER
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import tyro

from wug.estimators import ArithmeticRegressor, search
from wug.estimators.candidate import Candidate
from wug.estimators.constants import coefficients_among, constants_of
from wug.sources.files import plain_path

CLOSE = 1.01
# Asked for by name, and so tried even where arithmetic leaves nothing but noise.
FUNCTIONS = ("exp", "log")


def read(path: Path) -> tuple[Any, Any, float, int]:
    """Return inputs, target, certified sum of squares and number of parameters."""
    text = path.read_text(encoding="latin-1")
    first, last = map(int, re.findall(r"Data\s+\(lines\s+(\d+)\s+to\s+(\d+)\)", text)[0])
    lines = text.splitlines()[first - 1 : last]
    rows = np.array([[float(cell) for cell in line.split()] for line in lines if line.strip()])
    squares = float(re.findall(r"Residual Sum of Squares:\s+(\S+)", text)[0])
    target = np.log(rows[:, 0]) if "log[y]" in text else rows[:, 0]
    return rows[:, 1:], target, squares, len(re.findall(r"^\s+b\d+ =", text, re.MULTILINE))


def num_numbers(candidate: Candidate) -> int:
    """Count the numbers that were chosen: coefficients other than 1, exponents but roots and whole.

    Simple numbers count as well: a search that tries many has fitted them. Square roots and whole
    powers do not: they are not counted in the certified models either. A power of a function is a
    coefficient inside of it.
    """
    values, among = np.abs(constants_of(candidate)), coefficients_among(candidate)
    coefficients = {float(f"{value:.9g}") for value in values[among]} - {1.0}
    exponents = values[~among]
    of_functions = np.abs(candidate.exponents[:, candidate.num_inputs :])
    return (
        len(coefficients)
        + int(np.count_nonzero((exponents % 1 != 0) & (exponents != 0.5)))
        + int(np.count_nonzero((of_functions != 0) & (of_functions != 1)))
    )


def measure(path: Path, seconds: float) -> dict[str, Any]:
    """Fit one data set and look for the certified model on the front."""
    x, y, certified, num_parameters = read(path)
    model = ArithmeticRegressor(time_budget=seconds, random_state=0, functions=FUNCTIONS).fit(x, y)
    rows = []
    for equation in model.equations_:
        squares = float(np.sum((equation.candidate.predict(x) - y) ** 2))
        numbers = num_numbers(equation.candidate)
        rows.append((squares / certified, numbers, str(equation)))
    hits = [row for row in rows if row[0] <= CLOSE and row[1] <= num_parameters]
    return {
        "data": path.stem, "parameters": num_parameters, "on_front": bool(hits), "limit": seconds,
        "says": model.status_, "found": hits[0][2] if hits else None,
        "best_ratio": min((row[0] for row in rows if row[1] <= num_parameters), default=None),
    }  # fmt: skip


def main(
    folder: tyro.conf.Positional[Path | None] = None,
    seconds: float = 15.0,
    out: Path = Path("benchmarks/results/nist.jsonl"),
    smoke: bool = False,
) -> None:
    """Measure the data sets that are not measured yet.

    Args:
        folder: With the .dat files; where wug data finds them if not given.
        seconds: Processor time of each fit.
        out: Where the records are.
        smoke: Only see whether it runs, in seconds; the figures mean nothing.
    """
    paths = sorted((folder or plain_path("nist", "DanWood.dat").parent).glob("*.dat"))
    if smoke:
        paths, seconds = paths[:1], 1.0
        out = Path(tempfile.mkdtemp()) / out.name
    search.CLOCK = time.process_time
    lines = out.read_text(encoding="utf-8").splitlines() if out.exists() else []
    done = {json.loads(line)["data"] for line in lines}
    out.parent.mkdir(parents=True, exist_ok=True)
    for path in paths:
        if path.stem not in done:
            record = measure(path, seconds)
            with out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
            print(*(record[k] for k in ("data", "on_front", "best_ratio", "found")), flush=True)
    records = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    print(f"{sum(one['on_front'] for one in records)} of {len(records)} on the front")


if __name__ == "__main__":
    tyro.cli(main)
