"""The catalog of a run: published numbers, claims with verdicts, and what the units are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from wug.core import index
from wug.core.registry import Entry
from wug.records import SMOKE, Record, group_by
from wug.sources.sequence_task import SequenceTask
from wug.stats.interval import Estimate
from wug.stats.measures import MEASURES, Measure, used_measures
from wug.stats.runs import RunSummary
from wug.study.claims import Cell, Key, Table
from wug.study.experiment import Experiment
from wug.study.judgements import Judgement
from wug.study.undecided import Never, why_undecided
from wug.training.plan import Registered

# What a series has of the trainings that succeed.
FURTHER = ("solved_at", "sparsity")


def measured_cell(outcomes: Sequence[Mapping[str, Any]], own: Iterable[Measure] = ()) -> Cell:
    """Return the cell of some runs, for claims.

    Args:
        outcomes: One per run, of schema 2.
        own: Measures of the experiment's own.
    """
    summary = RunSummary(outcomes, {**MEASURES, **{measure.name: measure for measure in own}})
    return Cell(summary.successes, summary.trials, summary)


def own_cells(experiment: Experiment, records: Sequence[Record]) -> dict[Key, Cell]:
    """Return the cells of the table itself, under the keys of the published one."""
    fields = (*experiment.layout.rows, experiment.layout.column)
    cells = {}
    for key, runs in group_by(records, *fields).items():
        outcomes = [run.outcome for run in runs]
        cells[tuple(map(str, key))] = measured_cell(outcomes, experiment.measures)
    return cells


def taken_as_printed(cells: Mapping[Key, Cell]) -> dict[Key, Cell]:
    """Return printed cells with numbers that are exact."""
    return {
        key: replace(cell, values={
            name: Estimate(*(number.value,) * 3, "exact", cell.trials)
            for name, number in cell.values.items()
        })
        for key, cell in cells.items()
    }  # fmt: skip


def measured_table(experiment: Experiment, records: Sequence[Record]) -> Table:
    """Return our own cells, for claims, with the further ones that these need.

    Those of stand-in data are not among them; printed ones that nobody trains are, as they are.
    """
    fields = (*experiment.layout.rows, experiment.layout.column)
    records = [
        record for record in records
        if tuple(str(record.key.get(name)) for name in fields) not in experiment.substituted
    ]  # fmt: skip
    further = {} if experiment.cells is None else experiment.cells(records)
    printed = taken_as_printed(experiment.reported)
    return Table({**own_cells(experiment, records), **further, **printed})


def as_json(judgement: Judgement) -> dict[str, Any]:
    """Return a judgement as plain data."""
    return {"verdict": judgement.verdict.value, "evidence": list(judgement.evidence)}


def tested_claims(experiment: Experiment) -> dict[str, str]:
    """Return what the tasks of each column test: the folder that they stand in."""
    claims = {}
    for lot in experiment.lots:
        for variant in lot.variants:
            folders = type(variant.task).__module__.split(".")
            column = str(variant.labels.get(experiment.layout.column, ""))
            claims[column] = folders[2] if folders[:2] == ["wug", "tasks"] else ""
    return claims


def written_problems(experiment: Experiment) -> dict[str, dict[str, Any]]:
    """Return for each column with problems of tokens how they are written and checked."""
    return {
        str(variant.labels.get(experiment.layout.column, "")): {
            "task": index.key_of("task", type(variant.task)),
            **variant.task.description(),
        }
        for lot in experiment.lots
        for variant in lot.variants
        if isinstance(variant.task, SequenceTask)
    }


def kinds_of_groups(experiment: Experiment) -> str:
    """Return what the groups of all its tasks are, where they are kinds and no sizes."""
    tasks = [variant.task for lot in experiment.lots for variant in lot.variants]
    found = {str(getattr(task, "kinds", "")) for task in tasks}
    return found.pop() if len(found) == 1 else ""


def row_units(experiment: Experiment) -> dict[str, str]:
    """Return the unit or model of each row that has another name than it."""
    first = experiment.layout.rows[0]
    models = {
        variant.labels[first]: lot.build.name
        for lot in experiment.lots
        for variant in lot.variants
        if isinstance(lot.build, Registered)
    }
    known = {entry.key for entry in registered_networks()}
    given = {**models, **experiment.row_units}
    # A class of a user's is none of ours, even where its row has the name of one.
    return {row: key for row, key in given.items() if key != row and {row, key} & known}


def registered_networks() -> list[Entry]:
    """Return all units and models."""
    return [*index.entries("unit"), *index.entries("model")]


def describe_networks(experiment: Experiment) -> list[dict[str, Any]]:
    """Return what the registers say of the units and models that the rows are cases of."""
    first, units = experiment.layout.rows[0], row_units(experiment)
    rows = {str(variant.labels[first]) for lot in experiment.lots for variant in lot.variants}
    keys = {units.get(row, row) for row in rows}
    return [entry.to_json() for entry in registered_networks() if entry.key in keys]


def success_series(experiment: Experiment, records: Sequence[Record]) -> dict[str, Any]:
    """Return the successes of cells over their last label, with 95 % intervals.

    Of the trainings that succeed, also when they did and how sparse they are.
    """
    layout = experiment.layout
    if experiment.series == layout.column:
        cells: Mapping[Key, Cell] = own_cells(experiment, records)
    elif experiment.series and experiment.cells is not None:
        cells = experiment.cells(records)
    else:
        return {}
    rows = [
        {"row": list(key[:-1]), "level": key[-1], "successes": cell.successes,
         "trials": cell.trials, "low": cell["success"].low, "high": cell["success"].high,
         "values": {name: known_numbers(cell[name]) for name in FURTHER}}
        for key, cell in sorted(cells.items(), key=lambda item: placed(experiment, item[0]))
        if cell.successes is not None
    ]  # fmt: skip
    return {"series": {"label": experiment.series, "rows": rows}} if rows else {}


def known_numbers(estimate: Estimate) -> list[float | None]:
    """Return a value and its interval, with nothing where they are none."""
    numbers = (estimate.value, estimate.low, estimate.high)
    return [number if math.isfinite(number) else None for number in numbers]


def placed(experiment: Experiment, key: Key) -> tuple[list[int], float]:
    """Return where a cell of a series stands: by the table's orders, or by a level's number."""
    layout = experiment.layout
    orders = [*zip(*layout.row_order, strict=True), layout.column_order]
    places = [
        order.index(label) if label in order else len(order)
        for order, label in zip(orders, key[:-1], strict=False)
    ]
    try:
        return places, float(key[-1])
    except ValueError:
        order = layout.column_order
        return places, order.index(key[-1]) if key[-1] in order else len(order)


def against(experiment: Experiment, cells: Mapping[Key, Cell]) -> dict[str, Any]:
    """Return the table's measure of each cell beside another that it is drawn against."""
    layout, across = experiment.layout, experiment.against
    if not across:
        return {}
    rows = [
        {"row": list(key[:-1]), "column": key[-1], "x": x.value, "value": y.value, "low": y.low,
         "high": y.high}
        for key, cell in cells.items()
        for x, y in [(cell[across], cell[layout.measure])]
        if all(map(math.isfinite, (x.value, y.value, y.low, y.high)))
    ]  # fmt: skip
    return {"against": {"measure": across, "rows": rows}} if rows else {}


