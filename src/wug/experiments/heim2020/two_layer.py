"""Six networks with a hundred hidden units on five operations of a hundred inputs.

The set-up that mistry2022 (table 2) compares with those of madsen2020 and schlor2020. The settings
are those of the authors' scripts. There are no numbers in the text, so there are claims only, those
of mistry2022 (section 6.4).

The claims' cells: (model, operation, measure). The measures are heim2020's: the median of the test
errors, their spread (median absolute deviation) and the median number of parameters that are not
zero, each with a bootstrap interval.

References:
    mistry2022, heim2020
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
import torch
from scipy.stats import median_abs_deviation
from torch import Tensor, nn

from wug.core.schedules import After, Constant, Growth, Schedule
from wug.functional.initialise import fill_uniform
from wug.models.arithmetic_stack import ArithmeticStack
from wug.records import Json, Record, group_by
from wug.stats.measures import lookup
from wug.stats.summary import bootstrap
from wug.study.claims import Cell, Claim, Key, Table
from wug.study.experiment import Size
from wug.study.judgements import Judgement, all_of, negate
from wug.study.paper_table import PaperTable, below_paper
from wug.study.predicates import lower_error
from wug.study.trainings import Run, Training, primer_plan
from wug.tasks.extrapolation.large_scale_arithmetic import OPERATIONS, LargeScaleArithmetic
from wug.training.optimisers import RMSprop

# Our key -> the network.
MODELS = {
    "npu": "NAU, NPU",
    "real_npu": "NAU, RealNPU",
    "naive_npu": "NAU, NaiveNPU",
    "nmu": "NAU, NMU",
    "nalu": "NALU, NALU",
    "inalu": "iNALU, iNALU",
}
SUMS = ("add", "sub")
# An error is similar to another within an order of magnitude.
SIMILAR = 10.0
# What a diverged run counts as: more than any other error.
DIVERGED = 1e30
SOURCE = "mistry2022, section 6.4"


def summary_cells(records: Sequence[Record]) -> dict[Key, Cell]:
    """Return median and spread of the errors, and the median number of parameters."""
    measures: dict[str, tuple[str, Callable[..., Any]]] = {
        "median": ("selected.test.error", np.median),
        "spread": ("selected.test.error", median_abs_deviation),
        "nonzero": ("observed.nonzero", np.median),
    }
    cells = {}
    for key, runs in group_by(records, "model", "operation").items():
        for measure, (name, statistic) in measures.items():
            values = [_number(lookup(run.outcome, name)) for run in runs]
            estimate = bootstrap(
                values, statistic, rng=np.random.default_rng(0), method="percentile"
            )
            cells[(*map(str, key), measure)] = Cell(None, len(runs), {"error": estimate})
    return cells


def _number(value: Json) -> float:
    return float(value) if isinstance(value, float | int) and isfinite(value) else DIVERGED


def _lower(
    table: Table, measure: str, first: str, second: str, operations: Iterable[str]
) -> Judgement:
    return all_of(
        lower_error(table.at(first, operation, measure), table.at(second, operation, measure))
        for operation in operations
    )


def _similar(table: Table, first: str, second: str, operation: str) -> Judgement:
    a, b = (table.at(model, operation, "median") for model in (first, second))
    return all_of(negate(lower_error(*pair, factor=1 / SIMILAR)) for pair in ((a, b), (b, a)))


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "nmu_outperforms_inalu",
        "NAU and NMU have a smaller error than iNALU on +, − and ×.",
        SOURCE,
        lambda t: _lower(t, "median", "nmu", "inalu", (*SUMS, "mul")),
    ),
    Claim(
        "npu_outperforms_inalu",
        "NAU and NPU have a smaller error than iNALU on × and 1/a.",
        SOURCE,
        lambda t: _lower(t, "median", "npu", "inalu", ("mul", "inverse")),
    ),
    Claim(
        "npu_adds_like_nmu",
        "On a NAU, NPU and NMU have errors within a factor of ten on + and −.",
        SOURCE,
        lambda t: all_of(_similar(t, "npu", "nmu", operation) for operation in SUMS),
    ),
    Claim(
        "nmu_multiplies_better_than_npu",
        "On a NAU, NMU has a smaller error than NPU on ×.",
        SOURCE,
        lambda t: _lower(t, "median", "nmu", "npu", ["mul"]),
    ),
    Claim(
        "npu_is_more_consistent",
        "On ×, the errors of NPU spread less over the runs than those of NMU.",
        SOURCE,
        lambda t: _lower(t, "spread", "npu", "nmu", ["mul"]),
    ),
    Claim(
        "nmu_is_the_sparsest_in_sums",
        "On + and −, NAU and NMU end with fewer parameters that are not zero than any other "
        "network.",
        SOURCE,
        lambda t: all_of(
            _lower(t, "nonzero", "nmu", other, SUMS) for other in MODELS if other != "nmu"
        ),
    ),
    Claim(
        "the_gate_makes_sparse",
        "Without its relevance gate, NPU ends with more parameters that are not zero, on each of "
        "+, ×, 1/a and √a.",
        f"{SOURCE} (heim2020, figure 7)",
        lambda t: _lower(t, "nonzero", "npu", "naive_npu", ("add", "mul", "inverse", "sqrt")),
    ),
    Claim(
        "division_is_no_better_with_inalu",
        "iNALU and NALU have errors within a factor of ten on 1/a.",
        SOURCE,
        lambda t: _similar(t, "inalu", "nalu", "inverse"),
    ),
)

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


class Lasso(ArithmeticStack):
    """Units on top of each other, of which every parameter is pulled to 0."""

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Sum of magnitudes of all parameters."""
        return torch.stack([theta.abs().sum() for theta in params.values()]).sum()


