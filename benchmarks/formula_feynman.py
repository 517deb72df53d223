"""The 100 equations of AI Feynman: how many does wug recover, and is one ever falsely exact?

300 rows each, uniform in the published ranges. Recovered: the relative error is below 1e-6 where
every input lies between the upper end of its range and twice that. Every fit leaves one line in
the file of records, and what is there is not run again. The equations come in an order of which
any beginning has arithmetic ones and ones with functions in their proportion, and every method is
run on an equation before the next one: a run that is cut off is a fair sample. Peers run in a
process of their own, so that one that crashes is a result and not an end.

    python benchmarks/formula_feynman.py DATA [--noise 0.01] [--methods wug pyoperon gplearn]

DATA is FeynmanEquations.csv of https://github.com/SJ001/AI-Feynman.
"""

from __future__ import annotations

import csv
import math
import multiprocessing
import re
import resource
import signal
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tyro
from formula_measures import relative_error
from formula_methods import search_with_gplearn, search_with_pyoperon
from formula_records import EARLY, SRBENCH, Record, append, read
from numpy.typing import NDArray

from wug.analysis.formula import Formula
from wug.estimators.formula_text import read_formula_text
from wug.sources.files import plain_path

Array = NDArray[np.float64]

ROWS, TEST_ROWS = 300, 1_000
RECOVERED = 1e-6
# Times its limit after which a peer's process is ended: no generation takes so long.
HANGS = 3
FUNCTIONS = re.compile(r"\b(exp|log|ln|sin|cos|tanh|arcsin)\(")


