"""The equations of an epidemic, found by powers below sums inside an ODE.

The primer says that a stack of NAU and NPU found the equations of an epidemiological model
(mistry2022, section 6.3) and gives no numbers, so there are claims only. A training recovers its
equations if, after rounding exponents and coefficients to 0.05, the terms that are left are those
of the generator, each in the equations where it belongs; `wug show` prints what was found.

References:
    heim2020, mistry2022
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import torch
from torch import nn

from wug.core.schedules import Trapezoid, WarmUp
from wug.models.flow import Flow
from wug.stats.measures import Measure
from wug.study.claims import Claim
from wug.study.experiment import Size
from wug.study.paper_table import PaperTable
from wug.study.predicates import above
from wug.study.trainings import Run, Training, registered
from wug.tasks.extrapolation.epidemic import EXPONENTS, KINDS, Epidemic
from wug.training.plan import Plan

ROWS = {"nau_npu": {"relevance_gate": False}, "nau_npu_gated": {"relevance_gate": True}}
GRID = 0.05
NAMES = ("S", "I", "R")
SOURCE = "mistry2022, section 6.3"

Terms = dict[tuple[float, ...], tuple[float, ...]]
"""Exponents of a product -> its coefficients in the equations."""


def rounded(value: float) -> float:
    """Round to the grid; there is one zero."""
    return round(round(value / GRID) * GRID, 10) + 0.0


def terms_of(network: Flow) -> Terms:
    """Return the terms that are left of a flow after rounding; equal products are one."""
    exponents, coefficients = (tensor.double() for tensor in network.terms())
    sums: dict[tuple[float, ...], torch.Tensor] = {}
    for row, column in zip(exponents, coefficients.T, strict=True):
        key = tuple(map(rounded, row.tolist()))
        sums[key] = sums.get(key, torch.zeros(3, dtype=torch.float64)) + column
    found = {key: tuple(map(rounded, column.tolist())) for key, column in sums.items()}
    return {key: column for key, column in found.items() if any(column)}


def true_terms(task: Epidemic) -> Terms:
    """Return the terms of the generator."""
    susceptible, infected = EXPONENTS[task.kind]
    beta, gamma = task.infection, task.recovery
    return {(susceptible, infected, 0.0): (-beta, beta, 0.0), (0.0, 1.0, 0.0): (0.0, -gamma, gamma)}


def spelled(terms: Mapping[tuple[float, ...], tuple[float, ...]]) -> str:
    """Write terms as equations.

    Example:
        >>> spelled({(1.0, 0.5, 0.0): (-0.5, 0.5, 0.0)})
        "S' = -0.5 S I^0.5, I' = 0.5 S I^0.5, R' = 0"
    """

    def product(exponents: tuple[float, ...]) -> str:
        powers = zip(NAMES, exponents, strict=True)
        return "".join(f" {n}" if e == 1 else f" {n}^{e:g}" for n, e in powers if e)

    equations = []
    for place, name in enumerate(NAMES):
        parts = [f"{row[place]:g}{product(e)}" for e, row in terms.items() if row[place]]
        equations.append(f"{name}' = " + (" + ".join(parts).replace("+ -", "- ") or "0"))
    return ", ".join(equations)


def read_equations(network: nn.Module, task: Epidemic) -> dict[str, Any]:
    """Say whether the equations were recovered, and which they are."""
    found = terms_of(cast(Flow, network))
    return {"recovered": float(found == true_terms(task)), "formula": spelled(found)}


def _claim(kind: str, words: str) -> Claim:
    return Claim(
        f"{kind}_is_recovered",
        f"NAU and NPU inside an ODE find {words} in more than half of the trainings.",
        SOURCE,
        lambda table: above(table.at("nau_npu", kind), 0.5, "recovered"),
    )


@PaperTable(
    name="Equations of an epidemic",
    title="Equations of an epidemic by NAU and NPU (Heim et al., 2020)",
    references=("heim2020", "mistry2022"),
    source="mistry2022, section 6.3",
    labels=("model", "kind"),
    rows=ROWS,
    columns=KINDS,
    stream=("kind",),
    scales={
        "smoke": Size(seeds=2, steps=100),
        "laptop": Size(seeds=5, steps=20_000),
        "paper": Size(seeds=20, steps=50_000),
    },
    settings=lambda run: {"dtype": "float64"},
    claims=(
        _claim("sir", "the equations of SIR"),
        _claim("fractional", "a fractional exponent of the contacts"),
    ),
    departures=(
        "The primer has neither data nor settings: the epidemics (see the task), three terms of "
        "which two are needed, Adam with a rate that falls from 0.01 to 0, 20,000 steps (50,000 at "
        "paper scale) and the weight of the penalty, 1e-6 falling to 0 at 80 % of the steps, are "
        "ours, and the first that were tried.",
        "Trained is the step from one observation to the next, by one Runge-Kutta step of ours; "
        "observations come from four.",
        "Row nau_npu has no relevance gate: all states are positive. Row nau_npu_gated has one.",
    ),
    row_units=dict.fromkeys(ROWS, "flow"),
    measures=(
        Measure(
            name="recovered", title="Equations recovered", path="observed.recovered", unit="%",
            notation="per cent", digits=0, better="higher", summary="rate", interval="wilson",
            about="Per cent of the trainings whose rounded terms are those of the generator",
        ),
    ),
    measure="recovered",
)  # fmt: skip
def epidemic(run: Run, model: str, kind: str) -> Training:
    """Train a NAU on an NPU inside an ODE on two epidemics."""
    task = Epidemic(kind=kind)
    return Training(
        lot=model,
        build=registered(
            "flow", task, duration=task.distance, num_terms=3, dtype=torch.float64, **ROWS[model]
        ),
        task=task,
        plan=Plan(steps=run.steps, evaluate_every=max(run.steps // 10, 10)),
        learning_rate=WarmUp(1e-2, 0, steps=run.steps),
        penalty=Trapezoid(1e-6, 1, steps=int(0.8 * run.steps), falling=0.5),
        observe=read_equations,
    )
