"""Six operations on two sums of a hundred inputs: who extrapolates (tables 6, 7 and 12)?

Table 7 is `wug show trask2018.static --relative`, outside and, with --measure iid_error, inside the
range of training.
"""

from __future__ import annotations

from dataclasses import asdict, replace

import torch
from torch import nn

from wug.core.registry import register
from wug.core.schedules import Constant
from wug.experiments.trask2018.relative import BASELINE
from wug.experiments.trask2018.static.claims import CLAIMS
from wug.experiments.trask2018.static.published import (
    MODELS,
    OPERATIONS,
    load_published,
    published_cells,
)
from wug.models.arithmetic_stack import ArithmeticStack
from wug.study.experiment import Experiment, Layout, RunOptions, Size, choose_rows
from wug.tasks.extrapolation.static_arithmetic import StaticArithmetic
from wug.training.plan import Build, Lot, Streams, TrainingPlan, Variant
from wug.units.mlp import MLP

HIDDEN, LEARNING_RATE, DTYPE = 2, 1e-2, torch.float64
# Units and their options; what is not here is a perceptron with this activation.
STACKS = {
    "nac_add": ("nac_add", {}),
    "nalu": ("nalu", {}),
    "nac_add_imaginary": ("nac_add", {}),
    "nalu_imaginary": ("nalu", {"imaginary": True}),
}
ROWS = tuple((model, operation) for model in MODELS for operation in OPERATIONS)
DEPARTURES = (
    "The inputs and the lengths of the two slices are not given and chosen by us (see the task).",
    "Optimiser (Adam), learning rate (0.01), batch size (64), clipping of the gradient's norm (1), "
    "number of steps (20,000), number of runs (50) and initial weights are not given and "
    "chosen by us, on errors inside the range of training alone.",
    "Of each training the state with the lowest error on our IID validation set counts, and the "
    "table has the mean of all runs; the paper does not say which state or run its numbers are of.",
    "Numbers are float64: in float32 NALU's products of a hundred numbers overflow in every second "
    "run.",
    "The seeds of a row see the same training inputs; --streams independent gives each its own.",
    "The untrained model is a linear perceptron; the paper does not say which model it is.",
    "In a sum a zero imaginary part stays zero, so that the imaginary NAC is NAC: its row repeats "
    "the training of NAC on other inputs.",
    "The imaginary NALU passes only the real part of a layer on to the next.",
)


SCALES = {
    "smoke": Size(seeds=2, steps=100, streams="shared"),
    "laptop": Size(seeds=10, steps=10_000, streams="shared"),
    "paper": Size(seeds=50, steps=20_000, streams="shared"),
}


@register(
    "experiment",
    key="trask2018.static",
    name="Static arithmetic",
    references=("trask2018",),
    source="tables 6, 7 and 12",
    scales={name: asdict(size) for name, size in SCALES.items()},
    rows=[f"{model}:{operation}" for model, operation in ROWS],
    columns=list(OPERATIONS),
)
def static(options: RunOptions) -> Experiment:
    """Train perceptrons, NAC and NALU on six operations of two sums of slices.

    Args:
        options: Scale, seeds, rows and streams; there is one range.
    """
    options.refuse_ranges("trask2018.static")
    size = SCALES[options.scale]
    streams = options.streams or size.streams
    seeds = tuple(range(options.seeds or size.seeds))
    plan = TrainingPlan(
        steps=size.steps, batch_size=64, evaluate_every=size.steps // 20, clip_norm=1.0
    )
    chosen = choose_rows(options.only, ROWS)
    return Experiment(
        name="trask2018.static",
        data_edition=2,
        title="Static arithmetic (Trask et al., 2018, tables 6, 7 and 12)",
        settings={
            "steps": size.steps,
            "streams": streams,
            "batch_size": plan.batch_size,
            "evaluate_every": plan.evaluate_every,
            "dtype": "float64",
        },
        lots=tuple(
            make_lot(model, [op for other, op in chosen if other == model], seeds, plan, streams)
            for model in dict.fromkeys(model for model, _ in chosen)
        ),
        layout=Layout(
            rows=("model",),
            column="operation",
            row_order=tuple((model,) for model in MODELS),
            column_order=tuple(OPERATIONS),
            measure="error",
            baseline=BASELINE,
        ),
        published=[cell.to_json() for cell in published_cells()],
        published_table=load_published(),
        claims=CLAIMS,
        departures=DEPARTURES,
        row_units={m: STACKS[m][0] if m in STACKS else "mlp" for m in MODELS if m != BASELINE},
    )


def network(model: str, in_features: int) -> Build:
    """Return what makes a model with initial weights from a generator."""

    def build(generator: torch.Generator) -> nn.Module:
        if model in STACKS:
            unit, arguments = STACKS[model]
            return ArithmeticStack(
                in_features, 1, units=(unit, unit), options=(arguments, arguments),
                hidden_features=HIDDEN, generator=generator, dtype=DTYPE,
            )  # fmt: skip
        activation = "identity" if model == BASELINE else model
        return MLP(
            in_features, 1, hidden_features=HIDDEN, activation=activation, generator=generator,
            dtype=DTYPE,
        )  # fmt: skip

    return build


def make_lot(
    model: str, operations: list[str], seeds: tuple[int, ...], plan: TrainingPlan, streams: Streams
) -> Lot:
    """Stack the operations of one model; the untrained one takes a single step of length 0."""
    learning_rate = 0.0 if model == BASELINE else LEARNING_RATE
    plan = replace(plan, steps=1) if model == BASELINE else plan
    variants = tuple(
        Variant(
            labels={"model": model, "operation": operation},
            stream=("operation",),
            task=StaticArithmetic(operation=operation, dtype=DTYPE),
            learning_rate=Constant(learning_rate),
            config={
                "model": model,
                "operation": operation,
                "hidden_features": HIDDEN,
                "learning_rate": learning_rate,
                "plan": asdict(plan),
                "streams": streams,
            },
        )
        for operation in operations
    )
    return Lot(
        name=model,
        build=network(model, StaticArithmetic().in_features),
        variants=variants,
        seeds=seeds,
        plan=plan,
        streams=streams,
    )
