"""wug export: the records or curves of a run as CSV or Parquet, for other programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import tyro

from wug.core.errors import UserError, require_choice
from wug.core.result_names import find_results, introduce
from wug.records import read_run, write_atomic
from wug.records.tabular import curve_rows, outcome_row

ENDINGS = (".csv", ".parquet")


def export(
    run: Annotated[str, tyro.conf.Positional],
    file: Annotated[Path, tyro.conf.Positional],
    *,
    curves: bool = False,
) -> None:
    """Write the records of a run as a table: a line for each training, or for each evaluation.

    Args:
        run: A run folder, or results by name, such as EXPERIMENT@laptop; see wug show.
        file: Where the table goes: .csv or .parquet.
        curves: Write the learning curves instead: a line for each evaluation of each training.
    """
    ending = file.suffix.lower()
    require_choice("export", "the ending of the file", ending, ENDINGS)
    folder = find_results(run)
    if said := introduce(run, folder):
        print(said)
    records = list(read_run(folder).records())
    rows = list(curve_rows(records) if curves else map(outcome_row, records))
    if not rows:
        what = "curves; wug data get results has those of what ships" if curves else "records"
        raise UserError(f"export: {run} has no {what}.")
    write_atomic(file, to_csv(rows) if ending == ".csv" else to_parquet(rows))
    print(f"wrote {file} ({len(rows):,} rows, {len(columns_of(rows))} columns)")


def columns_of(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the names of all columns, in the order in which they first occur."""
    return list(dict.fromkeys(name for row in rows for name in row))


def to_csv(rows: Sequence[dict[str, Any]]) -> str:
    """Return rows as CSV; what a row does not have is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=columns_of(rows), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def to_parquet(rows: Sequence[dict[str, Any]]) -> bytes:
    """Return rows as a Parquet file; a column of several types is one of texts.

    Raises:
        UserError: The package for it is missing.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UserError(
            'export: Parquet needs one more package: pip install "wug[parquet]". CSV does without.'
        ) from None
    columns = {}
    for name in columns_of(rows):
        values = [row.get(name) for row in rows]
        kinds = {float if isinstance(v, int | float) and not isinstance(v, bool) else type(v)
                 for v in values if v is not None}  # fmt: skip
        if len(kinds) > 1:
            values = [None if value is None else str(value) for value in values]
        elif kinds == {float} and not all(isinstance(v, int) for v in values if v is not None):
            values = [None if value is None else float(value) for value in values]
        columns[name] = values
    sink = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), sink)
    return sink.getvalue()
