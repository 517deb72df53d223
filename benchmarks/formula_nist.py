"""NIST StRD: is the certified model on the front?

Twelve data sets of nonlinear regression with certified parameters and their standard deviations.
Two questions are asked of each front, and both counts are reported:

- certified: Is the certified model on it? A formula of the front counts if it is of the certified
  form and its numbers are the certified ones. Of the form: for some parameters the certified model
  equals it, within 1e-6 of the range of its values, over the range of the data widened by a fifth
  on either side. The certified ones: each of these parameters is within one certified standard
  deviation, or the predicted values differ (root mean square over the rows) by at most a hundredth
  of the certified residual standard deviation.
- as good: Is a formula as good on it? At most 1.01 times the certified sum of squares with no more
  numbers, simple ones included, than the certified model has parameters. As NIST counts them, a
  root or a whole power belongs to the form: (1 + 2 b2 x)**(-.5) has one parameter.

A front holds no formula that a smaller one beats. So a certified model can be missing for two
reasons, and a record tells them apart: it was found, but a smaller formula has a smaller error
("beaten"); or it was not found.

    python benchmarks/formula_nist.py FOLDER
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import tyro
from formula_records import append
from formula_records import read as read_records
from numpy.typing import NDArray
from scipy.optimize import least_squares

from wug.estimators import ArithmeticRegressor, search
from wug.estimators.candidate import Candidate
from wug.estimators.constants import coefficients_among, constants_of
from wug.sources.files import plain_path

Array = NDArray[np.float64]

CLOSE = 1.01
SAME_FORM, SAME_VALUES = 1e-6, 0.01
# Times the certified sum of squares of what may be the certified model with other numbers.
NEARLY = 2.0
WIDER, POINTS = 0.2, 200
# Asked for by name, and so tried even where arithmetic leaves nothing but noise.
FUNCTIONS = ("exp", "log")


def ratio(above: int, below: int) -> Callable[[Array, Array], Array]:
    """Return a quotient of polynomials; the first number below is 1."""
    return lambda b, x: (
        np.polyval(b[: above + 1][::-1], x[:, 0])
        / np.polyval([*b[above + 1 :][::-1], 1.0], x[:, 0])
    )


# The certified models as their files write them: b are the parameters, x is (row, in).
MODELS: dict[str, Callable[[Array, Array], Array]] = {
    "Chwirut2": lambda b, x: np.exp(-b[0] * x[:, 0]) / (b[1] + b[2] * x[:, 0]),
    "DanWood": lambda b, x: b[0] * x[:, 0] ** b[1],
    "Hahn1": ratio(3, 3),
    "Kirby2": ratio(2, 2),
    "MGH09": lambda b, x: b[0] * (x[:, 0] ** 2 + x[:, 0] * b[1])
    / (x[:, 0] ** 2 + x[:, 0] * b[2] + b[3]),
    "Misra1a": lambda b, x: b[0] * (1 - np.exp(-b[1] * x[:, 0])),
    "Misra1b": lambda b, x: b[0] * (1 - (1 + b[1] * x[:, 0] / 2) ** -2),
    "Misra1c": lambda b, x: b[0] * (1 - (1 + 2 * b[1] * x[:, 0]) ** -0.5),
    "Misra1d": lambda b, x: b[0] * b[1] * x[:, 0] / (1 + b[1] * x[:, 0]),
    "Nelson": lambda b, x: b[0] - b[1] * x[:, 0] * np.exp(-b[2] * x[:, 1]),
    "Rat43": lambda b, x: b[0] / (1 + np.exp(b[1] - b[2] * x[:, 0])) ** (1 / b[3]),
    "Thurber": ratio(3, 3),
}  # fmt: skip


@dataclass(frozen=True)
class Certified:
    """A data set with what is certified of it.

    Args:
        inputs: (row, in).
        target: (row,).
        squares: Residual sum of squares.
        parameters: Certified values.
        deviations: Their standard deviations.
        deviation: Residual standard deviation.
        model: From parameters and inputs to values.
    """

    inputs: Array
    target: Array
    squares: float
    parameters: Array
    deviations: Array
    deviation: float
    model: Callable[[Array, Array], Array]


def read(path: Path) -> Certified:
    """Read one file of NIST."""
    text = path.read_text(encoding="latin-1")
    first, last = map(int, re.findall(r"Data\s+\(lines\s+(\d+)\s+to\s+(\d+)\)", text)[0])
    lines = text.splitlines()[first - 1 : last]
    rows = np.array([[float(cell) for cell in line.split()] for line in lines if line.strip()])
    numbers = re.findall(r"^\s+b\d+ =\s+\S+\s+\S+\s+(\S+)\s+(\S+)", text, re.MULTILINE)
    values = np.array(numbers, dtype=np.float64)
    return Certified(
        inputs=rows[:, 1:], target=np.log(rows[:, 0]) if "log[y]" in text else rows[:, 0],
        squares=float(re.findall(r"Residual Sum of Squares:\s+(\S+)", text)[0]),
        parameters=values[:, 0], deviations=values[:, 1],
        deviation=float(re.findall(r"Residual Standard Deviation:\s+(\S+)", text)[0]),
        model=MODELS[path.stem],
    )  # fmt: skip


def parameters_of(predict: Callable[[Array], Array], data: Certified) -> Array | None:
    """Return the parameters for which the certified model equals a formula; None without such."""
    low, high = data.inputs.min(0), data.inputs.max(0)
    wider = WIDER * (high - low)
    points = np.random.default_rng(0).uniform(low - wider, high + wider, (POINTS, len(low)))
    with np.errstate(all="ignore"):
        values, certified = predict(points), data.model(data.parameters, points)
        usable = np.isfinite(values) & np.isfinite(certified)
        if usable.sum() < POINTS / 2:
            return None
        points, values = points[usable], values[usable]
        spread = float(np.ptp(values)) or 1.0

        def misses(shares: Array) -> Array:
            error = (data.model(shares * data.parameters, points) - values) / spread
            return np.where(np.isfinite(error), error, 1e6)

        fitted = least_squares(
            misses, np.ones(len(data.parameters)), x_scale="jac", xtol=1e-15, ftol=1e-15,
            gtol=1e-15, max_nfev=1_000,
        )  # fmt: skip
    same = np.abs(fitted.fun).max() <= SAME_FORM
    return np.asarray(fitted.x * data.parameters) if same else None


def is_certified(predict: Callable[[Array], Array], data: Certified) -> bool:
    """Say whether a formula is the certified model: of its form, with its numbers."""
    parameters = parameters_of(predict, data)
    if parameters is None:
        return False
    apart = predict(data.inputs) - data.model(data.parameters, data.inputs)
    same_values = np.sqrt(np.mean(apart**2)) <= SAME_VALUES * data.deviation
    near = (np.abs(parameters - data.parameters) <= data.deviations).all()
    return bool(near or same_values)


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
    data = read(path)
    searches: list[search.Search] = []
    run = search.Search.run

    def watched(self: search.Search) -> None:
        searches.append(self)
        run(self)

    model = ArithmeticRegressor(time_budget=seconds, random_state=0, functions=FUNCTIONS)
    with patch.object(search.Search, "run", watched):
        model.fit(data.inputs, data.target)

    def ratio_of(candidate: Candidate) -> float:
        missed = candidate.predict(data.inputs) - data.target
        return float(missed @ missed) / data.squares

    front = [(num_numbers(one.candidate), ratio_of(one.candidate), one) for one in model.equations_]
    few = [row for row in front if row[0] <= len(data.parameters)]
    good = [row[2] for row in few if row[1] <= CLOSE]
    same = [one for one in model.equations_ if is_certified(one.candidate.predict, data)]
    form = next(
        (one for each in searches for one in (*each.final, *each.found)
         if ratio_of(one.candidate) < NEARLY
         and parameters_of(one.candidate.predict, data) is not None), None,
    )  # fmt: skip
    beaten = [row[2] for row in few if row[1] < 1]
    if form is not None:
        beaten = [one for one in model.equations_
                  if one.complexity <= form.complexity and one.error < form.error]  # fmt: skip
    return {
        "data": path.stem, "parameters": len(data.parameters), "limit": seconds,
        "certified": bool(same), "form_found": form is not None, "as_good": bool(good),
        "certified_text": str(same[0]) if same else None,
        "as_good_text": str(good[0]) if good else None,
        "beaten_by": str(beaten[-1]) if beaten and not same else None,
        "best_ratio": min((row[1] for row in few), default=None), "says": model.status_,
        "front": [[num, float(f"{share:.4g}"), str(one)] for num, share, one in front],
    }  # fmt: skip


def main(
    folder: tyro.conf.Positional[Path | None] = None,
    seconds: float = 15.0,
    only: tuple[str, ...] = (),
    out: Path = Path("benchmarks/results/nist.jsonl"),
    smoke: bool = False,
) -> None:
    """Measure the data sets that are not measured yet.

    Args:
        folder: With the .dat files; where wug data finds them if not given.
        seconds: Processor time of each fit.
        only: Names of data sets; all by default.
        out: Where the records are.
        smoke: Only see whether it runs, in seconds; the figures mean nothing.
    """
    paths = sorted((folder or plain_path("nist", "DanWood.dat").parent).glob("*.dat"))
    if smoke:
        paths, seconds = paths[:1], 1.0
        out = Path(tempfile.mkdtemp()) / out.name
    search.CLOCK = time.process_time
    done = {(one["data"], one["limit"]) for one in read_records(out)}
    for path in paths:
        if (path.stem, seconds) not in done and (not only or path.stem in only):
            record = measure(path, seconds)
            append(out, record)
            shown = ("data", "certified", "form_found", "as_good", "best_ratio", "beaten_by")
            print(*(record[name] for name in shown), flush=True)
    records = read_records(out)
    for name, text in (("certified", "certified model on the front"), ("as_good", "as good")):
        print(f"{text}: {sum(one[name] for one in records)} of {len(records)}")


if __name__ == "__main__":
    tyro.cli(main)
