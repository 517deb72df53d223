"""Seven functions of two sums over time: from ten steps to a thousand (tables 8 and 9).

Table 9 is `wug show trask2018.recurrent --relative`, at a thousand steps and, with --measure
iid_error, at ten.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import torch
from torch import nn

from wug.core.registry import register
from wug.core.schedules import Constant, Growth, Ramp, Schedule
from wug.experiments.trask2018.recurrent.claims import CLAIMS
from wug.experiments.trask2018.recurrent.published import (
    OPERATIONS,
    load_published,
    published_cells,
)
from wug.experiments.trask2018.relative import BASELINE
from wug.models.recurrent_network import RecurrentNetwork
from wug.models.recurrent_stack import RecurrentStack
from wug.study.experiment import Experiment, Layout, RunOptions, Size, choose_rows
from wug.tasks.extrapolation.recurrent_arithmetic import RecurrentArithmetic
from wug.training.plan import Build, Lot, Streams, TrainingPlan, Variant

HIDDEN = 2


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model of the table, or one of ours.

    Args:
        cell: Of a recurrent network, or the unit in the cell of a stack.
        readout: The unit on top of a stack; empty for a recurrent network.
        update: How the cell of a stack makes its next state.
        penalty: Weight of the units' penalty, which sets in late in training.
        operations: What it is trained on.
    """

    cell: str
    readout: str = ""
    update: str = "replace"
    penalty: float = 0.0
    operations: tuple[str, ...] = tuple(OPERATIONS)

    def builder(self, in_features: int) -> Build:
        """Return what makes the model with initial weights from a generator."""

        def build(generator: torch.Generator) -> nn.Module:
            if self.readout:
                return RecurrentStack(
                    in_features, 1, cell=self.cell, readout=self.readout, hidden_features=HIDDEN,
                    options=({"update": self.update}, {}), generator=generator,
                )  # fmt: skip
            return RecurrentNetwork(
                in_features, 1, cell=self.cell, hidden_features=HIDDEN, generator=generator
            )

        return build


NETWORKS = {
    BASELINE: Model(cell="lstm"),
    "lstm": Model(cell="lstm"),
    "gru": Model(cell="gru"),
    "tanh": Model(cell="tanh"),
    "relu": Model(cell="relu"),
    "nac_add": Model(cell="nac_add", readout="nac_add"),
    "nalu": Model(cell="nalu", readout="nalu"),
    # Not in the paper.
    "nau": Model(
        cell="nau",
        readout="nau",
        update="accumulate",
        penalty=0.1,
        operations=("first", "add", "sub"),
    ),
    "nmu": Model(
        cell="nau",
        readout="nmu",
        update="accumulate",
        penalty=10.0,
        operations=("mul", "square"),
    ),
}
ROWS = tuple(
    (name, operation) for name, model in NETWORKS.items() for operation in model.operations
)
DEPARTURES = (
    "The inputs and the lengths of the two slices are not given and chosen by us (see the task).",
    "Targets are those of the text; by its own numbers the paper had others, all of one size "
    "(see `published`), so that only the errors relative to the untrained model compare.",
    "Optimiser (Adam), learning rate (0.01, after 40 % of the steps 0.001, after 80 % 0.0001), "
    "batch size (32), clipping of the gradient's norm (1), number of steps (20,000), number of "
    "runs (20) and initial weights are not given and chosen by us, on errors at the length of "
    "training alone.",
    "Of each training the state with the lowest error on our IID validation set counts, and the "
    "table has the mean of all runs; the paper does not say which state or run its numbers are of.",
    "The seeds of a row see the same training inputs; --streams independent gives each its own.",
    "The extrapolation set has 100 sequences.",
    "The rows nau and nmu (NAU below NAU or NMU, on what they can represent) are ours; their cell "
    "adds the output of its unit to the state, which the unit does not see.",
)


SCALES = {
    "smoke": Size(seeds=2, steps=10, streams="shared"),
    "laptop": Size(seeds=5, steps=5_000, streams="shared"),
    "paper": Size(seeds=20, steps=20_000, streams="shared"),
}


@register(
    "experiment",
    key="trask2018.recurrent",
    name="Recurrent arithmetic",
    references=("trask2018",),
    source="tables 8 and 9",
    scales={name: asdict(size) for name, size in SCALES.items()},
    rows=[f"{name}:{operation}" for name, operation in ROWS],
    columns=list(OPERATIONS),
)
def recurrent(options: RunOptions) -> Experiment:
    """Train recurrent networks, NAC, NALU, NAU and NMU on functions of two sums over time.

    Args:
        options: Scale, seeds, rows and streams; there is one range.
    """
    options.refuse_ranges("trask2018.recurrent")
    size = SCALES[options.scale]
    streams = options.streams or size.streams
    seeds = tuple(range(options.seeds or size.seeds))
    plan = TrainingPlan(
        steps=size.steps, batch_size=32, evaluate_every=max(size.steps // 5, 10), clip_norm=1.0
    )
    chosen = choose_rows(options.only, ROWS)
    return Experiment(
        name="trask2018.recurrent",
        data_edition=2,
        title="Recurrent arithmetic (Trask et al., 2018, tables 8 and 9)",
        settings={
            "steps": size.steps,
            "streams": streams,
            "batch_size": plan.batch_size,
            "evaluate_every": plan.evaluate_every,
            "dtype": "float32",
        },
        lots=tuple(
            make_lot(name, [op for other, op in chosen if other == name], seeds, plan, streams)
            for name in dict.fromkeys(name for name, _ in chosen)
        ),
        layout=Layout(
            rows=("model",),
            column="operation",
            row_order=tuple((name,) for name in NETWORKS),
            column_order=tuple(OPERATIONS),
            measure="error",
            baseline=BASELINE,
        ),
        published=[cell.to_json() for cell in published_cells()],
        published_table=load_published(),
        claims=CLAIMS,
        departures=DEPARTURES,
        row_units=dict.fromkeys(("lstm", "gru", "tanh", "relu"), "recurrent_network"),
    )


def make_lot(
    name: str, operations: list[str], seeds: tuple[int, ...], plan: TrainingPlan, streams: Streams
) -> Lot:
    """Stack the operations of one model; the untrained one takes a single step of length 0."""
    model = NETWORKS[name]
    learning_rate: Schedule = Growth(1e-2, 1e-4, 0.1, max(4 * plan.steps // 10, 1))
    if name == BASELINE:
        plan, learning_rate = replace(plan, steps=1), Constant(0.0)
    penalty = (
        Ramp(model.penalty, 4 * plan.steps // 10, 8 * plan.steps // 10) if model.penalty else None
    )
    variants = tuple(
        Variant(
            labels={"model": name, "operation": operation},
            stream=("operation",),
            task=RecurrentArithmetic(operation=operation),
            learning_rate=learning_rate,
            penalty=penalty,
            config={
                "model": name,
                "operation": operation,
                "network": asdict(model),
                "hidden_features": HIDDEN,
                "learning_rate": repr(learning_rate),
                "penalty": None if penalty is None else repr(penalty),
                "plan": asdict(plan),
                "streams": streams,
            },
        )
        for operation in operations
    )
    return Lot(
        name=name,
        build=model.builder(RecurrentArithmetic().in_features),
        variants=variants,
        seeds=seeds,
        plan=plan,
        streams=streams,
    )
