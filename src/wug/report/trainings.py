"""Charts of single trainings: when they were solved, and their learning curves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from wug.records import Record, group_by
from wug.report.cells import label
from wug.report.charts import Chart, is_spread, panels, strips, three_digits
from wug.report.markup import slug
from wug.report.oddities import is_number
from wug.report.run_source import RunSource
from wug.stats.measures import MEASURES, lookup

SERIES = {
    curve: MEASURES[measure].title
    for curve, measure in (("test", "error"), ("validation", "iid_error"), ("sparsity", "sparsity"))
}
MOST_POINTS = 250_000
FEWEST_STEPS, MOST_STEPS = 12, 64

Array = np.ndarray[Any, Any]


def solved_runs(source: RunSource) -> Chart | None:
    """Return when each training was solved."""
    table = source.table
    if table.criterion:
        # What the task calls solved is not what counts there.
        return None
    order = {column: place for place, column in enumerate(table.columns)}
    rows = []
    for record in source.records:
        step = record.outcome.get("solved_at")
        # A test may be solved although no evaluation during training met the threshold.
        if record.outcome["solved"] and is_number(step):
            name = label([str(record.key.get(field)) for field in table.fields])
            column = str(record.key.get(source.column_field))
            rows.append([name, column, record.seed, step, order[column]])
    if not rows:
        return None
    present = {row[0] for row in rows}
    names = [name for name in map(label, table.rows) if name in present]
    return Chart(
        name="solved-runs", title="When trainings were solved",
        about="One tick for each solved training, at the first evaluation that met the threshold.",
        spec=strips(names, len({row[1] for row in rows}), "step"),
        fields=("row", "column", "seed", "value", "order"),
        headings=("row", "column", "seed", "step", ""),
        rows=rows,
    )  # fmt: skip


def curves(
    source: RunSource, most_points: int = MOST_POINTS, most_steps: int = MOST_STEPS
) -> Iterator[Chart]:
    """Yield the learning curves, one chart for each row and series.

    Args:
        source: The run.
        most_points: Of all charts together; curves with more are thinned.
        most_steps: Of one curve.
    """
    records = [r for r in source.records if "step" in r.curves]
    series = [name for name in SERIES if any(name in r.curves for r in records)]
    others = {name for r in records for name in r.curves} - {*SERIES, "step"}
    num_lines = max(1, len(records) * (len(series) + len(others)))
    num_steps = min(most_steps, max(FEWEST_STEPS, most_points // num_lines))
    groups = group_by(records, *source.table.fields)
    keyed = {tuple(map(str, key)): runs for key, runs in groups.items()}
    for name in (*series, *sorted(others)):
        for row in source.table.rows:
            chart = curve_chart(source, row, name, keyed.get(row, []), num_steps)
            if chart is not None:
                yield chart


def curve_chart(
    source: RunSource, row: tuple[str, ...], series: str, records: list[Record], num_steps: int
) -> Chart | None:
    """Return the curves of one row, one panel for each column."""
    column = source.column_field
    by_seed = sorted(records, key=lambda record: record.seed)
    cells = {str(key[0]): runs for key, runs in group_by(by_seed, column).items()}
    columns = [c for c in source.table.columns if c in cells]
    most = max(map(len, cells.values()), default=0)
    rows: list[list[Any]] = []
    ended = False
    for place, name in enumerate(columns):
        grid, values, carried = on_grid(cells[name], series, num_steps)
        # Of the seeds still running alone, it would jump whenever a solved one ends.
        medians = np.nanmedian(carried, axis=0) if len(grid) else grid
        ended |= bool((np.isnan(values) & ~np.isnan(carried)).any())
        threshold = cells[name][0].outcome.get("threshold") if series == "test" else None
        for i, step in enumerate(grid):
            line = [three_digits(float(value)) for value in values[:, i]]
            rows.append(
                [name, place, float(step), three_digits(float(medians[i])),
                 three_digits(float(threshold)) if is_number(threshold) else None,  # type: ignore[arg-type]
                 *line, *[None] * (most - len(line))]
            )  # fmt: skip
    picked = {name: early_stop(cells[name]) for name in columns}
    marked = any(step is not None for step in picked.values())
    found = [value for line in rows for value in (line[3], *line[5:]) if value is not None]
    if not found:
        return None
    logarithmic = is_spread(found)
    zeros = logarithmic and min(found) <= 0
    if zeros:
        lowest = min(value for value in found if value > 0)
        for line in rows:
            line[3:] = [v if v is None or v > 0 else lowest for v in line[3:]]
    if marked:
        rows = [[*line, picked[line[0]]] for line in rows]
    lines = [f"line{i}" for i in range(most)]
    # Where groups are kinds, OOD validation is validation once more.
    of_kinds = series == "ood_validation" and source.catalog.get("kinds")
    title = "Error in validation" if of_kinds else SERIES.get(series, series)
    about = f"{title} over training: one thin line for each seed, the median thick"
    about += ", the threshold dashed." if any(line[4] is not None for line in rows) else "."
    about += " Zero is drawn at the bottom." if zeros else ""
    about += " The median counts a training that has ended with its last value." if ended else ""
    about += promotions(records)
    if marked:
        about += " Dotted: where early stopping on IID validation would have ended, median."
    seeds = {tuple(record.seed for record in cells[name]) for name in columns}
    names = [f"seed {s}" for s in seeds.pop()] if len(seeds) == 1 else lines
    return Chart(
        name=slug(f"curves-{series}-{'-'.join(row)}"), title=label(row), group=title,
        about=about,
        spec=panels(len(columns), lines, "step", title.lower(), logarithmic, marked),
        fields=("column", "order", "x", "median", "threshold", *lines, *["marked"] * marked),
        headings=("column", "", "step", "median", "threshold", *names, *["early stop"] * marked),
        rows=rows,
    )  # fmt: skip


def early_stop(records: Sequence[Record]) -> float | None:
    """Return the median step that early stopping on IID accuracy picks; None if nobody asked.

    Hostile records may hold anything there.
    """
    steps = [lookup(record.outcome, "policies.iid_accuracy.step") for record in records]
    known = [float(step) for step in steps if is_number(step)]
    return float(np.median(known)) if known else None


def promotions(records: Sequence[Record]) -> str:
    """Say when trainings went on to harder problems, if they began with easy ones.

    Hostile records may hold anything there; what is no list of numbers is left out.
    """
    found: list[Any] = [record.outcome.get("promoted") for record in records]
    lists = [steps for steps in found if isinstance(steps, list) and all(map(is_number, steps))]
    spans = []
    for steps in zip_longest(*lists):
        known = [step for step in steps if step is not None]
        low, high = min(known), max(known)
        spans.append(f"{low:,.0f}" if low == high else f"{low:,.0f}-{high:,.0f}")
    return f" Harder problems were added after these steps: {', '.join(spans)}." if spans else ""


def on_grid(records: Sequence[Record], series: str, num_steps: int) -> tuple[Array, Array, Array]:
    """Return steps that the records share, and the latest value of each at or before them.

    A value that is no number is of a diverged training and counts as infinite; NaN says that
    there is no value.

    Returns:
        The steps; the values until a training ends; the same with its last value carried on.
    """
    pairs = []
    for record in records:
        x, y = (np.asarray(record.curves.get(name, ()), float) for name in ("step", series))
        usable = len(x) == len(y) and bool(np.isfinite(x).all())
        pairs.append((x, np.where(np.isnan(y), np.inf, y)) if usable else (x[:0], y[:0]))
    every = np.unique(np.concatenate([x for x, _ in pairs]))
    if not len(every):
        return every, np.empty((len(pairs), 0)), np.empty((len(pairs), 0))
    # Most of what happens happens early.
    shares = np.linspace(0, 1, num_steps) ** (1.0 if len(every) <= num_steps else 1.5)
    grid = every[np.unique((shares * (len(every) - 1)).round().astype(int))]
    carried = np.full((len(pairs), len(grid)), np.nan)
    for line, (x, y) in zip(carried, pairs, strict=True):
        order = np.argsort(x, kind="stable")
        latest = np.searchsorted(x[order], grid, side="right") - 1
        line[latest >= 0] = y[order][latest[latest >= 0]]
    ends = np.array([x.max(initial=-np.inf) for x, _ in pairs])
    values = np.where(grid <= ends[:, None], carried, np.nan)
    kept = ~np.isnan(values).all(0)
    return grid[kept], values[:, kept], carried[:, kept]
