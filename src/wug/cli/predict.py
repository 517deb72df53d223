"""wug predict: a formula that was found before, on another table."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from wug.core.errors import UserError
from wug.records import write_atomic

if TYPE_CHECKING:
    from wug.estimators.number_tables import Array, Block, Source
    from wug.estimators.saved import SavedFit


def predict(
    folder: Annotated[Path, tyro.conf.Positional],
    table: Annotated[Path, tyro.conf.Positional],
    *,
    out: Path,
) -> None:
    """Evaluate the formula of a fit on the rows of a table.

    Args:
        folder: What wug fit wrote.
        table: CSV, TSV, Parquet or Excel with the columns that the formula uses.
        out: The file to write, .csv or .tsv, perhaps compressed (.gz): the table and one column
            more, with decimal commas and semicolons where the table has decimal commas. Where the
            formula is not defined it holds nan.
    """
    if out.suffix.lower() in (".parquet", ".pq"):
        raise UserError(f"predict: {out} must be CSV or TSV; Parquet is read, but not written.")
    import numpy as np

    from wug.estimators.chosen_columns import listed
    from wug.estimators.number_tables import open_table
    from wug.estimators.saved import read_fit

    fit = read_fit(folder)
    added = f"{fit.target}_predicted"
    tabs = bool({".tsv", ".tab"} & {suffix.lower() for suffix in out.suffixes})
    commas = False
    parts: list[bytes] = []
    num_rows, incomplete, undefined = 0, 0, 0
    with open_table(table) as source:
        missing = [fit.columns[i] for i in fit.needed if fit.columns[i] not in source.names]
        if missing:
            raise UserError(
                f"predict: the formula needs columns that {table} lacks: {listed(missing)}."
            )
        if added in source.names:
            raise UserError(f"predict: {table} has a column {added} already; rename or remove it.")
        for block in source.blocks:
            if not parts:
                commas = source.decimal_comma and has_commas(fit, source, block)
                separator = "\t" if tabs else ";" if commas else ","
                parts.append(to_text([(*source.header, added)], separator))
            inputs = inputs_of(fit, source, block, num_rows + 1)
            values = fit.predict(inputs)
            known = np.isfinite(inputs).all(1)
            incomplete += int((~known).sum())
            undefined += int((known & np.isnan(values)).sum())
            num_rows += len(values)
            texts = [str(v).replace(".", ",") if commas else v for v in values.tolist()]
            parts.append(to_text(zip(*block, texts, strict=True), separator))
    content = b"".join(parts)
    write_atomic(out, gzip.compress(content) if out.suffix.lower() == ".gz" else content)
    print(f"{fit.target} = {fit.expression}\nwrote {out}: {num_rows} rows with {added}")
    if incomplete:
        print(f"nan in {incomplete} rows: an input is missing or infinite")
    if undefined:
        print(f"nan in {undefined} rows: the formula is not defined there")


def has_commas(fit: SavedFit, source: Source, block: Block) -> bool:
    """Say whether numbers that the formula uses have decimal commas."""
    columns = (block[source.names.index(fit.columns[place])] for place in fit.needed)
    return any("," in str(cell) for column in columns for cell in column)


def inputs_of(fit: SavedFit, source: Source, block: Block, first_row: int) -> Array:
    """Return the inputs of a block's rows; those that the formula does not use are 1."""
    import numpy as np

    from wug.estimators.number_tables import NotNumbers, to_numbers

    inputs = np.ones((len(block[0]), len(fit.columns)))
    for place in fit.needed:
        name = fit.columns[place]
        try:
            cells = block[source.names.index(name)]
            inputs[:, place] = to_numbers(
                cells, first_row, decimal_comma=source.decimal_comma, thousands=source.thousands
            )
        except NotNumbers as error:
            raise UserError(f"predict: {name!r} must hold numbers, but there is {error}.") from None
    return inputs


def to_text(rows: Any, separator: str) -> bytes:
    """Return rows as separated values."""
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()
