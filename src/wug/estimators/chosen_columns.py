"""Which columns and rows of a table a fit may use, and what a person should know of the others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, count
from keyword import iskeyword

import numpy as np
from numpy.typing import NDArray

from wug.core.errors import UserError
from wug.estimators.formula_text import FUNCTIONS, OTHER_NAMES
from wug.estimators.number_tables import Array, NumberTable

FEWEST_ROWS = 2
# Below this the regressor holds no rows out.
FEW_ROWS = 20
# Squares and products of numbers beyond these are no floats.
SMALLEST, LARGEST = 1e-100, 1e100
MOST_LISTED = 8
# A formula that is read back has a meaning of its own for these, or SymPy has.
MEANT = frozenset(("pi", "E", "I", "oo", "zoo", "nan", *FUNCTIONS, *OTHER_NAMES))


@dataclass(frozen=True, kw_only=True)
class ChosenColumns:
    """What is fitted from what.

    Args:
        target: Name of the target.
        names: Names of the inputs.
        values: Of the target, (row,), finite.
        inputs: (row, in), finite, none constant unless that was asked for.
        notices: What was left out, one sentence each.
        rows: Which rows of the table these are, (row,).
        errors: Standard deviation of the target in each row, (row,), if a column says so.
    """

    target: str
    names: tuple[str, ...]
    values: Array
    inputs: Array
    notices: tuple[str, ...]
    rows: NDArray[np.intp]
    errors: Array | None = None


def check_request(target: str, features: Sequence[str] | None) -> None:
    """Raise if the target is a feature or a feature is named twice."""
    names = tuple(features or ())
    if target in names:
        raise UserError(f"fit: {target!r} is the target and can't be a feature, too.")
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise UserError(f"fit: features are named twice: {listed(twice)}.")


def choose_columns(
    table: NumberTable,
    target: str,
    features: Sequence[str] | None = None,
    *,
    error: str | None = None,
    drop_missing: bool = False,
    keep_constant: bool = False,
) -> ChosenColumns:
    """Choose the columns and rows of a fit.

    Args:
        table: With at least the target and the features.
        target: The column to explain.
        features: The columns to explain it from; all others that hold numbers if not given.
        error: The column with the standard deviation of the target.
        drop_missing: Leave out rows with cells that are missing or infinite.
        keep_constant: Keep columns that are the same in every row, for their units.

    Raises:
        UserError: If there is nothing to fit, or a person has to decide first.

    Example:
        >>> numbers = {"a": np.array([1.0, 2]), "b": np.ones(2), "y": np.array([2.0, 4])}
        >>> chosen = choose_columns(NumberTable(numbers, {}), "y")
        >>> chosen.names, chosen.notices[0]
        (('a',), 'left out, the same in every row: b (1)')
    """
    notices: list[str] = []
    if error is not None and error in (target, *(features or ())):
        raise UserError(f"fit: {error!r} can't be the column of errors and something else.")
    named = [name for name in features or table.names if name not in (target, error)]
    measured = (target,) if error is None else (target, error)
    text = [name for name in (*measured, *named) if name in table.text]
    found = listed([f"{name} ({table.text[name]})" for name in text])
    if {*measured} & {*text} or (text and features):
        raise UserError(f"fit: only numbers can be fitted, but there is text in {found}.")
    if text:
        notices.append(f"left out, not numbers: {found}")
    names = [name for name in named if name in table.numbers]
    if not features:
        empty = [name for name in names if np.isnan(table.numbers[name]).all()]
        names = [name for name in names if name not in empty]
        if empty:
            notices.append(f"left out, without a number: {listed(empty)}")
    rows = usable_rows(table, (*measured, *names), drop_missing, notices)
    columns = {name: table.numbers[name][rows] for name in (*measured, *names)}
    values = columns.pop(target)
    errors = None if error is None else columns.pop(error)
    if errors is not None and not (errors > 0).all():
        raise UserError(f"fit: errors must be positive; got {errors.min():g} in {error!r}.")
    if len(values) < FEWEST_ROWS:
        raise UserError(f"fit: at least {FEWEST_ROWS} rows are needed; got {len(values)}.")
    beyond = [name for name, column in ((target, values), *columns.items()) if too_extreme(column)]
    if beyond:
        raise UserError(
            f"fit: numbers above {LARGEST:g} or nearer to 0 than {SMALLEST:g} can't be fitted; "
            f"choose another unit for {listed(beyond)}."
        )
    constant = [name for name, column in columns.items() if column.min() == column.max()]
    if constant and not keep_constant:
        found = listed([f"{name} ({columns.pop(name)[0]:.6g})" for name in constant])
        notices.append(f"left out, the same in every row: {found}")
    if not columns:
        left_out = f" {'; '.join(notices)}." if notices else ""
        raise UserError(f"fit: no column is left to fit {target!r} from.{left_out}")
    if values.min() == values.max():
        notices.append(f"the target is the same in every row: {target} ({values[0]:.6g})")
    if len(values) <= len(columns):
        notices.append(
            f"{len(values)} rows for {len(columns)} inputs: a sum of the inputs meets so few rows "
            "by itself, whatever they hold"
        )
    if len(values) < FEW_ROWS:
        notices.append(
            f"{len(values)} rows are too few to hold some out: errors are those of the fit itself"
        )
    return ChosenColumns(
        target=target, names=tuple(columns), values=values,
        inputs=np.stack(list(columns.values()), 1), notices=tuple(notices), errors=errors,
        rows=np.arange(len(table.numbers[target]))[rows],
    )  # fmt: skip


def usable_rows(
    table: NumberTable, names: Sequence[str], drop_missing: bool, notices: list[str]
) -> slice | np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return the rows whose cells are all finite, if all are or others may be dropped."""
    usable = np.ones(len(table.numbers[names[0]]), dtype=bool)
    problems = []
    for name in names:
        column = table.numbers[name]
        missing, infinite = int(np.isnan(column).sum()), int(np.isinf(column).sum())
        if missing or infinite:
            counts = ((missing, "missing"), (infinite, "infinite"))
            problems.append(f"{name} ({', '.join(f'{n} {what}' for n, what in counts if n)})")
            usable &= np.isfinite(column)
    if not problems:
        return slice(None)
    if not drop_missing:
        raise UserError(
            f"fit: cells are missing or infinite in {listed(problems)}. "
            "--drop-missing leaves such rows out."
        )
    dropped = len(usable) - int(usable.sum())
    notices.append(f"left out, {dropped} of {len(usable)} rows: cells of {listed(problems)}")
    return usable


