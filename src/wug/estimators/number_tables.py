"""Tables of numbers on disk: CSV, TSV, Parquet and Excel, read block by block.

A table is a line of names and columns of cells. Cells stay as they are in the file until somebody
asks for numbers, so that a table can be copied as well as fitted.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from wug.core.errors import UserError, unknown_name
from wug.records.unpacking import LimitedReader, TooMuchError, too_much, unpack_limit

Array = NDArray[np.float64]
Block = Sequence[Sequence[Any]]

ROWS_OF_A_BLOCK = 50_000
BYTES_OF_A_READ = 2**16
SEPARATORS = ",\t;|"
MISSING = frozenset(("", "-", "?", "n/a", "na", "nan", "none", "null", "<na>", "#n/a"))
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
UNREADABLE = (OSError, EOFError, zlib.error, csv.Error, TooMuchError)


class NotNumbers(ValueError):
    """A cell that holds something else than a number."""

    def __init__(self, cell: Any, row: int) -> None:
        super().__init__(f"{str(cell)[:40]!r} in row {row}")


@dataclass(frozen=True)
class Source:
    """An open table.

    Args:
        header: The first line as it is in the file.
        names: The same for people: printable, without line breaks, none empty.
        blocks: The columns of the next rows, again and again.
        decimal_comma: Whether 1,5 may be a number; in Parquet text is text.
        thousands: Whether 1,234 may be meant as 1234: then it is no number, unless other cells of
            its column tell that commas stand before decimals.
    """

    header: Sequence[str]
    names: Sequence[str]
    blocks: Iterator[Block]
    decimal_comma: bool = False
    thousands: bool = False


@dataclass(frozen=True)
class NumberTable:
    """Columns in memory.

    Args:
        numbers: The columns of numbers by name; cells without a number are NaN.
        text: The other columns, with the first cell that is no number.
    """

    numbers: dict[str, Array]
    text: dict[str, str]

    @property
    def names(self) -> list[str]:
        """Names of all columns."""
        return [*self.numbers, *self.text]


@contextmanager
def open_table(path: Path) -> Iterator[Source]:
    """Open a table for reading.

    Args:
        path: A file of separated values, perhaps compressed (.gz), a Parquet file (.parquet), or
            the first sheet of an Excel file (.xlsx). It may hold 1 GB unpacked, or as many as the
            variable WUG_UNPACK_GB says.

    Raises:
        UserError: If the file can't be read, has no rows, or its names don't serve.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            with open_parquet(path) as source:
                yield source
            return
        if path.suffix.lower() == ".xlsx":
            with open_excel(path) as source:
                yield source
            return
        with open_text(path, packed=suffixes[-1:] == [".gz"]) as file:
            yield text_source(path, file, "\t" if {".tsv", ".tab"} & set(suffixes) else None)
    except UnicodeDecodeError:
        raise UserError(f"{path} can't be read: it is not text in UTF-8.") from None
    except UNREADABLE as error:
        reason = getattr(error, "strerror", None) or str(error)
        if "field limit" in reason:
            reason = f"a cell has more than {csv.field_size_limit()} letters"
        raise UserError(f"{path} can't be read: {reason}.") from None


@contextmanager
def open_text(path: Path, *, packed: bool) -> Iterator[IO[str]]:
    """Open a file of text; a packed one stops at the limit for unpacking."""
    if not packed:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield file
        return
    with gzip.open(path) as unpacked:
        buffer = io.BufferedReader(LimitedReader(unpacked), BYTES_OF_A_READ)
        yield io.TextIOWrapper(buffer, encoding="utf-8-sig", newline="")


def text_source(path: Path, file: IO[str], separator: str | None) -> Source:
    """Return the source of an open file of separated values."""
    first = file.readline()
    while first and not first.strip():
        first = file.readline()
    if not first:
        raise UserError(f"{path} is empty.")
    if separator is None:
        separator = max(SEPARATORS, key=lambda s: num_cells(first, s))
    lines = csv.reader(itertools.chain([first], file), delimiter=separator)
    header = next(lines)
    blocks = text_blocks(path, lines, len(header))
    names = checked_names(path, header)
    # Where commas part the cells, one inside of a cell was quoted.
    return Source(header, names, blocks, decimal_comma=True, thousands=separator == ",")


def num_cells(line: str, separator: str) -> int:
    """Count the cells of a line; 1 if a separator leaves a cell that is too long."""
    try:
        return len(next(csv.reader([line], delimiter=separator)))
    except csv.Error:
        return 1


def text_blocks(path: Path, lines: Iterator[list[str]], num_columns: int) -> Iterator[Block]:
    """Yield the columns of the rows, without empty lines."""
    num_rows = 0
    full = (line for line in lines if line)
    while rows := list(itertools.islice(full, ROWS_OF_A_BLOCK)):
        for place, row in enumerate(rows):
            if len(row) != num_columns:
                raise UserError(
                    f"{path}: row {num_rows + place + 1} has {len(row)} cells, "
                    f"but the table has {num_columns} columns."
                )
        num_rows += len(rows)
        yield list(zip(*rows, strict=True))
    if not num_rows:
        raise UserError(f"{path} has a line of names and no rows.")


