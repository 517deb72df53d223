"""What a fitted regressor answers: its formulas, their numbers, what is proven, and predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn

from wug.analysis.formula import Certificate, Formula, certify
from wug.estimators.candidate import Array
from wug.estimators.chosen_columns import identifiers
from wug.estimators.front import Equation, Front, pick
from wug.estimators.printed_constants import printed_constants


class FittedFormulas:
    """The answers of a regressor once it is fitted: one front of formulas for each output.

    A fit leaves the fronts, whether there is a single output, and the rows with their targets and
    weights, an array of weights for each output.
    """

    n_features_in_: int
    _fronts: list[Front]
    _single: bool
    _rows: tuple[Array, Array, list[Array]]
    _certificates: list[Certificate] | None

    @property
    def names_(self) -> list[str]:
        """Names of the inputs, as they stand in formulas: those that came with them, or x1, ..."""
        named = getattr(self, "feature_names_in_", None)
        if named is not None:
            return identifiers([str(name) for name in named])
        return [f"x{index + 1}" for index in range(self.n_features_in_)]

    @property
    def _chosen(self) -> list[Equation]:
        return [pick(front, None) for front in self._fronts]

    def _one_or_all(self, values: Sequence[Any]) -> Any:
        return values[0] if self._single else list(values)

    @property
    def equations_(self) -> Any:
        """The front of each output."""
        check_is_fitted(self, "status_")
        return self._one_or_all(self._fronts)

    @property
    def expression_(self) -> Any:
        """The chosen formula of each output."""
        check_is_fitted(self, "status_")
        return self._one_or_all([equation.expression for equation in self._chosen])

    @property
    def latex_(self) -> Any:
        """The chosen formula of each output in LaTeX."""
        import sympy

        check_is_fitted(self, "status_")
        return self._one_or_all([sympy.latex(equation.expression) for equation in self._chosen])

    @property
    def constants_(self) -> Any:
        """The numbers of the chosen formula of each output that were taken from the data."""
        check_is_fitted(self, "status_")
        inputs, targets, weights = self._rows
        found = [
            printed_constants(equation.expression, self.names_, inputs, target, weight)
            for equation, target, weight in zip(self._chosen, targets, weights, strict=True)
        ]
        return self._one_or_all(found)

    @property
    def certificate_(self) -> Any:
        """What can be proven of the chosen formula of each output.

        That its network of units spells it, how far rounding moved it on the data, where it is
        defined, and within which bounds it stays on ten times the data's range.
        """
        check_is_fitted(self, "status_")
        if self._certificates is None:
            pairs = zip(self._chosen, self._rows[2], strict=True)
            self._certificates = [self._certify(*pair) for pair in pairs]
        return self._one_or_all(self._certificates)

    def _certify(self, equation: Equation, weight: Array) -> Certificate:
        from wug.estimators.network import network_of

        candidate = equation.candidate
        unrounded = candidate.unrounded
        used = candidate.used_inputs()
        if unrounded is not None:
            used = used | unrounded.used_inputs()
        indices = np.flatnonzero(used) if used.any() else np.array([0])
        names = tuple(self.names_[index] for index in indices)
        return certify(
            network_of([candidate.of_inputs(indices)]),
            Formula(expressions=(equation.expression,), names=names),
            torch.from_numpy(self._rows[0][np.ix_(weight > 0, indices)]),
            trained=None if unrounded is None else network_of([unrounded.of_inputs(indices)]),
        )

    def predict(self, X: ArrayLike, index: int | None = None) -> Array:
        """Evaluate the formulas; NaN where one is not defined.

        Args:
            X: (row, in).
            index: Of the formula on the front; the chosen one if not given.
        """
        check_is_fitted(self, "status_")
        inputs = validate_data(self, X, reset=False, dtype=np.float64)
        columns = [pick(front, index).candidate.predict(inputs) for front in self._fronts]
        return columns[0] if self._single else np.stack(columns, 1)

    def latex_table(self) -> Any:
        """Return the front of each output as a LaTeX table."""
        check_is_fitted(self, "status_")
        return self._one_or_all([front.latex_table() for front in self._fronts])

    def to_torch(self, index: int | None = None) -> nn.Module:
        """Return the formulas as a network of arithmetic units, one output each, in float64.

        Args:
            index: Of the formula on the front; the chosen one if not given.
        """
        from wug.estimators.network import network_of

        check_is_fitted(self, "status_")
        network: nn.Module = network_of([pick(front, index).candidate for front in self._fronts])
        return network
