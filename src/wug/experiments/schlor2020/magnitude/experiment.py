"""NALU and iNALU on numbers from hundredths to thousands (experiment 2)."""

from __future__ import annotations

from dataclasses import asdict

from wug.core.registry import register
from wug.experiments.schlor2020.magnitude.claims import CLAIMS, MAGNITUDES
from wug.experiments.schlor2020.training import (
    DEPARTURES,
    ROWS,
    SHARED_INPUTS,
    Training,
    choose_columns,
)
from wug.study.experiment import Experiment, Layout, RunOptions, Size, choose_rows
from wug.tasks.extrapolation.distribution_shift import DistributionShift

SCALES = {
    "smoke": Size(seeds=2, steps=500, streams="shared"),
    "laptop": Size(seeds=10, steps=20_000, streams="shared"),
    "paper": Size(seeds=10, steps=100_000, streams="shared"),
}


@register(
    "experiment",
    key="schlor2020.magnitude",
    name="Input Magnitude",
    references=("schlor2020", "mistry2022"),
    source="experiment 2, as told in mistry2022, section 6.3",
    scales={name: asdict(size) for name, size in SCALES.items()},
    rows=[f"{unit}:{operation}" for unit, operation in ROWS],
    columns=list(MAGNITUDES),
)
def magnitude(options: RunOptions) -> Experiment:
    """Train NALU and iNALU on four operations and five magnitudes of two inputs.

    Args:
        options: Scale, seeds, rows and streams; ranges name magnitudes.
    """
    training = Training.choose(options, SCALES)
    chosen = choose_rows(options.only, ROWS)
    columns = choose_columns(options.ranges, MAGNITUDES)
    lots = tuple(
        training.lot(
            unit,
            unit,
            [
                ({"unit": unit, "operation": operation, "magnitude": name}, task(operation, name))
                for other, operation in chosen
                if other == unit
                for name in columns
            ],
        )
        for unit in dict.fromkeys(unit for unit, _ in chosen)
    )
    return Experiment(
        name="schlor2020.magnitude",
        title="Input Magnitude (Schlör et al., 2020, experiment 2)",
        settings=training.settings,
        lots=lots,
        layout=Layout(
            rows=("unit", "operation"),
            column="magnitude",
            row_order=ROWS,
            column_order=MAGNITUDES,
        ),
        claims=CLAIMS,
        departures=(
            "The magnitudes are ours, as neither mistry2022 nor the authors' repository has them: "
            "U(-m, m) in training and U(-2m, -m) in the test, of which experiment 1 has m = 5.",
            SHARED_INPUTS,
            *DEPARTURES,
        ),
    )


def task(operation: str, name: str) -> DistributionShift:
    """Return the task whose training numbers reach up to a magnitude."""
    size = float(name)
    return DistributionShift(
        operation=operation, train=f"U({-size},{size})", test=f"U({-2 * size},{-size})"
    )
