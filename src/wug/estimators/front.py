"""The front as people know it: formulas by size and error, as a list, a table or LaTeX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from numbers import Integral
from typing import Any, Literal

from wug.core.errors import UserError
from wug.estimators.candidate import Candidate
from wug.estimators.readable import few_digits

Selection = Literal["best", "accuracy", "score"]


@dataclass(frozen=True, kw_only=True)
class Equation:
    """One formula of the front.

    Args:
        expression: In SymPy.
        complexity: Number of nodes, plus a charge for numbers that are not simple.
        error: Root mean square error with the rows' weights, the larger one of those on fitted and
            on held-out rows.
        r2: Share of the variance that it explains, with the rows' weights.
        seconds: When it was found.
        candidate: Its weights.
        exact: Whether it is exact.
    """

    expression: Any
    complexity: int
    error: float
    r2: float
    seconds: float
    candidate: Candidate
    exact: bool = False

    def __str__(self) -> str:
        import sympy

        return str(sympy.sstr(self.expression, full_prec=False))


class Front(list[Equation]):
    """The best formula of each size, the simplest first.

    Args:
        equations: The formulas.
        chosen: Index of the one that was chosen.
    """

    def __init__(self, equations: Sequence[Equation], chosen: int) -> None:
        super().__init__(equations)
        self.chosen = chosen

    def scores(self) -> list[float]:
        """Return how fast the logarithm of the error falls from the formula before, per node."""
        found = [0.0]
        for before, after in zip(self, self[1:], strict=False):
            errors = (max(one.error, 1e-300) for one in (before, after))
            fall = math.log(next(errors)) - math.log(next(errors))
            found.append(fall / max(after.complexity - before.complexity, 1))
        return found[: len(self)]

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per formula."""
        return [
            {
                "complexity": one.complexity, "error": one.error, "r2": one.r2, "score": score,
                "equation": str(one), "exact": one.exact, "chosen": index == self.chosen,
            }
            for index, (one, score) in enumerate(zip(self, self.scores(), strict=True))
        ]  # fmt: skip

    def table(self) -> Any:
        """Return a pandas data frame where there is pandas, else the list of rows."""
        try:
            import pandas  # type: ignore[import-untyped,unused-ignore]
        except ImportError:
            return self.rows()
        return pandas.DataFrame(self.rows())

    def latex_table(self) -> str:
        """Return the front as a LaTeX table."""
        import sympy

        lines = [r"\begin{tabular}{rrl}", r"size & error & formula \\ \hline"]
        for one in self:
            formula = sympy.latex(few_digits(one.expression))
            lines.append(rf"{one.complexity} & {one.error:.3g} & ${formula}$ \\")
        return "\n".join([*lines, r"\end{tabular}"])

    def __repr__(self) -> str:
        lines = [f"  {'size':>4}  {'error':>9}  formula"]
        for index, one in enumerate(self):
            mark = ">" if index == self.chosen else " "
            formula = few_digits(one.expression)
            lines.append(f"{mark} {one.complexity:>4}  {one.error:>9.3g}  {formula}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr{' style=font-weight:bold' if index == self.chosen else ''}>"
            f"<td>{one.complexity}</td><td>{one.error:.3g}</td>"
            f"<td>{escape(str(few_digits(one.expression)))}</td></tr>"
            for index, one in enumerate(self)
        )
        return f"<table><tr><th>size</th><th>error</th><th>formula</th></tr>{cells}</table>"


def choose(equations: Sequence[Equation], best: int, selection: Selection) -> int:
    """Return the index of the formula to take.

    Args:
        equations: The front.
        best: Index of the one with the shortest description.
        selection: ``best`` takes that one, ``accuracy`` the smallest error, ``score`` the steepest
            fall of the error's logarithm per node.
    """
    if selection == "accuracy":
        return min(range(len(equations)), key=lambda index: equations[index].error)
    if selection == "score":
        scores = Front(equations, best).scores()
        return max(range(len(equations)), key=lambda index: scores[index])
    return best


def without_twins(equations: Sequence[Equation], best: int) -> tuple[list[Equation], int]:
    """Return the front with one formula of each printed form, and where the best one is now.

    x/sqrt(0.04 x + 56) and the same with 55.9 for 56 are both printed with decimal numbers: nobody
    sees why the first is the smaller one. Of such twins the better fit stays, or the best formula.

    Args:
        equations: The front, the simplest first.
        best: Index of the one with the shortest description.
    """
    forms: dict[Any, Equation] = {}
    for index, equation in enumerate(equations):
        form = form_of(equation.expression)
        twin = forms.get(form)
        if twin is None:
            forms[form] = equation
        elif index == best or (twin is not equations[best] and equation.error <= twin.error):
            forms[form] = replace(equation, complexity=twin.complexity)
    kept = list(forms.values())
    chosen = next(i for i, one in enumerate(kept) if one.candidate is equations[best].candidate)
    return kept, chosen


def form_of(expression: Any) -> Any:
    """Return an expression with the same symbol for every decimal number.

    Example:
        >>> import sympy
        >>> x = sympy.Symbol("x")
        >>> form_of(0.25 * x + 3) == form_of(0.3 * x + 3), form_of(x / 4) == form_of(0.3 * x)
        (True, False)
    """
    import sympy

    number = sympy.Symbol("a decimal number")
    return expression.xreplace({value: number for value in expression.atoms(sympy.Float)})


def pick(front: Front, index: int | None) -> Equation:
    """Return a formula of the front by its index, or the chosen one."""
    if index is None:
        return front[front.chosen]
    if isinstance(index, bool) or not isinstance(index, Integral):
        raise UserError(f"index must be a whole number, of a formula of the front; got {index!r}.")
    index = int(index)
    if not -len(front) <= index < len(front):
        raise UserError(
            f"index must be below {len(front)}, the number of formulas on the front; got {index}."
        )
    return front[index]
