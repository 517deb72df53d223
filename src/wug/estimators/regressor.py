"""A scikit-learn regressor whose model is a formula.

It trains many small arithmetic networks at once, of several structures, with second-order steps;
rounds their weights to simple numbers where the data allow it; and keeps the front of the best
formulas by error and size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn

from wug.analysis.formula import Certificate, Formula, certify
from wug.core.errors import UserError
from wug.estimators.candidate import Array, Candidate
from wug.estimators.data import Limits
from wug.estimators.search import LEAST_EXPLAINED, Scored, Search

OPERATIONS = ("add", "sub", "mul", "div", "pow", "root")
# Rows that a certificate is checked on.
MOST_CERTIFIED = 2_000

Status = Literal["exact", "noisy", "incomplete", "none"]


@dataclass(frozen=True, kw_only=True)
class Equation:
    """One formula of the front.

    Args:
        expression: In SymPy.
        complexity: Number of nodes, plus a charge for numbers that are not simple.
        error: Root mean square error, the larger one of those on fitted and on held-out rows.
        r2: Share of the held-out variance that it explains.
        seconds: When it was found.
        candidate: Its weights.
    """

    expression: Any
    complexity: int
    error: float
    r2: float
    seconds: float
    candidate: Candidate

    def __str__(self) -> str:
        import sympy

        return str(sympy.sstr(self.expression, full_prec=False))


class ArithmeticRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Find a formula of sums, products, quotients and powers that holds outside the data.

    Args:
        operations: What a formula may use, of ``add``, ``sub``, ``mul``, ``div``, ``pow`` (whole
            exponents above 1) and ``root`` (fractional exponents).
        max_terms: Terms of a sum of products.
        max_exponent: Largest magnitude of an exponent.
        time_budget: Seconds that a fit may take at most; it ends sooner once a formula is exact or
            nothing is left to explain.
        random_state: Of the held-out rows and the starts.
        verbose: 1 prints each better formula as it is found.

    Attributes:
        equations_: The front: no simpler formula has a smaller error. A list per output if there
            are several.
        expression_: The chosen formula in SymPy; a list if there are several outputs.
        latex_: The same in LaTeX.
        certificate_: What can be proven of it (`wug.analysis.formula.Certificate`).
        status_: ``exact`` (met up to rounding), ``noisy`` (what is left looks like noise),
            ``incomplete`` (something is left that no formula was found for) or ``none`` (the
            inputs do not explain the target); a list if there are several outputs.
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
        "max_terms": [Interval(Integral, 1, None, closed="left")],
        "max_exponent": [Interval(Real, 0, None, closed="neither")],
        "time_budget": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        operations: Sequence[str] = OPERATIONS,
        max_terms: int = 6,
        max_exponent: float = 6.0,
        time_budget: float = 30.0,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.operations = operations
        self.max_terms = max_terms
        self.max_exponent = max_exponent
        self.time_budget = time_budget
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, X: ArrayLike, y: ArrayLike, *, on_better: Callable[[Equation], None] | None = None
    ) -> Self:
        """Search for formulas.

        Args:
            X: (row, in).
            y: (row,) or (row, output).
            on_better: Called with each better formula as it is found.
        """
        self._validate_params()
        unknown = set(self.operations) - set(OPERATIONS)
        if unknown:
            raise UserError(
                f"ArithmeticRegressor: operations must be among {', '.join(OPERATIONS)}; "
                f"got {', '.join(sorted(map(repr, unknown)))}."
            )
        inputs, targets = validate_data(
            self, X, y, multi_output=True, y_numeric=True, dtype=np.float64, ensure_min_samples=2
        )
        targets = np.asarray(targets, dtype=np.float64)
        self._single = targets.ndim == 1
        columns = targets.reshape(len(targets), -1).T
        seeds = check_random_state(self.random_state).randint(0, 2**31 - 1, size=len(columns))
        self._fronts, self._chosen, statuses = [], [], []
        for column, seed in zip(columns, seeds, strict=True):
            search = Search(
                inputs=inputs, target=np.ascontiguousarray(column), seed=int(seed),
                limits=Limits(
                    operations=frozenset(self.operations), max_terms=self.max_terms,
                    max_exponent=float(self.max_exponent),
                ),
                seconds=self.time_budget / len(columns), on_better=self._reporter(on_better),
            )  # fmt: skip
            search.run()
            self._fronts.append([self._equation(scored, search) for scored in search.front()])
            self._chosen.append(self._equation(search.best, search))
            statuses.append(status_of(search))
        self._sample = inputs[:MOST_CERTIFIED]
        self.status_ = statuses[0] if self._single else statuses
        return self

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

    def _equation(self, scored: Scored, search: Search | None = None) -> Equation:
        expression = readable(scored.candidate.expression(self.names_))
        variance = math.nan if search is None else float(np.var(search.held.target))
        return Equation(
            expression=expression,
            complexity=scored.complexity,
            error=scored.error,
            r2=1 - scored.error**2 / variance if variance else math.nan,
            seconds=scored.seconds,
            candidate=scored.candidate,
        )

    @property
    def names_(self) -> list[str]:
        """Names of the inputs: those that came with them, or x1, x2, ..."""
        named = getattr(self, "feature_names_in_", None)
        if named is not None:
            return [str(name) for name in named]
        return [f"x{place + 1}" for place in range(self.n_features_in_)]

    @property
    def equations_(self) -> Any:
        """The front of each output."""
        check_is_fitted(self, "status_")
        return self._fronts[0] if self._single else self._fronts

    @property
    def expression_(self) -> Any:
        """The chosen formula of each output."""
        check_is_fitted(self, "status_")
        expressions = [equation.expression for equation in self._chosen]
        return expressions[0] if self._single else expressions

    @property
    def latex_(self) -> Any:
        """The chosen formula of each output in LaTeX."""
        import sympy

        check_is_fitted(self, "status_")
        texts = [sympy.latex(equation.expression) for equation in self._chosen]
        return texts[0] if self._single else texts

    @property
    def certificate_(self) -> Any:
        """What can be proven of the chosen formula of each output.

        That its network of units spells it, how far rounding moved it on the data, where it is
        defined, and within which bounds it stays on ten times the data's range.
        """
        check_is_fitted(self, "status_")
        if not hasattr(self, "_certificates"):
            self._certificates = [self._certify(equation) for equation in self._chosen]
        return self._certificates[0] if self._single else self._certificates

    def _certify(self, equation: Equation) -> Certificate:
        from wug.estimators.network import network_of

        candidate = equation.candidate
        unrounded = candidate.unrounded
        return certify(
            network_of([candidate]),
            Formula(expressions=(equation.expression,), names=tuple(self.names_)),
            torch.from_numpy(self._sample),
            trained=None if unrounded is None else network_of([unrounded]),
        )

    def predict(self, X: ArrayLike) -> Array:
        """Evaluate the formulas; NaN where one is not defined.

        Args:
            X: (row, in).
        """
        check_is_fitted(self, "status_")
        inputs = validate_data(self, X, reset=False, dtype=np.float64)
        columns = [equation.candidate.predict(inputs) for equation in self._chosen]
        return columns[0] if self._single else np.stack(columns, 1)

    def to_torch(self) -> nn.Module:
        """Return the formulas as a network of arithmetic units, one output each, in float64."""
        from wug.estimators.network import network_of

        check_is_fitted(self, "status_")
        network: nn.Module = network_of([equation.candidate for equation in self._chosen])
        return network


def status_of(search: Search) -> Status:
    """Say what the search ended with."""
    best = search.best
    if best.exact:
        return "exact"
    if 1 - best.relative_error**2 < LEAST_EXPLAINED:
        return "incomplete" if search.something_left() else "none"
    return "incomplete" if search.something_left() else "noisy"


def readable(expression: Any) -> Any:
    """Return the shortest of a few equal forms of an expression."""
    import sympy

    forms = [expression]
    if len(expression.free_symbols) <= 12 and sympy.count_ops(expression) <= 60:
        forms += [sympy.factor_terms(expression), sympy.together(expression)]
        if expression.is_rational_function(*expression.free_symbols):
            forms += [sympy.cancel(expression), sympy.factor(expression)]
    return min(forms, key=sympy.count_ops)


def score_formula(
    formula: str, X: ArrayLike, y: ArrayLike, names: Sequence[str] | None = None
) -> dict[str, float]:
    """Score a formula of your own on data.

    Args:
        formula: Such as ``x1*x2 + 3``, in the columns' names or x1, x2, ...
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
    import sympy

    columns = getattr(X, "columns", None)
    inputs, target = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if names is None:
        names = (
            [f"x{place + 1}" for place in range(inputs.shape[1])]
            if columns is None
            else [str(name) for name in columns]
        )
    symbols = {name: sympy.Symbol(name, real=True) for name in names}
    try:
        expression = sympy.parse_expr(formula.replace("^", "**"), local_dict=dict(symbols))
    except (SyntaxError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"score_formula: {formula!r} is not a formula: {error}") from None
    unknown = expression.free_symbols - set(symbols.values())
    if unknown:
        raise UserError(
            f"score_formula: unknown input {sorted(map(str, unknown))[0]!r}; the inputs are "
            f"{', '.join(names)}."
        )
    function = sympy.lambdify(list(symbols.values()), expression, "numpy")
    with np.errstate(all="ignore"):
        values = np.broadcast_to(np.asarray(function(*inputs.T), dtype=np.float64), target.shape)
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