@contextmanager
def open_parquet(path: Path) -> Iterator[Source]:
    """Open a Parquet file."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise UserError(
            f"{path} is a Parquet file, and reading one needs pyarrow: pip install 'wug[parquet]'."
        ) from None
    try:
        with ParquetFile(path) as file:
            header = file.schema_arrow.names
            # Equal cells take next to no room in the file; as numbers each takes 8 bytes.
            if 8 * file.metadata.num_rows * len(header) > (limit := unpack_limit()):
                raise too_much(limit)
            if not file.metadata.num_rows:
                raise UserError(f"{path} has names and no rows.")
            batches = file.iter_batches(batch_size=ROWS_OF_A_BLOCK)
            blocks = ([column.to_pylist() for column in batch.columns] for batch in batches)
            yield Source(header, checked_names(path, header), blocks)
    except ArrowException as error:
        raise UserError(f"{path} can't be read: {str(error).splitlines()[0]}") from None


@contextmanager
def open_excel(path: Path) -> Iterator[Source]:
    """Open the first sheet of an Excel file."""
    try:
        from openpyxl import load_workbook  # type: ignore[import-not-found,import-untyped,unused-ignore]
        from openpyxl.utils.exceptions import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
            InvalidFileException,
        )
    except ImportError:
        raise UserError(
            f"{path} is an Excel file, and reading one needs openpyxl: pip install 'wug[xlsx]'."
        ) from None
    try:
        book = load_workbook(path, read_only=True, data_only=True)
    except (InvalidFileException, BadZipFile, KeyError) as error:
        raise UserError(f"{path} can't be read: {error}") from None
    try:
        rows = (row for row in book.worksheets[0].iter_rows(values_only=True) if any_cell(row))
        header = ["" if cell is None else str(cell) for cell in next(rows, ())]
        if not header:
            raise UserError(f"{path} is empty.")
        names = checked_names(path, header)
        blocks = text_blocks(path, map(list, rows), len(header))
        yield Source(header, names, blocks, decimal_comma=True, thousands=True)
    finally:
        book.close()


def any_cell(row: Sequence[Any]) -> bool:
    """Say whether a row of a sheet holds something."""
    return any(cell is not None for cell in row)


def checked_names(path: Path, header: Sequence[str]) -> list[str]:
    """Return the names of the columns, or say what is wrong with them.

    Example:
        >>> checked_names(Path("data.csv"), [" a", "", "b c"])
        ['a', 'column 2', 'b c']
    """
    names = []
    for place, cell in enumerate(header, 1):
        printable = "".join(c if c.isprintable() else " " for c in cell)
        names.append(" ".join(printable.split()) or f"column {place}")
    if all(is_number(name) for name in names):
        raise UserError(f"{path}: the first line must hold the names of the columns, not numbers.")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise UserError(
            f"{path}: more than one column is called {' or '.join(twice)}; rename them."
        )
    return names


def is_number(cell: str) -> bool:
    """Say whether a cell spells a number."""
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def to_numbers(
    cells: Sequence[Any],
    first_row: int = 1,
    *,
    decimal_comma: bool = False,
    thousands: bool = False,
) -> Array:
    """Return cells as numbers; those without one are NaN.

    Args:
        cells: Text, or what a Parquet file holds.
        first_row: Number of the first cell's row, for the error.
        decimal_comma: Whether 1,5 is a number.
        thousands: Whether 1,234 is none where all cells with commas look like it.

    Raises:
        NotNumbers: If a cell holds something else.

    Example:
        >>> to_numbers(["1", " 2e1 ", "", "NA", "inf"])
        array([ 1., 20., nan, nan, inf])
        >>> to_numbers(["1,5", "2"], decimal_comma=True)
        array([1.5, 2. ])
    """
    try:
        return np.fromiter(map(float, cells), np.float64, len(cells))
    except (ValueError, TypeError):
        pass
    if decimal_comma and thousands:
        commas = [cell.strip() for cell in cells if isinstance(cell, str) and "," in cell]
        decimal_comma = not all(map(THOUSANDS.fullmatch, commas))
    numbers = np.empty(len(cells))
    for place, cell in enumerate(cells):
        try:
            missing = cell is None or str(cell).strip().lower() in MISSING
            if decimal_comma and isinstance(cell, str) and cell.count(",") == 1:
                cell = cell.replace(",", ".") if "." not in cell else cell
            numbers[place] = math.nan if missing else float(cell)
        except (ValueError, TypeError):
            raise NotNumbers(cell, first_row + place) from None
    return numbers


def read_table(path: Path, names: Sequence[str] = (), *, others: bool = True) -> NumberTable:
    """Read columns into memory.

    Args:
        path: As for :func:`open_table`.
        names: Columns that must be there.
        others: Whether to read all other columns, too.

    Raises:
        UserError: If the table can't be read or has no such column.
    """
    with open_table(path) as source:
        for name in names:
            if name not in source.names:
                raise unknown_name(f"column of {path}", name, source.names)
        places = {name: place for place, name in enumerate(source.names)}
        parts: dict[str, list[Array]] = {name: [] for name in (source.names if others else names)}
        text: dict[str, str] = {}
        first_row = 1
        for block in source.blocks:
            for name in parts.keys() - text.keys():
                try:
                    numbers = to_numbers(
                        block[places[name]], first_row, decimal_comma=source.decimal_comma,
                        thousands=source.thousands,
                    )  # fmt: skip
                    parts[name].append(numbers)
                except NotNumbers as error:
                    text[name] = str(error)
            first_row += len(block[0])
    return NumberTable(
        numbers={name: np.concatenate(p) for name, p in parts.items() if name not in text},
        text={name: text[name] for name in parts if name in text},
    )
