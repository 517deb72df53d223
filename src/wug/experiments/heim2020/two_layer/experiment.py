"""Six networks with a hundred hidden units on five operations of a hundred inputs.

The set-up that mistry2022 (table 2) compares with those of madsen2020 and schlor2020. The settings
are those of the authors' scripts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from wug.core.registry import register
from wug.core.schedules import After, Constant, Growth, Schedule
from wug.experiments.heim2020.two_layer.claims import CLAIMS, MODELS, summary_cells
from wug.functional.initialise import fill_uniform
from wug.models.arithmetic_stack import ArithmeticStack
from wug.study.experiment import Experiment, Layout, RunOptions, Size, choose_rows
from wug.tasks.extrapolation.large_scale_arithmetic import OPERATIONS, LargeScaleArithmetic
from wug.training.plan import Build, Lot, Streams, TrainingPlan, Variant

NUM_INPUTS = NUM_HIDDEN = 100
# Parameters above this count as not zero.
CUT = 1e-3
# Operation -> start and limit of the penalty's weight, which grows tenfold in each tenth of the
# training.
BETAS = {
    "add": (1e-5, 1e-4),
    "sub": (1e-5, 1e-4),
    "mul": (1e-5, 1e-4),
    "inverse": (1e-9, 1e-7),
    "sqrt": (1e-6, 1e-4),
}
DEPARTURES = (
    "Training has 100,000 iterations, as in the authors' scripts, for every network (they stop NMU "
    "after 10,000 to 20,000); mistry2022 (table 2) reports 50,000.",
    "All runs count; for products the authors kept the best 10 of 20 by their test errors.",
    "RMSProp has torch's smoothing constant of 0.99; Flux's is 0.9.",
    "A run is judged where its validation error is lowest; the authors judge its end.",
    "iNALU's gate does not see the input; that of the authors' implementation does.",
    "iNALU's penalty has a weight of 0.1 in the second half of the training: for the weights of "
    "its first layer that is the sum with a weight of 1e-5 that the authors use.",
    "Subtraction has the settings of addition but for its learning rate; the scripts lack it.",
    "At laptop scale training is ten times shorter, and so are the schedules of the penalty.",
    "Below paper scale iNALU is trained only if --only names it: with a hundred hidden units the "
    "signs of its products cost fifty times a step of NPU.",
)


class Lasso(ArithmeticStack):
    """Units on top of each other, of which every parameter is pulled to 0."""

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Sum of magnitudes of all parameters."""
        return torch.stack([theta.abs().sum() for theta in params.values()]).sum()


@dataclass(frozen=True, kw_only=True)
class Model:
    """A network of the paper.

    Args:
        units: Its units from the input to the output.
        options: Their keyword arguments.
        drawn: Layers whose parameters all start from U(0, 0.1); power units know how to start.
        stack: Its class, which decides the penalty.
    """

    units: tuple[str, str]
    options: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {})
    drawn: tuple[int, ...] = (0, 1)
    stack: type[ArithmeticStack] = Lasso

    @property
    def builder(self) -> Build:
        """Return what makes the network with initial weights from a generator."""

        def build(generator: torch.Generator) -> nn.Module:
            network = self.stack(
                NUM_INPUTS, 1,
                units=self.units, options=self.options, hidden_features=NUM_HIDDEN,
                generator=generator,
            )  # fmt: skip
            for place in self.drawn:
                for parameter in network.layers[place].parameters():
                    fill_uniform(parameter, 0.0, 0.1, generator)
            return network

        return build


def power_network(unit: str, **options: Any) -> Model:
    """Return a power unit on a NAU that is not clamped."""
    return Model(
        units=("nau", unit), options=({"clamp": "none"}, {"recipe": "paper", **options}), drawn=(0,)
    )


