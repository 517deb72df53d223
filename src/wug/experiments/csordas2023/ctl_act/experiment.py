"""Can columns that halt replace columns that wait (table D.2, figure D.1)?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wug.core.registry import register
from wug.experiments.csordas2023 import laptop
from wug.experiments.csordas2023.ctl_act.claims import CLAIMS, PONDERING
from wug.experiments.csordas2023.ctl_act.published import (
    MODELS,
    STEPS,
    load_published,
    published_cells,
)
from wug.experiments.csordas2023.ctl_settings import (
    AS_PUBLISHED,
    DROPOUT,
    ORDERS,
    SETTINGS,
    SHORTER,
    task,
)
from wug.experiments.csordas2023.networks import (
    DEVIATIONS,
    EMBEDDINGS,
    FLOAT32,
    LAPTOP,
    NETWORKS,
    Network,
    Setting,
    variant,
)
from wug.experiments.csordas2023.table import NetworkTable, Training
from wug.records import Record, where
from wug.stats.measures import MEASURES, lookup
from wug.stats.runs import estimate
from wug.study.claims import Cell, Key
from wug.study.experiment import Experiment, Layout, RunOptions, Scale

NAME = "csordas2023.ctl_act"
# Of the mean remainder in the loss.
HALTING_WEIGHT = 0.03
NUM_LAYERS = 14
DEPARTURES = (
    AS_PUBLISHED,
    SHORTER + " With adaptive computation time the published lengths are those of the text.",
    DROPOUT,
    "The halting unit reads the state before a step, and padding counts in the mean remainder, as "
    "published; by its equations it reads the state after the step.",
    "The geometric transformers without a gate have normalised weights, as published.",
    "What is after half of the steps is of trainings of their own, which end there.",
    "Figure D.1 gives a claim and no numbers.",
    EMBEDDINGS,
    FLOAT32,
    DEVIATIONS,
    LAPTOP,
)


def network_of(row: str) -> Network:
    """Return the network of a row: with adaptive computation time if its name ends so."""
    base, _, halting = row.rpartition("_")
    if halting not in ("graves", "universal"):
        return NETWORKS[row]
    return variant(base, halting=halting, halting_reads="before", count_padding=True)


def setting_of(scale: Scale, network: Network, steps: str) -> Setting:
    """Return the setting of a row: deeper and, to the end, for twice the steps with halting."""
    setting = SETTINGS[scale][network.family]
    if "halting" not in network.options:
        return setting
    if scale != "smoke":
        setting = setting.changed(num_layers=NUM_LAYERS)
    if steps == "end":
        setting = setting.lasting(2 * setting.plan.steps)
    return setting.trained(halting_weight=HALTING_WEIGHT)


def trainings(scale: Scale) -> list[Training]:
    """Return all cells of the table at a scale."""
    return [
        Training(
            labels={"model": row, "order": order, "steps": steps},
            network=network,
            setting=setting_of(scale, network, steps),
            task=task(scale, network, order),
        )
        for row, network in ((row, network_of(row)) for row in MODELS)
        for order in ORDERS
        for steps in STEPS
        if steps == "early" or "halting" in network.options
    ]


TABLE = NetworkTable(name=NAME, trainings=trainings, usual={"model": laptop.ACT_ROWS})


def pondering(records: Sequence[Record]) -> Mapping[Key, Cell]:
    """Return how many steps the columns of problems of each length run for, as cells."""
    by_length: dict[str, list[float]] = {}
    for run in where(records, model=PONDERING, order="forward", steps="end"):
        measured: Any = lookup(run.outcome, "groups.selected") or {}
        for split in measured.values():
            for length, steps in split.get("halting_steps", {}).items():
                by_length.setdefault(length, []).append(steps)
    halting = MEASURES["halting_steps"]
    return {
        (PONDERING, "length", length): Cell(
            None, len(steps), {halting.name: estimate(halting, steps)}
        )
        for length, steps in by_length.items()
    }


@register(
    "experiment",
    key=NAME,
    name="Adaptive computation time",
    references=("csordas2023", "graves2016act", "dehghani2019"),
    source="table D.2 and figure D.1",
    scales=TABLE.scales,
    rows=TABLE.rows,
    columns=list(STEPS),
)
def ctl_act(options: RunOptions) -> Experiment:
    """Train transformers whose columns halt, and gated ones, on compositional table lookup.

    Args:
        options: Scale, seeds and rows.
    """
    return TABLE.experiment(
        options,
        title="Adaptive computation time on table lookup (Csordás, 2023, table D.2)",
        layout=Layout(
            rows=("model", "order"),
            column="steps",
            row_order=tuple((row, order) for order in ORDERS for row in MODELS),
            column_order=tuple(STEPS),
            measure="accuracy",
        ),
        published=[cell.to_json() for cell in published_cells()],
        published_table=load_published(),
        claims=CLAIMS,
        departures=DEPARTURES,
        cells=pondering,
    )
