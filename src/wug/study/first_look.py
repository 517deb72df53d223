"""A first look, in seconds and without a download: a formula, and a router beside its rival.

Both ask the same thing: what is left of an answer outside the data that it was learnt from?
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestRegressor

from wug.core.errors import UserError
from wug.estimators import ArithmeticRegressor
from wug.study.results import load, results
from wug.study.traces import write_traces

INPUTS = ("distance", "mass")
# Planets so many times as far away, around stars so many times as heavy, as those in the table.
FARTHER = 4.0
SECONDS = 8.0
ROUTER, RIVAL = "csordas2023.ctl@shipped/ndr:backward", "csordas2023.ctl@shipped/lstm:backward"
# Results with networks that a page can run.
ASKED = ("csordas2023.ctl@shipped", "csordas2023.simple_arithmetic@shipped")
NUM_PROBLEMS = 100


@dataclass(frozen=True, kw_only=True)
class Formula:
    """What was found in a table, and how it does outside beside a random forest.

    Args:
        text: The formula.
        status: What the fit says of it.
        num_rows: Rows of the table.
        error: Mean error outside, as a share of the true value.
        rival_error: The same of the forest.
    """

    text: str
    status: str
    num_rows: int
    error: float
    rival_error: float


@dataclass(frozen=True, kw_only=True)
class Routed:
    """How a router and its rival answer problems twice as long as those of training.

    Args:
        problem: One of them, as a person writes it.
        way: From its first symbol to the answer, one table after the other.
        tables: The tables that it looks up, as text.
        answer: The right answer.
        said: What the router says.
        right: Share of right answers of the router.
        rival_said: What the rival says; None if none ships.
        rival_right: Its share of right answers.
    """

    problem: str
    way: str
    tables: dict[str, str]
    answer: str
    said: str
    right: float
    rival_said: str | None
    rival_right: float | None


def read_table() -> NDArray[np.float64]:
    """Read the table that ships: made from Kepler's law, planets of other stars.

    Shape:
        (row, 3): distance in astronomical units, mass of the star in suns, period in years.
    """
    text = (files("wug.study") / "orbits.csv").read_text(encoding="utf-8")
    return np.array([[float(cell) for cell in line.split(",")] for line in text.splitlines()[1:]])


def find_formula() -> Formula:
    """Fit the table, and go beyond it."""
    table = read_table()
    rows, target = table[:, :2], table[:, 2]
    model = ArithmeticRegressor(random_state=0, time_budget=SECONDS).fit(rows, target)
    forest = RandomForestRegressor(random_state=0).fit(rows, target)
    beyond = rows * FARTHER
    truth = np.sqrt(beyond[:, 0] ** 3 / beyond[:, 1])

    def error(answers: NDArray[np.float64]) -> float:
        return float(np.abs(answers / truth - 1).mean())

    text = str(model.expression_)
    for number, name in enumerate(INPUTS, 1):
        text = text.replace(f"x{number}", name)
    return Formula(
        text=text, status=str(model.status_), num_rows=len(table),
        error=error(model.predict(beyond)), rival_error=error(forest.predict(beyond)),
    )  # fmt: skip


def front_results(parent: Path) -> list[Path]:
    """Return results whose networks a front page asks, one of them with a look into its routers.

    Args:
        parent: Where a copy with what happens inside goes, as what ships has no traces.
    """
    tables, arithmetic = (results(name).folder for name in ASKED)
    folder = parent / tables.parent.name / tables.name
    shutil.copytree(tables, folder, ignore=shutil.ignore_patterns("traces"))
    write_traces(folder)
    return [folder, arithmetic]


@torch.no_grad()
def ask_router() -> Routed:
    """Ask a router that ships, and a rival, for tables that are looked up nine or ten times."""
    router = load(ROUTER)
    task: Any = router.task
    problems = task.examples("test")
    some = problems[torch.arange(len(problems) - NUM_PROBLEMS, len(problems))]
    batch = some.to_batch()

    def answers(network: torch.nn.Module) -> list[int]:
        found: list[int] = network(batch["tokens"], batch["lengths"]).argmax(-1).tolist()
        return found

    labels: list[int] = batch["labels"].tolist()

    def share(found: list[int]) -> float:
        return sum(a == b for a, b in zip(found, labels, strict=True)) / len(labels)

    said = answers(router)
    try:
        rival_said = answers(load(RIVAL))
    except UserError:  # its network does not ship
        rival_said = []
    # The first that the rival gets wrong, if there is one; shares are of all.
    wrong = (i for i, (a, b) in enumerate(zip(rival_said, labels, strict=False)) if a != b)
    shown = next(wrong, 0)
    tokens = some.tokens[shown, : int(some.lengths[shown])].tolist()
    names = sorted({task.tokens[token] for token in tokens} - set(task.classes))
    functions = [token for token in task.tokens if token not in task.classes]
    tables = {
        name: " ".join(
            f"{task.classes[i]}→{task.classes[int(to)]}"
            for i, to in enumerate(task.tables[functions.index(name)])
        )
        for name in names
    }
    problem = task.decode(tokens)
    return Routed(
        problem=problem, way=way(problem, tables), tables=tables,
        answer=task.classes[labels[shown]], said=task.classes[said[shown]], right=share(said),
        rival_said=task.classes[rival_said[shown]] if rival_said else None,
        rival_right=share(rival_said) if rival_said else None,
    )  # fmt: skip


def way(problem: str, tables: dict[str, str]) -> str:
    """Return what a problem goes through, from its symbol at the right to the answer.

    Example:
        >>> way("b a 0", {"a": "0→1 1→0", "b": "0→0 1→1"})
        '0 → a 1 → b 1'
    """
    *names, value = problem.split()
    parts = [value]
    for name in reversed(names):
        value = dict(pair.split("→") for pair in tables[name].split())[value]
        parts.append(f"{name} {value}")
    return " → ".join(parts)