def make_catalog(
    experiment: Experiment,
    records: Sequence[Record],
    command: str,
    *,
    scale: str = "",
    finished: str = "",
) -> dict[str, Any]:
    """Judge every claim on our records and on the published numbers, and gather what pages need.

    Args:
        experiment: The experiment.
        records: What was trained so far.
        command: What a person typed to get here.
        scale: Of the run, if it has one; records of a smoke run, which trains too little, don't
            count for the claims.
        finished: The day of the last record, such as 2026-01-31; empty if nobody knows.
    """
    judged = scale != SMOKE
    ours = measured_table(experiment, records) if judged else Table({})
    never = Never(experiment.reported, experiment.substituted)
    named = {experiment.layout.measure, *(name for cell in experiment.published for name in cell)}
    used = used_measures((record.outcome for record in records), named, experiment.measures)
    layout, tested, units = experiment.layout, tested_claims(experiment), row_units(experiment)
    problems, kinds = written_problems(experiment), kinds_of_groups(experiment)
    cells = (
        measured_table(experiment, records).cells
        if experiment.cells is None
        else (experiment.cells(records))
    )
    return {
        "title": experiment.title,
        "command": command,
        **({"scale": scale} if scale else {}),
        **({"finished": finished} if finished else {}),
        "layout": {
            "rows": list(layout.rows),
            "column": layout.column,
            "row_order": [list(row) for row in layout.row_order],
            "column_order": list(layout.column_order),
            "measure": layout.measure,
            "baseline": layout.baseline,
            **({} if layout.learnt is None else {"learnt": layout.learnt}),
            **({"reported": [list(row) for row in layout.reported]} if layout.reported else {}),
        },
        "measures": [measure.to_json() for measure in used],
        "published": [dict(cell) for cell in experiment.published],
        "claims": [
            {
                "key": claim.key,
                "statement": claim.statement,
                "source": claim.source,
                **({"note": claim.note} if claim.note else {}),
                "ours": {
                    **as_json(claim.evaluate(ours)),
                    **(
                        {"open": why}
                        if (why := why_undecided(claim, ours, never)) and judged
                        else {}
                    ),
                },
                "published": as_json(claim.evaluate(experiment.published_table)),
            }
            for claim in experiment.claims
        ],
        "departures": list(experiment.departures),
        "claim": next(iter(tested.values()), ""),
        # Most experiments test one claim in all columns.
        **({"column_claims": tested} if len(set(tested.values())) > 1 else {}),
        "units": describe_networks(experiment),
        **({"row_units": units} if units else {}),
        **({"problems": problems} if problems else {}),
        **({"criterion": experiment.criterion} if experiment.criterion else {}),
        **({"kinds": kinds} if kinds else {}),
        **(success_series(experiment, records) if judged else {}),
        **(against(experiment, cells) if judged else {}),
    }
