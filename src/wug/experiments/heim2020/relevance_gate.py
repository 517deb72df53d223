"""What is the relevance gate for? Power units with and without it, on the choice of an input.

The primer (mistry2022, section 6.3, of heim2020's figure 3) says that the gate turns regions
without a gradient into regions with one; there are no numbers. The cells: (unit, "first"). Beside
the trainings, `flat` is the share of a grid of weights on which the gradient is next to nothing.

References:
    heim2020, mistry2022
"""

from __future__ import annotations

import torch
from torch import nn

from wug.analysis.relevance_gate import example_inputs, flat_share, gradient_norms
from wug.core.schedules import Constant
from wug.stats.measures import Measure
from wug.study.claims import Claim
from wug.study.experiment import Size, drawn_twice
from wug.study.judgements import all_of
from wug.study.paper_table import PaperTable
from wug.study.predicates import better, clearly_below
from wug.study.trainings import Run, Training, primer_plan
from wug.tasks.extrapolation.chosen_input import ChosenInput
from wug.units.npu import NPU
from wug.units.real_npu import RealNPU

UNITS = {
    "npu": (NPU, True),
    "real_npu": (RealNPU, True),
    "naive_npu": (NPU, False),
    "naive_real_npu": (RealNPU, False),
}
SOURCE = "mistry2022, section 6.3, of heim2020, figure 3"
FIRST = "first"


def flatness(network: nn.Module, task: ChosenInput) -> dict[str, float]:
    """Return how much of a grid of weights has next to no gradient, with the unit's first gate."""
    grid = torch.linspace(-2, 2, 41)
    gated = getattr(network, "gate", None) is not None
    x = example_inputs(torch.Generator().manual_seed(0))
    norms = gradient_norms(x, grid, grid, gate=(0.5, 0.5) if gated else None)
    return {"flat": flat_share(norms)}


CLAIMS = (
    Claim(
        "the_gate_gives_gradients",
        "With a half-open gate less of the weights' grid has next to no gradient than without.",
        SOURCE,
        lambda t: clearly_below(t.at("real_npu", FIRST), t.at("naive_real_npu", FIRST), "flat"),
    ),
    Claim(
        "the_gate_helps_to_choose",
        "NPU and RealNPU learn to return one of two inputs more often with the gate than without.",
        f"implied by {SOURCE}; no sentence says it",
        lambda t: all_of(
            better(t.at(unit, FIRST), t.at(f"naive_{unit}", FIRST)) for unit in ("npu", "real_npu")
        ),
    ),
)


@PaperTable(
    name="Relevance gate",
    title="Choosing one of two inputs with a relevance gate (Heim et al., 2020, figure 3)",
    references=("heim2020", "mistry2022"),
    source="heim2020, figure 3, as told in mistry2022, section 6.3",
    labels=("unit", "target"),
    rows=UNITS,
    columns=(FIRST,),
    stream=("target",),
    scales={
        "smoke": Size(seeds=2, steps=100),
        "laptop": Size(seeds=25, steps=20_000),
        "paper": Size(seeds=100, steps=50_000),
    },
    claims=CLAIMS,
    departures=(
        "The figure shows gradients and no trainings; units, Adam with a rate of 0.005, steps and "
        "seeds are ours. There is no penalty.",
        "The grid has 41 x 41 weights from -2 to 2 and a gate of 0.5, which is where it starts.",
    ),
    row_units={"naive_npu": "npu", "naive_real_npu": "real_npu"},
    measures=(
        Measure(
            name="flat", title="Share without a gradient", path="observed.flat", unit="%",
            notation="per cent", digits=0,
            about="Per cent of a grid of weights on which the gradient is below 0.01",
        ),
    ),
)  # fmt: skip
def relevance_gate(run: Run, unit: str, target: str) -> Training:
    """Train power units with and without a relevance gate to return one of two inputs."""
    make, gate = UNITS[unit]
    return Training(
        lot=unit,
        build=drawn_twice(make, 2, 1, relevance_gate=gate),
        task=ChosenInput(),
        plan=primer_plan(steps=run.steps, evaluate_every=max(run.steps // 20, 10)),
        learning_rate=Constant(5e-3),
        observe=flatness,
        config={"relevance_gate": gate, "initial_draws": 2},
    )
