"""Formulas are printed as people write them."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from wug.estimators.candidate import Candidate
from wug.estimators.front import Equation, without_twins
from wug.estimators.readable import readable, with_plain_terms

a, b, c, S = sympy.symbols("a b c S", real=True)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (0.5 * S / (0.25 * S + 1), "2*S/(S + 4)"),
        (1 / (0.25 + 2.0 / S), "4*S/(S + 8)"),
        (3 * a / (a / 4 + 2), "12*a/(a + 8)"),
        (1 / sympy.sqrt((1 - b**2 / c**2) / a**2), "a/sqrt(-b**2/c**2 + 1)"),
        (1.5 * a / sympy.sqrt(1 - b**2 / c**2), "3*a/(2*sqrt(-b**2/c**2 + 1))"),
        (sympy.sqrt(a**2 * (1 + b)), "a*sqrt(b + 1)"),
        (1 / (1 / a + 1 / b), "a*b/(a + b)"),
        (b / (b / a + 1), "a*b/(a + b)"),
        (1 / (0.002 + 0.098 * sympy.exp(-S)), "500/(1 + 49*exp(-S))"),
        (8 * a * sympy.sin(a) ** 3 - 6 * a * sympy.sin(a), "-2*a*sin(3*a)"),
        (8.31446 * (a + 273.149999999998) / b, "8.31446*(a + 273.15)/b"),
        (a * (b**2 / 2 + c), "a*(b**2/2 + c)"),
        (sympy.Integer(7), "7"),
    ],
)
def test_familiar_forms(expression: sympy.Expr, text: str) -> None:
    shown = readable(expression, ["a", "b", "c", "S"])
    assert sympy.sstr(shown, full_prec=False) == text


def test_magnitudes_stay_where_inputs_may_be_negative() -> None:
    assert readable(sympy.sqrt(a**2 * (1 + b)), ["b"]).has(sympy.Abs)


def test_scaled_sums_have_the_same_value() -> None:
    expression = 0.3 * a * sympy.exp(b) / sympy.sqrt(0.7 * a + 2.5 * c + 1)
    point = {a: 1.3, b: 0.2, c: 2.1}
    forms = list(with_plain_terms(expression))
    assert len(forms) == 2
    for form in forms:
        assert abs(form.subs(point) / expression.subs(point) - 1) < 1e-14


def test_of_twins_the_better_fit_stays() -> None:
    def equation(expression: sympy.Expr, complexity: int, error: float) -> Equation:
        candidate = Candidate(
            exponents=np.ones((1, 1)), coefficients=np.ones((1, 1)), powers=np.ones(1)
        )
        return Equation(expression=expression, complexity=complexity, error=error, r2=0.0,
                        seconds=0.0, candidate=candidate)  # fmt: skip

    simple, fitted = equation(a / 9, 3, 9.0), equation(0.113 * a, 4, 8.0)
    one, twin = equation(5.003 * a / (a + 2.2), 9, 2.0), equation(5.015 * a / (a + 2.3), 13, 1.0)
    front, best = without_twins([simple, fitted, one, twin], 1)
    assert [(each.complexity, each.error) for each in front] == [(3, 9.0), (4, 8.0), (9, 1.0)]
    assert best == 1
    front, best = without_twins([simple, fitted, one, twin], 2)
    assert front[best] is one and len(front) == 3
    front, best = without_twins([simple, fitted, one, twin], 3)
    assert front[best].candidate is twin.candidate and front[best].complexity == 9
