"""Which comparisons does an NSR learn, how far do they hold, and what do its two settings do?

The primer reports findings and no numbers (mistry2022, sections 4.6 and 7.2), as does the abstract
of faber2020; the settings are those of the authors' code. The cells: (unit, relation, numbers).

References:
    faber2020, mistry2022
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from wug.models.arithmetic_stack import ArithmeticStack
from wug.study.claims import Claim, Table
from wug.study.experiment import Size
from wug.study.judgements import Judgement, all_of
from wug.study.paper_table import PaperTable
from wug.study.predicates import better, lower_error, most_succeed
from wug.study.trainings import Run, Training, primer_plan
from wug.tasks.extrapolation.comparison import Comparison
from wug.units.mlp import MLP
from wug.units.nsr import NSR

ORDERS = ("lt", "gt", "le", "ge")
EQUALITIES = ("eq", "ne")
RELATIONS = (*ORDERS, *EQUALITIES)
BASELINES = ("mlp", "nalu")
# The relations of the study of scales.
SWEPT = ("gt", "eq")
FINDINGS = "mistry2022, section 7.2"
ARCHITECTURE = "mistry2022, section 4.6"


def _learnt(table: Table, numbers: str) -> Judgement:
    return all_of(most_succeed(table.at("nsr", relation, numbers)) for relation in RELATIONS)


def _equality_is_harder(table: Table) -> Judgement:
    orders = table.pooled("nsr orders", [("nsr", relation, "integers") for relation in ORDERS])
    return all_of(better(orders, table.at("nsr", relation, "integers")) for relation in EQUALITIES)


def _redundancy_helps(table: Table) -> Judgement:
    return all_of(
        lower_error(
            table.at("nsr", relation, "integers"),
            table.at("nsr_redundancy_1", relation, "integers"),
        )
        for relation in EQUALITIES
    )


def _scale_is_inverse(table: Table) -> Judgement:
    small, large = "nsr_scale_0.001", "nsr_scale_1000"
    return all_of(
        lower_error(table.at(fits, relation, numbers), table.at(other, relation, numbers))
        for relation in SWEPT
        for fits, other, numbers in (
            (large, small, "step 0.001"),
            (small, large, "step 1000"),
        )
    )


def _beats_baselines(table: Table) -> Judgement:
    return all_of(
        lower_error(table.at("nsr", relation, "integers"), table.at(unit, relation, "integers"))
        for relation in RELATIONS
        for unit in BASELINES
    )


CLAIMS = (
    Claim(
        "compares_integers",
        "NSR learns each comparison of integers and extrapolates (half of the runs or more).",
        FINDINGS,
        lambda table: _learnt(table, "integers"),
    ),
    Claim(
        "compares_real_numbers",
        "NSR learns each comparison of real numbers and extrapolates (half of the runs or more).",
        FINDINGS,
        lambda table: _learnt(table, "reals"),
    ),
    Claim(
        "equality_is_hard",
        "NSR solves = and != less often than the four orders.",
        FINDINGS,
        _equality_is_harder,
    ),
    Claim(
        "redundancy_helps_equality",
        "NSR's error on = and != is lower with redundancy 10 than with 1.",
        FINDINGS,
        _redundancy_helps,
    ),
    Claim(
        "scale_is_inverse_to_differences",
        "Of the scales 0.001 and 1000, the one that is the inverse of the numbers' distance has "
        "the lower error.",
        ARCHITECTURE,
        _scale_is_inverse,
    ),
    Claim(
        "extrapolates_by_orders_of_magnitude",
        "NSR's orders, learnt on digits, hold for numbers around 10^8 to 10^14 (half of the runs "
        "or more).",
        "faber2020, abstract",
        lambda table: all_of(most_succeed(table.at("nsr", r, "10^14")) for r in ORDERS),
    ),
    Claim(
        "beats_perceptron_and_nalu",
        "NSR's error is lower than that of a perceptron and of NALU, on each comparison.",
        "faber2020, abstract of the version of 2023",
        _beats_baselines,
    ),
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
FEWER = ("nsr", *BASELINES, "nsr_redundancy_1", "nsr_scale_0.001", "nsr_scale_1000")


@PaperTable(
    name="Number comparison",
    title="Number comparison by NSR (Faber and Wattenhofer, 2020; Mistry et al., 2022, "
    "section 7.2)",
    references=("faber2020", "mistry2022"),
    source="mistry2022, sections 4.6 and 7.2",
    labels=("unit", "relation", "numbers"),
    rows=ROWS,
    columns=NUMBERS,
    stream=("relation", "numbers"),
    usual={"smoke": {"unit": ("nsr",)}, "laptop": {"unit": FEWER}},
    scales={
        "smoke": Size(seeds=2, steps=100, streams="independent"),
        "laptop": Size(seeds=5, steps=50_000, streams="independent"),
        "paper": Size(seeds=10, steps=50_000, streams="independent"),
    },
    settings=lambda run: {"dtype": "float64"},
    claims=CLAIMS,
    departures=(
        "Redundancies are 1, 2, 3, 5, 10 and 15 of the study's 1 to 15, distances of neighbouring "
        "numbers 0.001, 1 and 1000 of its nine from 0.001 to 100,000.",
        "The authors' NALU adds a sigmoid and a tanh and has no product; here it is NALU, below "
        "the same linear layer and sigmoid.",
        "Labels are those of the numbers that are shown, with each relation as it is written; the "
        "authors' code multiplies the first number by 10,000 and codes >= as >.",
        "The evaluation with the lowest error on pairs of digits counts; the authors take the "
        "last.",
        "The tests of 10^8 to 10^14 and of 10^12 to 10^18 are of trainings of their own.",
        "What counts as solved is ours: a mean absolute error below 0.005, which the authors' "
        "tables would print as 0.00.",
    ),
    row_units={unit: "nsr" for unit, network in NETWORKS.items() if network.make is NSR},
    measure="error",
)
def nsr_comparisons(run: Run, unit: str, relation: str, numbers: str) -> Training | None:
    """Train NSRs of several settings, a perceptron and NALU to compare two digits."""
    network = NETWORKS[unit]
    if numbers not in network.numbers:
        return None
    # Orders, and equalities, learn from the same table of pairs.
    task = Comparison(relation=relation, **NUMBERS[numbers])
    return Training(
        lot=f"{unit}.{'equality' if relation in EQUALITIES else 'order'}",
        build=network.build,
        task=task,
        plan=primer_plan(steps=run.steps, batch_size=task.num_rows, evaluate_every=2_500),
        config={"network": dict(network.options), "numbers": NUMBERS[numbers]},
    )
