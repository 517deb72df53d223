"""Boolean functions by two layers of NLRL: how many units, and which operators?

The primer reports findings and no numbers; it does not give the training either.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import nn

from wug.core.registry import register
from wug.core.schedules import Constant
from wug.experiments.reimann2019.nlrl_boolean.claims import CLAIMS
from wug.models.arithmetic_stack import ArithmeticStack
from wug.study.experiment import Experiment, Layout, RunOptions, Size, choose_rows
from wug.tasks.extrapolation.boolean import FUNCTIONS, Boolean
from wug.training.plan import Lot, Streams, TrainingPlan, Variant

DEPARTURES = (
    "The source gives no training: Adam with a learning rate of 0.01, the mean squared error on "
    "all rows of the truth table, 5,000 steps and 100 seeds are ours.",
    "Implication and equivalence are said to be representable, not to have been tested.",
    "The rows of five inputs, which learn from half of the truth table and are tested on a quarter "
    "of it, are ours.",
    "What counts as solved is ours: no answer is further than 0.1 from the truth.",
    "That both operators take more time for a step is not tested.",
)


@dataclass(frozen=True, kw_only=True)
class Network:
    """Which operators the layers have, and what they are trained on."""

    operators: str
    num_inputs: int = 2
    train_share: float = 1.0

    @property
    def options(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Keyword arguments of both layers; a layer above one that negates need not."""
        first = {"operators": self.operators}
        return first, {**first, "input_negation": self.operators == "both"}

    def task(self, function: str) -> Boolean:
        """Return the data of a function."""
        return Boolean(function=function, num_inputs=self.num_inputs, train_share=self.train_share)


NETWORKS = {
    "both": Network(operators="both"),
    "and": Network(operators="and"),
    "or": Network(operators="or"),
    "both_of_five": Network(operators="both", num_inputs=5, train_share=0.5),
    "and_of_five": Network(operators="and", num_inputs=5, train_share=0.5),
}
ROWS = tuple(
    (operators, units)
    for units in ("1", "2", "4", "8", "16")
    for operators in (NETWORKS if units == "8" else ("both", "and"))
)

SCALES = {
    "smoke": Size(seeds=2, steps=100, streams="shared"),
    "laptop": Size(seeds=25, steps=5_000, streams="shared"),
    "paper": Size(seeds=100, steps=5_000, streams="shared"),
}


@register(
    "experiment",
    key="reimann2019.nlrl_boolean",
    name="Boolean functions",
    references=("reimann2019", "mistry2022"),
    source="mistry2022, sections 4.5 and 7.1",
    scales={name: asdict(size) for name, size in SCALES.items()},
    rows=[f"{operators}:{units}" for operators, units in ROWS],
    columns=list(FUNCTIONS),
)
def nlrl_boolean(options: RunOptions) -> Experiment:
    """Train two layers of NLRL on functions of two truth values.

    Args:
        options: Scale, seeds, rows and streams; there is one range.
    """
    options.refuse_ranges("reimann2019.nlrl_boolean")
    size = SCALES[options.scale]
    streams = options.streams or size.streams
    seeds = tuple(range(options.seeds or size.seeds))
    return Experiment(
        name="reimann2019.nlrl_boolean",
        data_edition=2,
        title="Boolean functions by NLRL (Reimann and Schwung, 2019; Mistry et al., 2022, "
        "section 7.1)",
        settings={"steps": size.steps, "streams": streams, "dtype": "float32"},
        lots=tuple(
            make_lot(operators, units, seeds, size.steps, streams)
            for operators, units in choose_rows(options.only, ROWS)
        ),
        layout=Layout(
            rows=("operators", "units"),
            column="function",
            row_order=ROWS,
            column_order=tuple(FUNCTIONS),
        ),
        claims=CLAIMS,
        departures=DEPARTURES,
        row_units=dict.fromkeys(NETWORKS, "nlrl"),
    )


def make_lot(
    operators: str, units: str, seeds: tuple[int, ...], steps: int, streams: Streams
) -> Lot:
    """Stack the functions of one network."""
    network = NETWORKS[operators]
    batch_size = network.task("and").num_rows
    plan = TrainingPlan(steps=steps, batch_size=batch_size, evaluate_every=25)

    def build(generator: torch.Generator) -> nn.Module:
        return ArithmeticStack(
            network.num_inputs, 1,
            units=("nlrl", "nlrl"), hidden_features=int(units), options=network.options,
            generator=generator,
        )  # fmt: skip

    variants = tuple(
        Variant(
            labels={"operators": operators, "units": units, "function": function},
            stream=("function",),
            task=network.task(function),
            learning_rate=Constant(1e-2),
            config={
                "function": function,
                "units": int(units),
                "network": asdict(network),
                "learning_rate": 1e-2,
                "plan": asdict(plan),
                "streams": streams,
            },
        )
        for function in FUNCTIONS
    )
    return Lot(
        name=f"{operators}.{units}",
        build=build,
        variants=variants,
        seeds=seeds,
        plan=plan,
        streams=streams,
    )
