"""A fit as a file: plain JSON with the weights of every formula of the front, without pickle."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from json import JSONDecodeError
from pathlib import Path
from typing import Any

import numpy as np

from wug.core.errors import UserError
from wug.estimators.candidate import FUNCTIONS, Array, Candidate, Function
from wug.estimators.regressor import ArithmeticRegressor, Equation
from wug.records.files import parse_json, read_plain, reason_of
from wug.training.lots import versions

# What is written: the second format has functions, and fits without any stay in the first.
FORMAT, FORMAT_WITH_FUNCTIONS = 1, 2
FILE_NAME = "formula.json"
MOST_ROWS = 200

MEANINGS: Mapping[str, str] = {
    "exact": "every row is met up to rounding, also the outermost by a fit without them",
    "noisy": "what the formula leaves of the target looks like noise",
    "approximate": "the formula is close, but nothing says that it is the rule: keep to its range",
    "undecided": "too few distinct rows, or levels of a column, to tell a rule, or noise, for sure",
    "incomplete": "something is left in the target that no formula was found for",
    "none": "nothing was found that the inputs tell of the target",
}


class NamedRegressor(ArithmeticRegressor):
    """The regressor for columns that have names but are no data frame.

    Args:
        names: Of the inputs.
        options: As for :class:`ArithmeticRegressor`.
    """

    def __init__(self, names: Sequence[str], **options: Any) -> None:
        super().__init__(**options)
        self.names = names

    @property
    def names_(self) -> list[str]:
        """Names of the inputs."""
        return list(self.names)

    @property
    def equation_(self) -> Equation:
        """The chosen formula."""
        return self._chosen[0]


@dataclass(frozen=True, kw_only=True)
class SavedFit:
    """What is left of a fit: enough to predict.

    Args:
        target: Name of the column that was fitted.
        columns: Names of the columns that are the inputs, in order.
        expression: The formula as text, in the inputs' symbols.
        candidate: Its weights.
    """

    target: str
    columns: tuple[str, ...]
    expression: str
    candidate: Candidate

    @property
    def needed(self) -> list[int]:
        """Places of the inputs that the formula uses."""
        return [int(index) for index in np.flatnonzero(self.candidate.used_inputs())]

    def predict(self, inputs: Array) -> Array:
        """Evaluate the formula; NaN where it is not defined.

        Args:
            inputs: (row, in).
        """
        values = self.candidate.predict(inputs)
        return np.where(np.isfinite(values), values, np.nan)


def to_json(
    model: NamedRegressor, columns: Sequence[str], target: str, inputs: Array, values: Array
) -> dict[str, Any]:
    """Return a fit as plain JSON data.

    Args:
        model: Fitted.
        columns: Names of the inputs' columns.
        target: Name of the target's column.
        inputs: What it was fitted on, (row, in).
        values: Of the target, (row,).
    """
    return {
        "format": FORMAT_WITH_FUNCTIONS if has_functions(model) else FORMAT,
        "target": target,
        "columns": list(columns),
        "symbols": model.names_,
        "expression": str(model.expression_),
        "latex": model.latex_,
        "status": model.status_,
        "meaning": MEANINGS[str(model.status_)],
        "constants": [asdict(constant) for constant in model.constants_],
        "left_out": [int(row) + 1 for row in model.outliers_],
        "weights": weights_to_json(model.equation_.candidate),
        "front": [equation_to_json(equation) for equation in model.equations_],
        "certificate": model.certificate_.to_json(),
        "rows": len(values),
        "ranges": {
            name: [float(f(column)) for f in (np.min, np.median, np.max)]
            for name, column in zip((target, *columns), (values, *inputs.T), strict=True)
        },
        "sample": sample(model.equation_.candidate, columns, inputs, values, MOST_ROWS),
        "versions": versions(),
        **units_to_json(model, columns, target),
    }


def units_to_json(model: NamedRegressor, columns: Sequence[str], target: str) -> dict[str, Any]:
    """Return the unit of each column, if they have any."""
    if model.units is None:
        return {}
    texts = (str(model.target_unit), *map(str, model.units))
    units = dict(zip((target, *columns), texts, strict=True))
    return {"units": units, "units_factor": bool(model.units_factor)}


def has_functions(model: NamedRegressor) -> bool:
    """Say whether a formula of the front has functions."""
    formulas = [model.equation_, *model.equations_]
    return any(equation.candidate.functions for equation in formulas)


def sample(
    candidate: Candidate, columns: Sequence[str], inputs: Array, values: Array, most: int
) -> dict[str, Any]:
    """Return some of the rows, evenly spaced, with what a formula says of them.

    Args:
        candidate: The formula.
        columns: Names of the inputs' columns.
        inputs: (row, in).
        values: Of the target, (row,).
        most: How many rows to take; those with a number that is not finite are left out.

    Example:
        >>> double = Candidate(
        ...     exponents=np.ones((1, 1)), coefficients=np.array([[2.0]]), powers=np.ones(1)
        ... )
        >>> x = np.array([[1.0], [2.0], [3.0]])
        >>> sample(double, ["x"], x, x[:, 0], most=2)
        {'inputs': {'x': [1.0, 3.0]}, 'measured': [1.0, 3.0], 'predicted': [2.0, 6.0]}
    """
    places = np.linspace(0, len(values) - 1, min(most, len(values))).round().astype(int)
    predicted = candidate.predict(inputs[places])
    rows = np.column_stack((inputs[places], values[places], predicted))
    *given, measured, said = rows[np.isfinite(rows).all(1)].T.tolist()
    named = dict(zip(columns, given, strict=True))
    return {"inputs": named, "measured": measured, "predicted": said}


def equation_to_json(equation: Equation) -> dict[str, Any]:
    """Return one formula of the front as plain JSON data."""
    return {
        "expression": str(equation),
        "complexity": equation.complexity,
        "error": equation.error,
        "r2": None if math.isnan(equation.r2) else equation.r2,
        "seconds": round(equation.seconds, 3),
        "weights": weights_to_json(equation.candidate),
    }


def weights_to_json(candidate: Candidate) -> dict[str, Any]:
    """Return the weights of a formula as nested lists."""
    weights: dict[str, Any] = {
        "exponents": candidate.exponents.tolist(),
        "coefficients": candidate.coefficients.tolist(),
        "powers": candidate.powers.tolist(),
    }
    if candidate.functions:
        weights["functions"] = [
            {"name": function.name, "of": weights_to_json(function.inner)}
            for function in candidate.functions
        ]
    return weights


def weights_from_json(weights: Mapping[str, Any]) -> Candidate:
    """Return the formula of nested lists."""
    functions = []
    for function in weights.get("functions", ()):
        if function["name"] not in FUNCTIONS:
            raise ValueError(f"unknown function {function['name']!r}")
        functions.append(Function(function["name"], weights_from_json(function["of"])))
    return Candidate(
        exponents=np.array(weights["exponents"], np.float64),
        coefficients=np.array(weights["coefficients"], np.float64),
        powers=np.array(weights["powers"], np.float64),
        functions=tuple(functions),
    )


def read_fit(folder: Path) -> SavedFit:
    """Read what ``wug fit`` wrote.

    Args:
        folder: The folder of the fit.

    Raises:
        UserError: If there is no fit, or not one that this version can read.
    """
    path = folder / FILE_NAME
    try:
        data = parse_json(read_plain(path))
    except OSError as error:
        raise UserError(f"{folder} holds no fit: {FILE_NAME}: {reason_of(error)}.") from None
    except ValueError as error:
        kind = "it is not JSON: " if isinstance(error, JSONDecodeError) else ""
        raise UserError(f"{path} is damaged: {kind}{error}. Fit again.") from None
    if not isinstance(data, dict) or data.get("format") not in (FORMAT, FORMAT_WITH_FUNCTIONS):
        raise UserError(f"{path} is not a fit of a format that this wug reads. Fit again.")
    try:
        texts = (data["target"], data["expression"], *data["columns"])
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("target, expression and columns must be text")
        fit = SavedFit(
            target=data["target"],
            columns=tuple(data["columns"]),
            expression=data["expression"],
            candidate=weights_from_json(data["weights"]),
        )
        factors = len(fit.columns) + len(fit.candidate.functions)
        if fit.candidate.exponents.shape[1:] != (factors,):
            raise ValueError("the exponents must be one for each column and function")
        fit.predict(np.ones((1, len(fit.columns))))
    except (KeyError, TypeError, IndexError, AttributeError, ValueError, OverflowError) as error:
        raise UserError(f"{path} is damaged: {error!r}. Fit again.") from None
    return fit
