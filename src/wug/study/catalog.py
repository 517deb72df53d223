"""The catalog of a run: published numbers, claims with verdicts, and what the units are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from wug.core import index
from wug.core.registry import Entry
from wug.records import SMOKE, Record, group_by
from wug.sources.sequence_task import SequenceTask
from wug.stats.measures import MEASURES, Measure, used_measures
from wug.stats.runs import RunSummary
from wug.study.claims import Cell, Key, Table
from wug.study.experiment import Experiment
from wug.study.judgements import Judgement
from wug.study.undecided import why_undecided
from wug.training.plan import Registered


def measured_cell(outcomes: Sequence[Mapping[str, Any]], own: Iterable[Measure] = ()) -> Cell:
    """Return the cell of some runs, for claims.

    Args:
        outcomes: One per run, of schema 2.
        own: Measures of the experiment's own.
    """
    summary = RunSummary(outcomes, {**MEASURES, **{measure.name: measure for measure in own}})
    return Cell(summary.successes, summary.trials, summary)


def measured_table(experiment: Experiment, records: Sequence[Record]) -> Table:
    """Return our own cells, for claims, under the keys of the published table."""
    fields = (*experiment.layout.rows, experiment.layout.column)
    cells = {}
    for key, runs in group_by(records, *fields).items():
        outcomes = [run.outcome for run in runs]
        cells[tuple(map(str, key))] = measured_cell(outcomes, experiment.measures)
    further = {} if experiment.cells is None else experiment.cells(records)
    return Table({**cells, **further})


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
    """Return the successes of the further cells over their last label, with 95 % intervals."""
    if not experiment.series or experiment.cells is None:
        return {}
    rows = [
        {"row": list(key[:-1]), "level": key[-1], "successes": cell.successes,
         "trials": cell.trials, "low": cell["success"].low, "high": cell["success"].high}
        for key, cell in experiment.cells(records).items()
        if cell.successes is not None
    ]  # fmt: skip
    return {"series": {"label": experiment.series, "rows": rows}} if rows else {}


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
        if all(map(isfinite, (x.value, y.value, y.low, y.high)))
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
        },
        "measures": [measure.to_json() for measure in used],
        "published": [dict(cell) for cell in experiment.published],
        "claims": [
            {
                "key": claim.key,
                "statement": claim.statement,
                "source": claim.source,
                "ours": {
                    **as_json(claim.evaluate(ours)),
                    **({"open": why} if (why := why_undecided(claim, ours)) and judged else {}),
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
        **({"kinds": kinds} if kinds else {}),
        **(success_series(experiment, records) if judged else {}),
        **(against(experiment, cells) if judged else {}),
    }
