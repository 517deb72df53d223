"""The front as people know it: formulas by size and error, as a list, a table or LaTeX."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

from wug.core.errors import UserError
from wug.estimators.candidate import Candidate

Selection = Literal["best", "accuracy", "score"]
SHOWN_DIGITS = 6


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


def few_digits(expression: Any) -> Any:
    """Return an expression whose numbers are rounded for the eye."""
    import sympy

    numbers = expression.atoms(sympy.Float)
    return expression.xreplace({n: sympy.Float(n, SHOWN_DIGITS) for n in numbers})


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


def pick(front: Front, index: int | None) -> Equation:
    """Return a formula of the front by its index, or the chosen one."""
    if index is None:
        return front[front.chosen]
    if not -len(front) <= index < len(front):
        raise UserError(
            f"index must be below {len(front)}, the number of formulas on the front; got {index}."
        )
    return front[index]


def readable(expression: Any, positive: Sequence[str] = ()) -> Any:
    """Return the shortest of a few equal forms of an expression.

    Args:
        expression: In real symbols.
        positive: Names of the inputs that are never 0 or below.
    """
    import sympy

    forth = {s: sympy.Symbol(str(s), positive=True) for s in expression.free_symbols
             if str(s) in set(positive)}  # fmt: skip
    back = {new: old for old, new in forth.items()}
    expression = expression.xreplace(forth)
    forms = [expression]
    if len(expression.free_symbols) <= 12 and sympy.count_ops(expression) <= 60:
        forms += [sympy.factor_terms(expression), sympy.together(expression)]
        if expression.is_rational_function(*expression.free_symbols):
            forms += [sympy.cancel(expression), sympy.factor(expression)]
        elif not expression.has(sympy.Float):
            forms.append(sympy.powsimp(sympy.factor(sympy.together(expression))))
        forms += [other for form in forms for other in with_plain_terms(form)]
    return min(forms, key=effort_to_read).xreplace(back)


def effort_to_read(expression: Any) -> tuple[int, bool, int]:
    """Return how many operations an expression has, and what people avoid of equally long ones.

    That is one over a sum with quotients in it, and factors of terms.
    """
    import sympy

    base, power = expression.as_base_exp()
    below = base.is_Add and power.could_extract_minus_sign()
    double = below and any(one.exp.is_negative for one in base.atoms(sympy.Pow))
    terms = (term for one in expression.atoms(sympy.Add) for term in one.args)
    scaled = sum(not term.is_number and abs(term.as_coeff_Mul()[0]) != 1 for term in terms)
    return int(sympy.count_ops(expression)), bool(double), scaled


def with_plain_terms(expression: Any) -> Iterator[Any]:
    """Yield a product with a power of a sum scaled so that one of its terms has no factor.

    So 0.5 S / (1 + 0.2 S) becomes 2.5 S / (5 + S), as people write it.

    Example:
        >>> import sympy
        >>> S = sympy.Symbol("S")
        >>> list(with_plain_terms(0.5 * S / (1 + 0.25 * S)))
        [2.0*S/(S + 4.0)]
    """
    import sympy

    coefficient, rest = expression.as_coeff_Mul()
    factors = sympy.Mul.make_args(rest)
    if sum(factor.as_base_exp()[0].is_Add for factor in factors) > 1:
        return
    for index, factor in enumerate(factors):
        base, power = factor.as_base_exp()
        if not (base.is_Add and power.is_number) or factor == expression:
            continue
        for scale in dict.fromkeys(term.as_coeff_Mul()[0] for term in base.args):
            if scale in (1, -1) or not (scale > 0 or power.is_Integer):
                continue
            pairs = (term.as_coeff_Mul() for term in base.args)
            terms = (1 * r if c == scale else (c / scale) * r for c, r in pairs)
            others = (*factors[:index], *factors[index + 1 :])
            yield sympy.Mul(coefficient * scale**power, *others, sympy.Add(*terms) ** power)
