"""Two layers of NALU or iNALU on sums of random subsets of a hundred inputs (experiment 5).

The set-up that mistry2022 (table 2) compares with those of madsen2020 and heim2020.
"""

from __future__ import annotations

from dataclasses import asdict

from wug.core.registry import register
from wug.experiments.schlor2020.training import (
    DEPARTURES,
    ROWS,
    SHARED_INPUTS,
    Training,
    choose_columns,
)
from wug.experiments.schlor2020.two_layer.claims import CLAIMS, DISTRIBUTIONS, restarted_cells
from wug.study.experiment import Experiment, Layout, RunOptions, Size, choose_rows
from wug.tasks.extrapolation.distribution_shift import DistributionShift

SCALES = {
    "smoke": Size(seeds=2, steps=500, streams="shared"),
    "laptop": Size(seeds=5, steps=20_000, streams="shared"),
    "paper": Size(seeds=10, steps=100_000, streams="shared"),
}
NUM_INPUTS = 100


@register(
    "experiment",
    key="schlor2020.two_layer",
    name="Simple Function Learning Task",
    references=("schlor2020", "mistry2022"),
    source="experiment 5, as told in mistry2022, section 6.2 and table 2",
    scales={name: asdict(size) for name, size in SCALES.items()},
    rows=[f"{unit}:{operation}" for unit, operation in ROWS],
    columns=list(DISTRIBUTIONS),
)
def two_layer(options: RunOptions) -> Experiment:
    """Train two layers of NALU and of iNALU on four operations of two sums.

    Args:
        options: Scale, seeds, rows and streams; ranges name training distributions.
    """
    training = Training.choose(options, SCALES)
    chosen = choose_rows(options.only, ROWS)
    columns = choose_columns(options.ranges, DISTRIBUTIONS)
    lots = []
    for unit in dict.fromkeys(unit for unit, _ in chosen):
        cases = [
            (
                {"unit": unit, "operation": operation, "train": name},
                DistributionShift(
                    operation=operation,
                    train=name,
                    test=DISTRIBUTIONS[name],
                    num_inputs=NUM_INPUTS,
                    operands="subsets",
                ),
            )
            for other, operation in chosen
            if other == unit
            for name in columns
        ]
        lots.append(training.lot(unit, unit, cases, num_layers=2))
    return Experiment(
        name="schlor2020.two_layer",
        title="Simple Function Learning Task (Schlör et al., 2020, experiment 5)",
        settings=training.settings,
        lots=tuple(lots),
        layout=Layout(
            rows=("unit", "operation"),
            column="train",
            row_order=ROWS,
            column_order=tuple(DISTRIBUTIONS),
        ),
        claims=CLAIMS,
        cells=restarted_cells,
        departures=(
            "Uniform numbers are tested on U(-5,-3), as in the authors' code; mistry2022 (table 2) "
            "prints U[-5,-5].",
            "The subsets are drawn per seed with shares of 1/2 and 1/4, as in the code; mistry2022 "
            "(table 2) reports a third each.",
            SHARED_INPUTS,
            *DEPARTURES,
        ),
    )