@dataclass(frozen=True)
class Equation:
    """One equation of the list."""

    key: str
    text: str
    names: tuple[str, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def kind(self) -> str:
        """Whether it needs functions."""
        return "functions" if FUNCTIONS.search(self.text) else "arithmetic"

    def values(self, x: Array) -> Array:
        """Evaluate it."""
        function = Formula((read_formula_text(self.text, self.names),), self.names).python()
        with np.errstate(all="ignore"):
            return np.asarray(function(x))[:, 0]

    def train(self, noise: float) -> tuple[Array, Array]:
        """Return the rows that a method gets."""
        generator = np.random.default_rng(zlib.crc32(f"{self.key} train".encode()))
        x = generator.uniform(self.low, self.high, (ROWS, len(self.names)))
        y = self.values(x)
        return x, y + noise * y.std() * generator.standard_normal(ROWS)

    def test(self) -> tuple[Array, Array]:
        """Return rows outside, where the equation is defined."""
        generator = np.random.default_rng(zlib.crc32(f"{self.key} test".encode()))
        high = np.array(self.high)
        x = generator.uniform(high, 2 * high, (TEST_ROWS, len(self.names)))
        y = self.values(x)
        return x[np.isfinite(y)], y[np.isfinite(y)]


def read_equations(path: Path) -> Iterator[Equation]:
    """Yield the equations of the published table."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        for row in csv.DictReader(file):
            if row["Filename"]:
                count = range(1, int(row["# variables"]) + 1)
                yield Equation(
                    row["Filename"], row["Formula"],
                    tuple(row[f"v{i}_name"].strip() for i in count),
                    tuple(float(row[f"v{i}_low"]) for i in count),
                    tuple(float(row[f"v{i}_high"]) for i in count),
                )  # fmt: skip


def in_fair_order(equations: Sequence[Equation]) -> list[Equation]:
    """Return the equations shuffled, with the kinds in proportion in any beginning of the list."""
    places: list[tuple[float, Equation]] = []
    for kind in ("arithmetic", "functions"):
        some = [one for one in equations if one.kind == kind]
        some.sort(key=lambda one: zlib.crc32(f"{one.key} order".encode()))
        places += [((i + 0.5) / len(some), one) for i, one in enumerate(some)]
    return [one for _, one in sorted(places, key=lambda place: place[0])]


def fit(method: str, x: Array, y: Array, seconds: float, seed: int) -> tuple[Any, str, str]:
    """Return a function that predicts, the formula as text, and what the method says of it."""
    if method == "wug":
        from wug.estimators import ArithmeticRegressor

        model = ArithmeticRegressor(time_budget=seconds, random_state=seed).fit(x, y)
        return model.predict, str(model.expression_), str(model.status_)
    if method == "pyoperon":
        allowed = "add,sub,mul,div,pow,sqrt,square,exp,log,sin,cos,tanh,constant,variable"
        peer = search_with_pyoperon(x, y, allowed, seconds, seed, clock="processor")
        return peer.predict, peer.get_model_string(peer.model_, 12), ""
    from gplearn.functions import make_function

    own = (
        make_function(function=lambda a: np.exp(np.clip(a, -50, 50)), name="exp", arity=1),
        make_function(function=np.tanh, name="tanh", arity=1),
    )
    known = ("add", "sub", "mul", "div", "sqrt", "inv", "neg", "log", "sin", "cos")
    genetic = search_with_gplearn(x, y, (*known, *own), seconds, seed, "processor")
    return genetic.predict, str(genetic._program), ""


def measure(method: str, equation: Equation, noise: float, seconds: float, seed: int) -> Record:
    """Fit one equation and say how it went."""
    record: Record = {
        "method": method, "equation": equation.key, "kind": equation.kind, "noise": noise,
        "limit": seconds, "seed": seed,
    }  # fmt: skip
    if method != "wug":
        record["version"] = version(method)
    x, y = equation.train(noise)
    began = time.process_time()
    try:
        predict, text, says = fit(method, x, y, seconds, seed)
    except Exception as reason:  # A failure is a result.
        return record | {"recovered": False, "remark": f"{type(reason).__name__}: {reason}"}
    spent = time.process_time() - began
    outside, truth = equation.test()
    error = relative_error(np.asarray(predict(outside)).reshape(-1), truth)
    inside = relative_error(np.asarray(predict(x)).reshape(-1), equation.values(x))
    return record | {
        "recovered": bool(error < RECOVERED), "error": error if math.isfinite(error) else None,
        "inside": inside, "says": says, "expression": text[:400], "seconds": round(spent, 2),
    }  # fmt: skip


def measure_apart(
    method: str, equation: Equation, noise: float, seconds: float, seed: int
) -> Record:
    """Measure in a process of its own; if that crashes or hangs, say so."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    arguments = (method, equation, noise, seconds, seed)
    child = context.Process(target=send_record, args=(theirs, arguments), daemon=True)
    child.start()
    theirs.close()
    try:
        return dict(ours.recv())
    except EOFError:
        child.join()
    ended = child.exitcode or 0
    if ended in (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT):
        raise SystemExit(f"{method} was killed on {equation.key}: run again to go on.") from None
    return {
        "method": method, "equation": equation.key, "kind": equation.kind, "noise": noise,
        "limit": seconds, "seed": seed, "recovered": False, "remark": f"ended with code {ended}",
    }  # fmt: skip


def send_record(to: Connection, arguments: tuple[Any, ...]) -> None:
    """Measure, and send the record."""
    hangs = math.ceil(HANGS * arguments[3]) + 10
    resource.setrlimit(resource.RLIMIT_CPU, (hangs, hangs + 1))
    to.send(measure(*arguments))


def rates(records: Sequence[Record]) -> str:
    """Return the table of rates as Markdown."""
    lines = ["| method | noise | arithmetic | functions | falsely exact |", "|---|--:|--:|--:|--:|"]
    groups = sorted({(one["method"], one["noise"]) for one in records})
    for method, noise in groups:
        mine = [r for r in records if (r["method"], r["noise"]) == (method, noise)]
        cells = []
        for kind in ("arithmetic", "functions"):
            some = [one for one in mine if one["kind"] == kind]
            cells.append(f"{sum(one['recovered'] for one in some)} of {len(some)}")
        false = sum(one.get("says") == "exact" and not one["recovered"] for one in mine)
        lines.append(f"| {method} | {noise:.0%} | {' | '.join(cells)} | {false} |")
    lines += ["", "SRBench's published rates of exact recovery, on 116 problems with budgets of "
              "hours instead of seconds (La Cava et al., 2021):", ""]  # fmt: skip
    lines += ["| method | no noise | 1 % noise |", "|---|--:|--:|"]
    lines += [f"| {name} | {a} % | {b} % |" for name, (a, b) in SRBENCH.items()]
    lines += ["", EARLY]
    missed = [r for r in records if r["method"] == "wug" and not r["recovered"] and not r["noise"]]
    lines += ["", "Not recovered by wug without noise:", ""]
    lines += [f"- {r['equation']} ({r['kind']}): {r.get('says')}" for r in missed]
    return "\n".join(lines) + "\n"


def main(
    data: tyro.conf.Positional[Path | None] = None,
    methods: tuple[str, ...] = ("wug",),
    noise: float = 0.0,
    time_limit: float = 30.0,
    seed: int = 0,
    clock: Literal["wall", "processor"] = "processor",
    only: tuple[str, ...] = (),
    every: int = 1,
    kind: Literal["all", "arithmetic", "functions"] = "all",
    out: Path = Path("benchmarks/results/feynman.jsonl"),
    smoke: bool = False,
) -> None:
    """Measure what is not measured yet, and write the table.

    Args:
        data: FeynmanEquations.csv; where wug data finds it if not given.
        methods: Of wug, pyoperon and gplearn.
        noise: Standard deviation of the noise as a share of the targets' own.
        time_limit: Seconds per fit.
        seed: Of the methods; the rows are fixed.
        clock: What wug's time is measured with: processor time is fair on a busy machine.
        only: Keys of equations; all by default.
        every: Take the first equation and then one in so many.
        kind: Which equations.
        out: Where the records are.
        smoke: Only see whether it runs, in seconds; the figures mean nothing.
    """
    data = data or plain_path("feynman", "FeynmanEquations.csv")
    if smoke:
        only, time_limit = ("I.6.2a", "I.12.1"), 2.0
        out = Path(tempfile.mkdtemp()) / out.name
    from wug.estimators import search

    if clock == "processor":
        search.CLOCK = time.process_time
    for method in set(methods) - {"wug"}:
        import_module(method)  # here, and not in the time of every fit
    records = read(out)
    done = {(r["method"], r["equation"], r["noise"], r["limit"], r["seed"]) for r in records}
    for equation in islice(in_fair_order(list(read_equations(data))), None, None, every):
        chosen = (not only or equation.key in only) and kind in ("all", equation.kind)
        for method in methods if chosen else ():
            if (method, equation.key, noise, time_limit, seed) not in done:
                one_fit = measure if method == "wug" else measure_apart
                record = one_fit(method, equation, noise, time_limit, seed)
                append(out, record)
                shown = ("method", "equation", "recovered", "error", "seconds", "expression")
                print(*(str(record.get(name))[:90] for name in shown), flush=True)
    out.with_suffix(".md").write_text(rates(read(out)), encoding="utf-8")


if __name__ == "__main__":
    tyro.cli(main)