def too_extreme(column: Array) -> bool:
    """Say whether a column has numbers whose squares are no floats."""
    sizes = np.abs(column[column != 0])
    return bool(sizes.max(initial=1.0) > LARGEST or sizes.min(initial=1.0) < SMALLEST)


def listed(names: Sequence[str]) -> str:
    """Return names in a sentence, not too many of them.

    Example:
        >>> listed(["a", "b"]), listed([str(i) for i in range(10)])
        ('a, b', '0, 1, 2, 3, 4, 5, 6, 7 and 2 more')
    """
    more = len(names) - MOST_LISTED
    return ", ".join(names[:MOST_LISTED]) + (f" and {more} more" if more > 0 else "")


def identifiers(names: Sequence[str]) -> list[str]:
    """Return names that are safe in a formula, which may be read as Python or typed again.

    Example:
        >>> identifiers(["mean radius", "a+b", "a-b", "3rd", "lambda", "pi", "sin"])
        ['mean_radius', 'a_b', 'a_b_2', 'x3rd', 'lambda_', 'pi_', 'sin_']
    """
    taken: list[str] = []
    for name in names:
        plain = "".join(c if f"x{c}".isidentifier() else "_" for c in name)
        # One underscore at a time: SymPy draws two of them as a superscript.
        plain = re.sub("_+", "_", plain).strip("_")
        plain = plain if plain.isidentifier() else f"x{plain}"
        plain += "_" if iskeyword(plain) or plain in MEANT else ""
        others = (f"{plain}_{place}" for place in count(2))
        taken.append(next(n for n in chain([plain], others) if n not in taken))
    return taken
