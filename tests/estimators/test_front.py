"""Formulas are printed as people write them."""

from __future__ import annotations

import pytest
import sympy

from wug.estimators.front import readable, with_plain_terms

a, b, c, S = sympy.symbols("a b c S", real=True)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (0.5 * S / (0.25 * S + 1), "2.0*S/(S + 4.0)"),
        (1 / (0.25 + 2.0 / S), "4.0*S/(S + 8.0)"),
        (3 * a / (a / 4 + 2), "12*a/(a + 8)"),
        (1 / sympy.sqrt((1 - b**2 / c**2) / a**2), "a/sqrt(-b**2/c**2 + 1)"),
        (1.5 * a / sympy.sqrt(1 - b**2 / c**2), "1.5*a/sqrt(-b**2/c**2 + 1)"),
        (sympy.sqrt(a**2 * (1 + b)), "a*sqrt(b + 1)"),
        (1 / (1 / a + 1 / b), "a*b/(a + b)"),
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
