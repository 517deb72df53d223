"""Scores of a formula that a person typed, on data."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from wug.analysis.formula import Formula
from wug.core.errors import UserError
from wug.estimators.formula_text import read_formula_text


def score_formula(
    formula: str, X: ArrayLike, y: ArrayLike, names: Sequence[str] | None = None
) -> dict[str, float]:
    """Score a formula of your own on data.

    Args:
        formula: Such as ``x1*x2 + 3``, in the columns' names or x1, x2, ...; with + - * / ** and
            exp, log, sqrt, sin, cos, tan, tanh, asin, acos, atan, abs, pi. It is read, never run.
        X: (row, in); a data frame brings its own names.
        y: (row,).
        names: Of the inputs.

    Returns:
        ``r2``, ``rmse``, ``largest_error`` and ``undefined``, the share of rows without a value.

    Raises:
        UserError: If the formula can't be read or names an unknown input.

    Example:
        >>> rows = np.array([[1.0, 2.0], [3.0, 4.0]])
        >>> score_formula("x1*x2 + 3", rows, [5.0, 15.0])["rmse"]
        0.0
    """
    columns = getattr(X, "columns", None)
    inputs, target = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if names is None:
        names = (
            [f"x{index + 1}" for index in range(inputs.shape[1])]
            if columns is None
            else [str(name) for name in columns]
        )
    if len(names) != inputs.shape[1]:
        raise UserError(
            f"score_formula: there must be {inputs.shape[1]} names, one per column; "
            f"got {len(names)}."
        )
    expression = read_formula_text(formula, names)
    function = Formula((expression,), tuple(names)).python()
    with np.errstate(all="ignore"):
        values = np.asarray(function(inputs), dtype=np.float64)[:, 0]
    defined = np.isfinite(values)
    misses = values[defined] - target[defined]
    variance = float(np.var(target))
    mean_square = float(np.mean(misses**2)) if defined.any() else math.nan
    return {
        "r2": 1 - mean_square / variance if variance else math.nan,
        "rmse": math.sqrt(mean_square),
        "largest_error": float(np.abs(misses).max()) if defined.any() else math.nan,
        "undefined": float(1 - defined.mean()),
    }
