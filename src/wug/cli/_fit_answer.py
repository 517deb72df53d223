"""What wug fit says and writes of a fit: the front, the answer, advice, a page and its data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from wug.estimators.chosen_columns import ChosenColumns
    from wug.estimators.regressor import Equation
    from wug.estimators.saved import NamedRegressor
    from wug.report.fit_page import Slice

PAGE = "fit.html"
MOST_SLICES = 4
MOST_POINTS = 1_000
# Deviations of most rows beyond which a row is far off, and the largest share of such rows.
FAR, MOST_FAR = 10.0, 0.1
# Rows from which on it is told whether errors grow, and how unlikely that must be by chance.
FEWEST_TO_TELL, UNLIKELY = 20, 1e-3


def shown(equation: Equation) -> str:
    """Return a formula with few digits."""
    from wug.estimators.readable import few_digits

    return str(few_digits(equation.expression))


def print_answer(model: NamedRegressor, columns: ChosenColumns, console: Console) -> None:
    """Print the front, the chosen formula, its status and its certificate."""
    from rich.table import Table
    from rich.text import Text

    from wug.estimators.saved import MEANINGS

    chosen = model.equation_
    front = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    measure = "relative error" if model.loss == "relative" else "error"
    measure = measure if columns.errors is None else "error in deviations"
    for heading in ("", "size", measure, "R²", "seconds"):
        front.add_column(heading, justify="right", no_wrap=True)
    front.add_column("formula", overflow="fold")
    for equation in model.equations_:
        best = equation.candidate is chosen.candidate
        front.add_row(
            ">" if best else "", str(equation.complexity), f"{equation.error:.3g}",
            "" if isnan(equation.r2) else f"{equation.r2:.5g}", f"{equation.seconds:.1f}",
            Text(shown(equation)),
            style="bold" if best else "",
        )  # fmt: skip
    console.print(front)
    console.print(f"\n{model.expression_}", style="bold", markup=False, soft_wrap=True)
    status = str(model.status_)
    console.print(f"{status}: {MEANINGS[status]}", soft_wrap=True)
    for sentence in remarks(model, columns):
        console.print(sentence, markup=False, soft_wrap=True)
    console.print(f"\ncertificate of {model.certificate_}", markup=False, soft_wrap=True)


def remarks(model: NamedRegressor, columns: ChosenColumns) -> list[str]:
    """Return what a person should know of the numbers, of rows and of what could be tried next."""
    from wug.estimators.chosen_columns import listed
    from wug.estimators.exactness import ROWS_PER_CONSTANT, has_enough_rows, meets

    sentences = []
    candidate = model.equation_.candidate
    met = meets(candidate, columns.inputs, columns.values)
    if met and not has_enough_rows(candidate, columns.inputs):
        sentences.append(
            f"every row is met up to rounding, but {candidate.num_constants} numbers and exponents "
            f"need {ROWS_PER_CONSTANT * candidate.num_constants} distinct rows to be called exact"
        )
    known = [c for c in model.constants_ if isfinite(c.standard_error) and c.standard_error > 0]
    if known and model.status_ != "exact":
        numbers = (f"{c.value:.6g} ± {c.standard_error:.2g}" for c in known)
        sentences.append(f"constants: {', '.join(numbers)}")
    if len(model.outliers_):
        rows = ", ".join(str(columns.rows[row] + 1) for row in model.outliers_)
        sentences.append(f"left out, rows that do not belong: {rows}")
        if model.loss == "absolute" and columns.errors is None and grows(model, columns):
            sentences.append(
                "what is left grows with the target; rows were judged by those of about their "
                "size; for better numbers try --loss relative"
            )
    elif not model.robust and not met:
        far = far_rows(model, columns)
        if far:
            rows = listed([str(columns.rows[row] + 1) for row in far])
            sentences.append(
                f"far from where the others lie, by a formula of the front: row {rows}; --robust "
                "looks for the law of the others"
            )
    return sentences


def grows(model: NamedRegressor, columns: ChosenColumns) -> bool:
    """Say whether the rows that belong are missed by more where the target is larger."""
    import numpy as np
    from scipy.stats import spearmanr

    kept = np.delete(np.arange(len(columns.values)), model.outliers_)
    value = model.equation_.candidate.predict(columns.inputs[kept])
    error = np.abs(value - columns.values[kept])
    if model.status_ == "exact" or len(kept) < FEWEST_TO_TELL or not np.isfinite(error).all():
        return False
    told = spearmanr(np.abs(value), error)
    return bool(told.statistic > 0 and told.pvalue < UNLIKELY)


def far_rows(model: NamedRegressor, columns: ChosenColumns) -> list[int]:
    """Return the few rows that a formula of the front misses by far more than most; mostly none."""
    import numpy as np

    from wug.estimators.verdict import IN_FEW_ROWS

    fewest: list[int] = []
    closest = IN_FEW_ROWS
    weight = 1.0 if columns.errors is None else 1 / columns.errors
    weight = weight / np.abs(columns.values) if model.loss == "relative" else weight
    for equation in model.equations_:
        error = weight * np.abs(equation.candidate.predict(columns.inputs) - columns.values)
        middle = float(np.median(error))
        far = np.flatnonzero(~(error <= FAR * middle))
        share = middle / float(np.sqrt(np.mean(error**2)) or 1.0)
        if 0 < len(far) <= MOST_FAR * len(error) and share < closest:
            fewest, closest = [int(row) for row in far], share
    return fewest


def documents(model: NamedRegressor, columns: ChosenColumns, command: str) -> dict[str, str]:
    """Return the files of a fit; the one that predict reads comes last."""
    from sympy.printing.mathml import mathml

    from wug.estimators.readable import few_digits
    from wug.estimators.saved import FILE_NAME, MEANINGS, sample, to_json
    from wug.report.fit_page import FitPage, FrontRow, to_html

    data = {
        **to_json(model, columns.names, columns.target, columns.inputs, columns.values),
        "notices": list(columns.notices),
        "command": command,
    }
    chosen, status = model.equation_, str(model.status_)
    rows = sample(chosen.candidate, columns.names, columns.inputs, columns.values, MOST_POINTS)
    page = FitPage(
        target=columns.target,
        formula=str(model.expression_),
        mathml=(
            f"<mi>{escape(columns.target)}</mi><mo>=</mo>"
            + mathml(few_digits(model.expression_), printer="presentation", mul_symbol="dot")
        ),
        status=status,
        meaning=MEANINGS[status],
        certificate=str(model.certificate_),
        notices=(*columns.notices, *remarks(model, columns)),
        measured=rows["measured"],
        predicted=rows["predicted"],
        slices=slices(chosen, columns),
        front=[
            FrontRow(
                formula=shown(equation), size=equation.complexity, error=equation.error,
                r2=None if isnan(equation.r2) else equation.r2,
                chosen=equation.candidate is chosen.candidate,
            )
            for equation in model.equations_
        ],
        facts={
            "rows": f"{len(columns.values):,}",
            "inputs": ", ".join(symbols_of(model.names_, columns.names)),
            "command": command,
            **{f"{name} version": version for name, version in data["versions"].items()},
        },
    )  # fmt: skip
    text = json.dumps(plain(data), indent=1, ensure_ascii=False, allow_nan=False)
    return {PAGE: to_html(page), FILE_NAME: f"{text}\n"}


def symbols_of(symbols: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the columns, with the symbol in the formula where it is another."""
    pairs = zip(symbols, names, strict=True)
    return [name if symbol == name else f"{name} ({symbol})" for symbol, name in pairs]


def slices(equation: Equation, columns: ChosenColumns) -> list[Slice]:
    """Return the formula along its most important inputs."""
    from wug.estimators.along import along, importance
    from wug.report.fit_page import Slice

    changes = importance(equation.candidate, columns.inputs)
    found = []
    for place in sorted(range(len(changes)), key=lambda i: -changes[i])[:MOST_SLICES]:
        if changes[place] > 0:
            x, y = along(equation.candidate, columns.inputs, place)
            data = columns.inputs[:, place]
            found.append(
                Slice(
                    name=columns.names[place], low=float(data.min()), high=float(data.max()),
                    x=x.tolist(), y=y.tolist(),
                )
            )  # fmt: skip
    return found


def plain(data: Any) -> Any:
    """Return JSON data with null in place of numbers that JSON does not have."""
    if isinstance(data, dict):
        return {key: plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [plain(value) for value in data]
    return None if isinstance(data, float) and not isfinite(data) else data