NETWORKS = {
    "npu": power_network("npu"),
    "real_npu": power_network("real_npu"),
    "naive_npu": power_network("npu", relevance_gate=False),
    "nmu": Model(units=("nau", "nmu"), options=({"clamp": "none"}, {"clamp": "forward"})),
    "nalu": Model(units=("nalu", "nalu"), options=({"gate_bias": True}, {"gate_bias": True})),
    "inalu": Model(units=("inalu", "inalu"), stack=ArithmeticStack),
}
ROWS = tuple((model, operation) for model in MODELS for operation in OPERATIONS)
AFFORDABLE = tuple(model for model in MODELS if model != "inalu")
SCALES = {
    "smoke": Size(seeds=1, steps=20, streams="shared"),
    "laptop": Size(seeds=3, steps=10_000, streams="shared"),
    "paper": Size(seeds=10, steps=100_000, streams="shared"),
}


@register(
    "experiment",
    key="heim2020.two_layer",
    name="Large Scale Arithmetic",
    references=("heim2020", "mistry2022"),
    source="the Large Scale Arithmetic task, as told in mistry2022, section 6.2 and table 2",
    scales={name: asdict(size) for name, size in SCALES.items()},
    rows=[f"{model}:{operation}" for model, operation in ROWS],
    columns=list(OPERATIONS),
)
def two_layer(options: RunOptions) -> Experiment:
    """Train six networks on sums, differences, products, reciprocals and roots of sums.

    Args:
        options: Scale, seeds, rows and streams; each operation has one range.
    """
    options.refuse_ranges("heim2020.two_layer")
    size = SCALES[options.scale]
    streams = options.streams or size.streams
    seeds = tuple(range(options.seeds or size.seeds))
    plan = TrainingPlan(
        steps=size.steps, optimiser="rmsprop", evaluate_every=max(size.steps // 100, 10)
    )
    affordable = () if options.scale == "paper" else AFFORDABLE
    chosen = choose_rows(options.only or affordable, ROWS)
    return Experiment(
        name="heim2020.two_layer",
        data_edition=2,
        title="Large Scale Arithmetic (Heim et al., 2020)",
        settings={"steps": size.steps, "streams": streams, "dtype": "float32"},
        lots=tuple(
            make_lot(model, [op for other, op in chosen if other == model], seeds, plan, streams)
            for model in dict.fromkeys(model for model, _ in chosen)
        ),
        layout=Layout(
            rows=("model",),
            column="operation",
            row_order=tuple((model,) for model in MODELS),
            column_order=OPERATIONS,
            measure="error",
        ),
        claims=CLAIMS,
        cells=summary_cells,
        departures=DEPARTURES,
        row_units={"naive_npu": "npu"},
    )


def make_lot(
    name: str, operations: list[str], seeds: tuple[int, ...], plan: TrainingPlan, streams: Streams
) -> Lot:
    """Stack the operations of one network."""
    network = NETWORKS[name]
    variants = []
    for operation in operations:
        rate = 1e-2 if operation == "add" else 5e-3
        penalty: Schedule = Growth(*BETAS[operation], 10.0, plan.steps // 10)
        if name == "inalu":
            penalty = After(0.1, plan.steps // 2)
        variants.append(
            Variant(
                labels={"model": name, "operation": operation},
                stream=("operation",),
                task=LargeScaleArithmetic(operation=operation, num_inputs=NUM_INPUTS),
                learning_rate=Constant(rate),
                penalty=penalty,
                config={
                    "model": name,
                    "operation": operation,
                    "units": list(network.units),
                    "options": [dict(each) for each in network.options],
                    "hidden_features": NUM_HIDDEN,
                    "learning_rate": rate,
                    "penalty": repr(penalty),
                    "plan": asdict(plan),
                    "streams": streams,
                },
            )
        )
    return Lot(
        name=name,
        build=network.builder,
        variants=tuple(variants),
        seeds=seeds,
        plan=plan,
        streams=streams,
        observe=count_parameters,
    )


def count_parameters(module: nn.Module, params: dict[str, Tensor], x: Tensor) -> dict[str, Tensor]:
    """Count the parameters that are not zero."""
    counts = [(theta.abs() > CUT).sum() for theta in params.values()]
    return {"nonzero": torch.stack(counts).sum()}
