"""A scikit-learn regressor whose model is a formula.

It trains many small arithmetic networks at once, of several structures, with second-order steps;
rounds their weights to simple numbers where the data allow it; and keeps the front of the best
formulas by error and size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, validate_data

from wug.core.errors import UserError
from wug.estimators.candidate import Array
from wug.estimators.data import Limits
from wug.estimators.exactness import UNIT, written_rounding
from wug.estimators.fitted_formulas import FittedFormulas
from wug.estimators.front import Equation, Front, Selection, choose, pick, without_twins
from wug.estimators.own_formula import score_formula
from wug.estimators.readable import readable
from wug.estimators.robust import outliers
from wug.estimators.scoring import Scored
from wug.estimators.search import Search
from wug.estimators.units import Measures, dimension_of
from wug.estimators.verdict import Status

__all__ = ["ArithmeticRegressor", "Equation", "Status", "score_formula"]

OPERATIONS = ("add", "sub", "mul", "div", "pow", "root")
FUNCTIONS = ("exp", "log", "sin", "cos", "tanh")


class ArithmeticRegressor(FittedFormulas, MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Find a formula of arithmetic, powers and functions that holds outside the data.

    Args:
        operations: What a formula may use, of ``add``, ``sub``, ``mul``, ``div``, ``pow`` (whole
            exponents above 1) and ``root`` (fractional exponents).
        functions: Of ``exp``, ``log``, ``sin``, ``cos`` and ``tanh``, tried in any case; or
            ``"auto"``, all of them, but only once arithmetic alone was refused by the data.
        max_terms: Most terms of any sum in a formula, those inside of functions, roots and
            denominators included; a constant is a term, so that with 1 there is no sum at all. If
            not given, as many as the data tell apart (of products of any powers up to 6).
        max_exponent: Largest magnitude of an exponent.
        units: Of the inputs, such as ``("kg", "m/s")``: only formulas are searched whose units come
            out. Numbers are pure; a constant of nature is a column of its own.
        target_unit: Of the target, or of each output; needed with ``units``.
        units_factor: Whether one factor before the whole formula may have a unit.
        loss: ``"absolute"`` errors, or ``"relative"`` ones, as shares of the target.
        robust: Whether to leave out rows that do not belong to the law of the others.
        model_selection: Which formula of the front is taken: ``"best"``, the shortest description
            of formula and errors together; ``"accuracy"``, the smallest error; ``"score"``, the
            steepest fall of the error's logarithm per node.
        warm_start: Whether a fit begins with the formulas of the one before.
        time_budget: Seconds that a fit may take at most; it ends sooner once a formula is exact or
            nothing is left to explain.
        random_state: Of the held-out rows and the starts.
        verbose: 1 prints each better formula as it is found.

    Attributes:
        equations_: The front: no simpler formula has a smaller error. A list per output if there
            are several.
        expression_: The chosen formula in SymPy; a list if there are several outputs.
        latex_: The same in LaTeX.
        constants_: Its decimal numbers as they are printed, with their standard errors.
        certificate_: What can be proven of it (`wug.analysis.formula.Certificate`).
        status_: Of the chosen formula: ``exact`` (met up to rounding), ``noisy`` (what is left
            looks like noise), ``approximate`` (close, but what is left is not noise),
            ``incomplete`` (something is left that no formula was found for), ``undecided`` (too few
            distinct rows to tell a rule from a coincidence, or noise from something else) or
            ``none`` (the inputs do not explain the target); a list if there are several outputs.
        outliers_: Indices of the rows that a robust fit left out.
        interrupted_: Whether the search was interrupted (Ctrl-C); the front is what there was.
        n_features_in_: Number of inputs.
        feature_names_in_: Names of the inputs, if they came with names.

    Example:
        >>> rows = np.random.default_rng(0).uniform(1, 5, (100, 3))
        >>> model = ArithmeticRegressor(random_state=0).fit(rows, rows[:, 0] / rows[:, 1] ** 2)
        >>> model.expression_, model.status_
        (x1/x2**2, 'exact')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "operations": ["array-like", tuple],
        "functions": ["array-like", tuple, StrOptions({"auto"})],
        "max_terms": [Interval(Integral, 1, None, closed="left"), None],
        "max_exponent": [Interval(Real, 0, None, closed="neither")],
        "units": ["array-like", tuple, None],
        "target_unit": [str, "array-like", tuple, None],
        "units_factor": ["boolean"],
        "loss": [StrOptions({"absolute", "relative"})],
        "robust": ["boolean"],
        "model_selection": [StrOptions({"best", "accuracy", "score"})],
        "warm_start": ["boolean"],
        "time_budget": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        operations: Sequence[str] = OPERATIONS,
        functions: Sequence[str] | str = "auto",
        max_terms: int | None = None,
        max_exponent: float = 6.0,
        units: Sequence[str] | None = None,
        target_unit: str | Sequence[str] | None = None,
        units_factor: bool = False,
        loss: str = "absolute",
        robust: bool = False,
        model_selection: Selection = "best",
        warm_start: bool = False,
        time_budget: float = 30.0,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.operations = operations
        self.functions = functions
        self.max_terms = max_terms
        self.max_exponent = max_exponent
        self.units = units
        self.target_unit = target_unit
        self.units_factor = units_factor
        self.loss = loss
        self.robust = robust
        self.model_selection = model_selection
        self.warm_start = warm_start
        self.time_budget = time_budget
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        on_better: Callable[[Equation], None] | None = None,
    ) -> Self:
        """Search for formulas.

        Args:
            X: (row, in).
            y: (row,) or (row, output).
            sample_weight: Of each row's squared error; 1 / sigma^2 for errors of known size.
            on_better: Called with each better formula as it is found.
        """
        self._validate_params()
        limits = self._limits()
        unit = max(unit_of(values) for values in (X, y))
        inputs, targets = validate_data(
            self, X, y, multi_output=True, y_numeric=True, dtype=np.float64, ensure_min_samples=2
        )
        weights = np.sqrt(_check_sample_weight(sample_weight, inputs, ensure_non_negative=True))
        targets = np.asarray(targets, dtype=np.float64)
        column_units = np.array([written_rounding(column[:, None]) for column in inputs.T])
        earlier = getattr(self, "_fronts", []) if self.warm_start else []
        self._single = targets.ndim == 1
        columns = targets.reshape(len(targets), -1).T
        seeds = check_random_state(self.random_state).randint(0, 2**31 - 1, size=len(columns))
        self._positive = [n for n, low in zip(self.names_, inputs.min(0), strict=True) if low > 0]
        measures = self._measures(len(columns))
        fronts, statuses, counted, left_out = [], [], [], []
        self.interrupted_ = False
        for index, (column, seed) in enumerate(zip(columns, seeds, strict=True)):
            weight = weights / scale_of(column) if self.loss == "relative" else weights
            # After an interrupt the other outputs are answered with what takes no time.
            seconds = 0.0 if self.interrupted_ else self.time_budget / len(columns)
            far = np.zeros(len(column), dtype=bool)
            starts = tuple(
                one.candidate
                for one in (earlier[index] if index < len(earlier) else ())
                if one.candidate.num_inputs == inputs.shape[1]  # or they are of another table
            )
            if self.robust and seconds:
                told = outliers(inputs, column, weight, limits, seconds, int(seed))
                far, seconds = told.far, 0.6 * seconds
                if told.interrupted:
                    # The front is what the samples told, fitted on the rows that belong.
                    starts, seconds, self.interrupted_ = (*starts, *told.formulas), 0.0, True
            search = Search(
                inputs=inputs, target=np.ascontiguousarray(column), seed=int(seed), limits=limits,
                weight=np.where(far, 0.0, weight), seconds=seconds,
                unit=max(unit, written_rounding(column[:, None])), column_units=column_units,
                measures=measures[index],
                starts=starts, on_better=self._reporter(on_better),
            )  # fmt: skip
            search.run()
            front, status = self._front(search)
            fronts.append(front)
            statuses.append(status)
            left_out.append(np.flatnonzero(far))
            counted.append(np.where(far, 0.0, weight))
            self.interrupted_ |= search.interrupted
        self._fronts = fronts
        # Copies: constants and certificates are computed when somebody asks for them.
        self._rows = inputs.copy(), columns.copy(), counted
        self._certificates = None
        self.status_ = statuses[0] if self._single else statuses
        self.outliers_ = left_out[0] if self._single else left_out
        return self

    def _limits(self) -> Limits:
        functions = FUNCTIONS if isinstance(self.functions, str) else tuple(self.functions)
        pairs = ((self.operations, OPERATIONS, "operations"), (functions, FUNCTIONS, "functions"))
        for given, known, what in pairs:
            unknown = set(given) - set(known)
            if unknown:
                raise UserError(
                    f"ArithmeticRegressor: {what} must be among {', '.join(known)}; "
                    f"got {', '.join(sorted(map(repr, unknown)))}."
                )
        return Limits(
            operations=frozenset(self.operations), functions=functions,
            always_functions=not isinstance(self.functions, str), max_terms=self.max_terms,
            max_exponent=float(self.max_exponent),
        )  # fmt: skip

    def _measures(self, num_outputs: int) -> list[Measures | None]:
        """Return what the columns measure, for each output; nothing if there are no units."""
        if self.units is None:
            if self.target_unit is not None:
                raise UserError("ArithmeticRegressor: target_unit needs units of the inputs, too.")
            return [None] * num_outputs
        one = self.target_unit is None or isinstance(self.target_unit, str)
        goals = [self.target_unit] if one else list(self.target_unit or ())
        if len(self.units) != self.n_features_in_ or len(goals) != num_outputs or goals == [None]:
            raise UserError(
                f"ArithmeticRegressor: units must be {self.n_features_in_}, one for each input, "
                f"and target_unit {num_outputs}; got {len(self.units)} units and "
                f"target_unit={self.target_unit!r}."
            )
        inputs = tuple(dimension_of(str(text)) for text in self.units)
        found = [Measures(inputs, dimension_of(str(goal)), self.units_factor) for goal in goals]
        for measures in found:
            measures.check()
        return list(found)

    def _reporter(
        self, on_better: Callable[[Equation], None] | None
    ) -> Callable[[Scored], None] | None:
        if not self.verbose and on_better is None:
            return None

        def report(scored: Scored) -> None:
            equation = self._equation(scored)
            if on_better is not None:
                on_better(equation)
            if self.verbose:
                print(f"{scored.seconds:6.1f} s  error {scored.error:.3g}  {equation}")

        return report

    def _front(self, search: Search) -> tuple[Front, Status]:
        """Return the front with the best formula on it, and the status of the chosen one."""
        best_one = search.best
        others = [one for one in search.front() if one.complexity != best_one.complexity]
        scored = sorted([*others, best_one], key=lambda one: one.complexity)
        equations, best = without_twins(
            [self._equation(one, search) for one in scored], scored.index(best_one)
        )
        front = Front(equations, choose(equations, best, self.model_selection))
        chosen = pick(front, None).candidate
        return front, search.status(next(one for one in scored if one.candidate is chosen))

    def _equation(self, scored: Scored, search: Search | None = None) -> Equation:
        expression = readable(scored.candidate.expression(self.names_), self._positive)
        varies = search is not None and np.ptp(search.target[search.all_rows]) > 0
        return Equation(
            expression=expression,
            complexity=scored.complexity,
            error=scored.error,
            r2=1 - scored.relative_error**2 if varies else math.nan,
            seconds=scored.seconds,
            candidate=scored.candidate,
            exact=scored.exact,
        )

    def _repr_html_(self) -> str:
        if not hasattr(self, "status_"):
            return str(super()._repr_html_inner())
        return "".join(front._repr_html_() for front in self._fronts)


def unit_of(values: Any) -> float:
    """Return the relative rounding of numbers: that of their type if they are floats."""
    kind = getattr(values, "dtype", None)
    if isinstance(kind, np.dtype) and kind.kind == "f":
        return float(max(np.finfo(kind).eps, UNIT))
    return UNIT


def scale_of(target: Array) -> Array:
    """Return the sizes that errors are shares of; a target near 0 counts as a small one."""
    size = np.abs(target)
    positive = size[size > 0]
    return np.maximum(size, 1e-3 * float(np.median(positive)) if len(positive) else 1.0)
