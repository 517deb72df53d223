"""Two layers, six operations, a hundred inputs: which models select, add and combine (table 6).

Table 2 is the part of table 6 that the paper discusses. The settings are those of the authors'
scripts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from wug.core.registry import register
from wug.core.schedules import Constant, Ramp
from wug.experiments.madsen2020.two_layer.claims import CLAIMS
from wug.experiments.madsen2020.two_layer.published import (
    MODELS,
    OPERATIONS,
    load_published,
    published_cells,
)
from wug.fleet.experiment import Experiment, Layout, RunOptions, Size, choose_rows, drawn_twice
from wug.fleet.plan import Build, Lot, Streams, TrainingPlan, Variant
from wug.models.arithmetic_stack import ArithmeticStack
from wug.tasks.extrapolation.arithmetic_dataset import ArithmeticDataset
from wug.units.mlp import MLP

HIDDEN = 2
DEPARTURES = (
    "The seeds of a row see the same training inputs, each with its own slices; the paper's runs "
    "have inputs of their own. --streams independent does as the paper.",
    "The first layer of NAC•,NMU is NAU, as in every script; the paper's table says NAC+.",
    "Thresholds are those of slices of 25 with an overlap of 12; the reference's own are off by "
    "one (26 and 13).",
    "At laptop scale training is ten times shorter, and so is the ramp of the penalty.",
)


@dataclass(frozen=True, kw_only=True)
class Model:
    """A network of the table.

    Args:
        units: Its units from the input to the output; empty for a perceptron.
        options: Their keyword arguments.
        activation: Of the perceptron.
        penalty: Peak, start and end of the penalty's ramp.
    """

    units: tuple[str, ...] = ()
    options: tuple[Mapping[str, Any], ...] = ({}, {})
    activation: str = ""
    penalty: tuple[float, int, int] | None = None

    def builder(self, in_features: int) -> Build:
        """Return what makes the network with initial weights from a generator."""
        if self.units:
            return drawn_twice(
                ArithmeticStack, in_features, 1,
                units=self.units, options=self.options, hidden_features=HIDDEN,
            )  # fmt: skip
        return drawn_twice(MLP, in_features, 1, hidden_features=HIDDEN, activation=self.activation)


LATE = (10.0, 1_000_000, 2_000_000)
NETWORKS = {
    "nac_mul_nmu": Model(
        units=("nau", "nac_mul"), options=({}, {"weight": "linear"}), penalty=LATE
    ),
    "nac_mul_sigmoid": Model(units=("nac_add", "nac_mul"), options=({}, {"weight": "sigmoid"})),
    "nac_mul": Model(units=("nac_add", "nac_mul")),
    "nac_add": Model(units=("nac_add", "nac_add")),
    "gated_nau_nmu": Model(units=("gated_nau_nmu", "gated_nau_nmu"), penalty=LATE),
    "linear": Model(activation="identity"),
    "nalu": Model(units=("nalu", "nalu")),
    "nau": Model(units=("nau", "nau"), penalty=(0.01, 5_000, 50_000)),
    "nmu": Model(units=("nau", "nmu"), penalty=LATE),
    "relu": Model(activation="relu"),
    "relu6": Model(activation="relu6"),
}
ROWS = tuple((model, operation) for model in MODELS for operation in OPERATIONS)


SCALES = {
    "smoke": Size(seeds=2, steps=2_000, streams="shared"),
    "laptop": Size(seeds=10, steps=500_000, streams="shared"),
    "paper": Size(seeds=100, steps=5_000_000, streams="shared"),
}


@register(
    "experiment",
    key="madsen2020.two_layer",
    name="Arithmetic Dataset Task",
    references=("madsen2020",),
    source="tables 2 and 6",
    scales={name: asdict(size) for name, size in SCALES.items()},
    rows=[f"{model}:{operation}" for model, operation in ROWS],
    columns=list(OPERATIONS),
)
def two_layer(options: RunOptions) -> Experiment:
    """Train eleven two-layer networks on six operations of two sums of slices.

    Args:
        options: Scale, seeds, rows and streams; there is one range.
    """
    options.refuse_ranges("madsen2020.two_layer")
    size = SCALES[options.scale]
    streams = options.streams or size.streams
    seeds = tuple(range(options.seeds or size.seeds))
    plan = TrainingPlan(steps=size.steps)
    chosen = choose_rows(options.only, ROWS)
    return Experiment(
        name="madsen2020.two_layer",
        title="Arithmetic Dataset Task (Madsen and Johansen, 2020, tables 2 and 6)",
        settings={
            "steps": size.steps,
            "streams": streams,
            "batch_size": plan.batch_size,
            "evaluate_every": plan.evaluate_every,
            "thresholds": "corrected",
            "dtype": "float32",
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
        ),
        published=[cell.to_json() for cell in published_cells()],
        published_table=load_published(),
        claims=CLAIMS,
        departures=DEPARTURES,
    )


def make_lot(
    name: str,
    operations: list[str],
    seeds: tuple[int, ...],
    plan: TrainingPlan,
    streams: Streams,
) -> Lot:
    """Stack the operations of one network."""
    network = NETWORKS[name]
    penalty = None
    if network.penalty is not None:
        peak, start, end = network.penalty
        shorter = SCALES["paper"].steps // plan.steps
        penalty = Ramp(peak, start // shorter, end // shorter)
    variants = tuple(
        Variant(
            labels={"model": name, "operation": operation},
            task=ArithmeticDataset(operation=operation),
            learning_rate=Constant(1e-3),
            penalty=penalty,
            config={
                "model": name,
                "operation": operation,
                "network": asdict(network),
                "hidden_features": HIDDEN,
                "learning_rate": 1e-3,
                "penalty": None if penalty is None else repr(penalty),
                "plan": asdict(plan),
                "streams": streams,
                "initial_draws": 2,
            },
        )
        for operation in operations
    )
    return Lot(
        name=name,
        build=network.builder(ArithmeticDataset().in_features),
        variants=variants,
        seeds=seeds,
        plan=plan,
        streams=streams,
    )
