"""From which means should an iNALU's parameters start?

The primer (section 5.4) reports a grid search: means of 0 for the gate, -1 for M_hat and 1 for
W_hat are the most stable, and division stays unstable even so. There are no numbers. The cells:
(means, operation), e.g. ("0 -1 1", "mul").

References:
    mistry2022, schlor2020
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import torch
from torch import nn

from wug.experiments.schlor2020._training import (
    DEPARTURES,
    DEVIATION,
    SHARED_INPUTS,
    UNITS,
    Network,
    by_name,
    scales,
    training,
)
from wug.functional.initialise import fill_normal
from wug.study.claims import Claim, Entry, Table
from wug.study.judgements import all_of, negate
from wug.study.paper_table import PaperTable
from wug.study.predicates import better, full_success
from wug.study.trainings import Run, Training
from wug.tasks.extrapolation.distribution_shift import OPERATIONS, DistributionShift
from wug.training.plan import Build

# Gate, M_hat and W_hat.
MEANS = {" ".join(map(str, means)): means for means in product((0, -1, 1), repeat=3)}
CHOSEN = "0 -1 1"
FEWER = (CHOSEN, "0 0 0", "0 1 1", "0 1 -1", "0 -1 -1", "1 -1 1", "-1 -1 1")
SOURCE = "mistry2022, section 5.4"


def _all_operations(table: Table, means: str) -> Entry:
    return table.pooled(f"means {means}", product([means], OPERATIONS))


CLAIMS = (
    Claim(
        "zero_minus_one_one_is_most_stable",
        "From no other means that were tried does iNALU succeed more often, over all operations.",
        SOURCE,
        lambda t: all_of(
            negate(better(_all_operations(t, means), _all_operations(t, CHOSEN)))
            for means in (FEWER if _all_operations(t, "1 1 1").cell is None else MEANS)
            if means != CHOSEN
        ),
    ),
    Claim(
        "division_stays_unstable",
        "From these means, too, some divisions fail.",
        SOURCE,
        lambda t: negate(full_success(t.at(CHOSEN, "div"))),
    ),
)


def started_at(means: tuple[int, ...]) -> Build:
    """Return what builds an iNALU whose parameters start around some means."""
    by_start = dict(zip(("gate", "m_hat", "w_hat"), map(float, means), strict=True))

    def build(generator: torch.Generator) -> nn.Module:
        network = Network(2, 1, units=["inalu"], options=[UNITS["inalu"]], generator=generator)
        for name, parameter in network.named_parameters():
            fill_normal(parameter, by_name(by_start, name), DEVIATION, generator)
        return network

    return build


@PaperTable(
    name="iNALU's initial means",
    title="Initial means of iNALU (Schlör et al., 2020, influence of initialisation)",
    references=("schlor2020", "mistry2022"),
    source="mistry2022, section 5.4",
    labels=("means", "operation"),
    rows=MEANS,
    columns=OPERATIONS,
    stream=("operation",),
    usual={"smoke": {"means": (CHOSEN,)}, "laptop": {"means": FEWER}},
    scales=scales(laptop_seeds=10),
    claims=CLAIMS,
    departures=(
        "The grid is not given: each mean is -1, 0 or 1, inputs are two numbers from U(-1,1) in "
        "training and from U(-10,-5) in the test. Most stable is read as most successes over all "
        "operations.",
        "Below paper scale there are seven of the 27 means.",
        SHARED_INPUTS,
        *DEPARTURES,
    ),
    row_units=dict.fromkeys(MEANS, "inalu"),
)
def initialisation(run: Run, means: str, operation: str) -> Training:
    """Train iNALUs that start around 27 triples of means."""
    task = DistributionShift(operation=operation, train="U(-1,1)", test="U(-10,-5)", num_inputs=2)
    made = training(run, f"inalu.{means.replace(' ', '_')}", "inalu", task)
    config = {**made.config, "means": list(MEANS[means])}
    return replace(made, build=started_at(MEANS[means]), config=config)