@dataclass(frozen=True, kw_only=True)
class Network:
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

    def build(self, generator: torch.Generator) -> nn.Module:
        """Return the network with initial weights from a generator."""
        network = self.stack(
            NUM_INPUTS, 1,
            units=self.units, options=self.options, hidden_features=NUM_HIDDEN,
            generator=generator,
        )  # fmt: skip
        for index in self.drawn:
            for parameter in network.layers[index].parameters():
                fill_uniform(parameter, 0.0, 0.1, generator)
        return network


def power_network(unit: str, **options: Any) -> Network:
    """Return a power unit on a NAU that is not clamped."""
    return Network(
        units=("nau", unit), options=({"clamp": "none"}, {"recipe": "paper", **options}), drawn=(0,)
    )


NETWORKS = {
    "npu": power_network("npu"),
    "real_npu": power_network("real_npu"),
    "naive_npu": power_network("npu", relevance_gate=False),
    "nmu": Network(units=("nau", "nmu"), options=({"clamp": "none"}, {"clamp": "forward"})),
    "nalu": Network(units=("nalu", "nalu"), options=({"gate_bias": True}, {"gate_bias": True})),
    "inalu": Network(units=("inalu", "inalu"), stack=ArithmeticStack),
}


def count_parameters(network: nn.Module, task: LargeScaleArithmetic) -> dict[str, float]:
    """Count the parameters that are not zero."""
    return {"nonzero": sum(int((theta.abs() > CUT).sum()) for theta in network.parameters())}


@PaperTable(
    name="Large Scale Arithmetic",
    title="Large Scale Arithmetic (Heim et al., 2020)",
    references=("heim2020", "mistry2022"),
    source="the Large Scale Arithmetic task, as told in mistry2022, section 6.2 and table 2",
    labels=("model", "operation"),
    rows=MODELS,
    columns=OPERATIONS,
    stream=("operation",),
    usual=below_paper(model=[model for model in MODELS if model != "inalu"]),
    scales={
        "smoke": Size(seeds=1, steps=20),
        "laptop": Size(seeds=3, steps=10_000),
        "paper": Size(seeds=10, steps=100_000),
    },
    claims=CLAIMS,
    departures=(
        "Training has 100,000 iterations, as in the authors' scripts, for every network (they stop "
        "NMU after 10,000 to 20,000); mistry2022 (table 2) reports 50,000.",
        "All runs count; for products the authors kept the best 10 of 20 by their test errors.",
        "RMSProp has torch's smoothing constant of 0.99; Flux's is 0.9.",
        "A run is judged where its validation error is lowest; the authors judge its end.",
        "iNALU's gate does not see the input; that of the authors' implementation does.",
        "iNALU's penalty has a weight of 0.1 in the second half of the training: for the weights "
        "of its first layer that is the sum with a weight of 1e-5 that the authors use.",
        "Subtraction has the settings of addition but for its learning rate; the scripts lack it.",
        "At laptop scale training is ten times shorter, and so are the schedules of the penalty.",
        "Below paper scale iNALU is trained only if --only names it: with a hundred hidden units "
        "the signs of its products cost fifty times a step of NPU.",
    ),
    cells=summary_cells,
    row_units={"naive_npu": "npu"},
    measure="error",
    data_edition=2,
)
def two_layer(run: Run, model: str, operation: str) -> Training:
    """Train six networks on sums, differences, products, reciprocals and roots of sums."""
    network = NETWORKS[model]
    rate = 1e-2 if operation == "add" else 5e-3
    penalty: Schedule = Growth(*BETAS[operation], 10.0, run.steps // 10)
    if model == "inalu":
        penalty = After(0.1, run.steps // 2)
    return Training(
        lot=model,
        build=network.build,
        task=LargeScaleArithmetic(operation=operation, num_inputs=NUM_INPUTS),
        plan=primer_plan(
            steps=run.steps, optimiser=RMSprop(), evaluate_every=max(run.steps // 100, 10)
        ),
        learning_rate=Constant(rate),
        penalty=penalty,
        observe=count_parameters,
        config={
            "units": list(network.units),
            "options": [dict(each) for each in network.options],
            "hidden_features": NUM_HIDDEN,
        },
    )
