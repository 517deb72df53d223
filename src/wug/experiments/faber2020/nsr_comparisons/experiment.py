"""Which comparisons does an NSR learn, how far do they hold, and what do its two settings do?

The primer reports findings and no numbers; the settings are those of the authors' code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import nn

from wug.core.registry import register
from wug.experiments.faber2020.nsr_comparisons.claims import (
    BASELINES,
    CLAIMS,
    EQUALITIES,
    ORDERS,
    RELATIONS,
    SWEPT,
)
from wug.models.arithmetic_stack import ArithmeticStack
from wug.study.experiment import Experiment, Layout, RunOptions, Size, choose_rows
from wug.tasks.extrapolation.comparison import Comparison
from wug.training.plan import Lot, Streams, TrainingPlan, Variant
from wug.units.mlp import MLP
from wug.units.nsr import NSR

DEPARTURES = (
    "Redundancies are 1, 2, 3, 5, 10 and 15 of the study's 1 to 15, distances of neighbouring "
    "numbers 0.001, 1 and 1000 of its nine from 0.001 to 100,000.",
    "The authors' NALU adds a sigmoid and a tanh and has no product; here it is NALU, below the "
    "same linear layer and sigmoid.",
    "Labels are those of the numbers that are shown, with each relation as it is written; the "
    "authors' code multiplies the first number by 10,000 and codes >= as >.",
    "The evaluation with the lowest error on pairs of digits counts; the authors take the last.",
    "The tests of 10^8 to 10^14 and of 10^12 to 10^18 are of trainings of their own.",
    "What counts as solved is ours: a mean absolute error below 0.005, which the authors' tables "
    "would print as 0.00.",
)

# Column -> what differs in its task. All tests have seven orders of magnitude.
NUMBERS: dict[str, dict[str, Any]] = {
    "integers": {},
    "reals": {"real": True},
    "10^14": {"magnitudes": (8, 14)},
    "10^18": {"magnitudes": (12, 18)},
    "step 0.001": {"step": 0.001},
    "step 1000": {"step": 1000.0},
}
STEPS = ("integers", "step 0.001", "step 1000")


@dataclass(frozen=True, kw_only=True)
class Network:
    """What compares, and with what it is trained.

    Args:
        make: Its class.
        options: Its keyword arguments.
        relations: The comparisons.
        numbers: The columns.
    """

    make: Callable[..., nn.Module]
    options: Mapping[str, Any]
    relations: tuple[str, ...] = RELATIONS
    numbers: tuple[str, ...] = ("integers",)

    def build(self, generator: torch.Generator) -> nn.Module:
        """Return the network, with a sigmoid on top if its output is not a probability."""
        network = self.make(2, 1, generator=generator, dtype=torch.float64, **self.options)
        return network if self.make is NSR else nn.Sequential(network, nn.Sigmoid())


def nsr(redundancy: int = 10, scale: float = 1.0, **rest: Any) -> Network:
    """Return an NSR as the authors' code has it."""
    options = {"redundancy": redundancy, "scale": scale, "shift": "shared"}
    return Network(make=NSR, options=options, **rest)


NETWORKS = {
    "nsr": nsr(numbers=tuple(NUMBERS)),
    "mlp": Network(make=MLP, options={"hidden_features": 20, "activation": "sigmoid"}),
    "nalu": Network(
        make=ArithmeticStack, options={"units": ("nalu", "linear"), "hidden_features": 10}
    ),
    **{
        f"nsr_redundancy_{number}": nsr(redundancy=number, relations=EQUALITIES)
        for number in (1, 2, 3, 5, 15)
    },
    **{
        f"nsr_scale_{scale:g}": nsr(scale=scale, relations=SWEPT, numbers=STEPS)
        for scale in (1e-3, 1e-2, 1e-1, 1e1, 1e2, 1e3)
    },
}
ROWS = tuple(
    (unit, relation)
    for relation in RELATIONS
    for unit in NETWORKS
    if relation in NETWORKS[unit].relations
)
UNITS_AT = {
    "smoke": ("nsr",),
    "laptop": ("nsr", *BASELINES, "nsr_redundancy_1", "nsr_scale_0.001", "nsr_scale_1000"),
    "paper": tuple(NETWORKS),
}
SCALES = {
    "smoke": Size(seeds=2, steps=100, streams="independent"),
    "laptop": Size(seeds=5, steps=50_000, streams="independent"),
    "paper": Size(seeds=10, steps=50_000, streams="independent"),
}


@register(
    "experiment",
    key="faber2020.nsr_comparisons",
    name="Number comparison",
    references=("faber2020", "mistry2022"),
    source="mistry2022, sections 4.6 and 7.2",
    scales={name: asdict(size) for name, size in SCALES.items()},
    rows=[f"{unit}:{relation}" for unit, relation in ROWS],
    columns=list(NUMBERS),
)
def nsr_comparisons(options: RunOptions) -> Experiment:
    """Train NSRs of several settings, a perceptron and NALU to compare two digits.

    Args:
        options: Scale, seeds, rows and streams; the ranges belong to the columns.
    """
    options.refuse_ranges("faber2020.nsr_comparisons")
    size = SCALES[options.scale]
    streams = options.streams or size.streams
    seeds = tuple(range(options.seeds or size.seeds))
    chosen = choose_rows(options.only, ROWS)
    if not options.only:
        chosen = [row for row in ROWS if row[0] in UNITS_AT[options.scale]]
    families = [
        (unit, [r for other, r in chosen if other == unit and r in family])
        for unit in dict.fromkeys(unit for unit, _ in chosen)
        for family in (ORDERS, EQUALITIES)
    ]
    return Experiment(
        name="faber2020.nsr_comparisons",
        title="Number comparison by NSR (Faber and Wattenhofer, 2020; Mistry et al., 2022, "
        "section 7.2)",
        settings={"steps": size.steps, "streams": streams, "dtype": "float64"},
        lots=tuple(
            make_lot(unit, relations, seeds, size.steps, streams)
            for unit, relations in families
            if relations
        ),
        layout=Layout(
            rows=("unit", "relation"),
            column="numbers",
            row_order=ROWS,
            column_order=tuple(NUMBERS),
            measure="error",
        ),
        claims=CLAIMS,
        departures=DEPARTURES,
        row_units={unit: "nsr" for unit, network in NETWORKS.items() if network.make is NSR},
    )


def make_lot(
    unit: str, relations: list[str], seeds: tuple[int, ...], steps: int, streams: Streams
) -> Lot:
    """Stack comparisons that learn from the same table: the orders, or the equalities."""
    plan = TrainingPlan(
        steps=steps, batch_size=Comparison(relation=relations[0]).num_rows, evaluate_every=2_500
    )
    network = NETWORKS[unit]
    variants = tuple(
        Variant(
            labels={"unit": unit, "relation": relation, "numbers": numbers},
            stream=("relation", "numbers"),
            task=Comparison(relation=relation, **NUMBERS[numbers]),
            config={
                "unit": unit,
                "relation": relation,
                "network": dict(network.options),
                "numbers": NUMBERS[numbers],
                "plan": asdict(plan),
                "streams": streams,
            },
        )
        for relation in relations
        for numbers in network.numbers
    )
    return Lot(
        name=f"{unit}.{'equality' if relations[0] in EQUALITIES else 'order'}",
        build=network.build,
        variants=variants,
        seeds=seeds,
        plan=plan,
        streams=streams,
    )
