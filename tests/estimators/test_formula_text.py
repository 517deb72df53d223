"""Formulas that people type are read, and nothing is run."""

import pytest
import sympy

from wug.core.errors import UserError
from wug.estimators.formula_text import read_formula_text

A, B = sympy.symbols("a b", real=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b*2", A + 2 * B),
        ("-a**2", -(A**2)),
        ("a^-2", A**-2),
        ("2**3**2", sympy.Integer(512)),
        ("0**0 + 10**-99*a", 1 + sympy.Rational(1, 10**99) * A),
        ("a - b - 1", A - B - 1),
        ("a/b/2", A / B / 2),
        ("sqrt(a) + ln(b)", sympy.sqrt(A) + sympy.log(B)),
        ("sin(2*pi*a)", sympy.sin(2 * sympy.pi * A)),
        ("1.5e-3*a", sympy.Float("1.5e-3") * A),
    ],
)
def test_arithmetic(text: str, expected: sympy.Expr) -> None:
    assert read_formula_text(text, ["a", "b"]) == expected


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "a.__class__",
        "a if b else 1",
        "[a]",
        "lambda: a",
        "a; b",
        "exec('1')",
        "(a",
        "a +",
        "",
        "9**9**9**9",
        "log(-1)*a",
        "0**-1",
        "(-8)**(1/3)",
        "asin(5) + a",
        "((9**99)**9)",
        "((((9**99)**99)**99)**99)*a",
        "((((9**99*a)**99)**99)**99)",
        "((a**99)**99)**99",
        "exp(exp(exp(9)))",
        "exp(exp(9))*a",
        "sqrt(-4)*a",
        "log(a - a)",
        "tan(pi/2)",
        "1e400",
        "1" * 5000,
        "(" * 1000 + "a" + ")" * 1000,
    ],
)
def test_what_is_no_formula_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="score_formula"):
        read_formula_text(text, ["a", "b"])


def test_names_may_be_anything() -> None:
    names = ["drag force [N]", "drag", "x-1"]
    found = read_formula_text("drag force [N] / drag + x-1", names)
    first, second, third = (sympy.Symbol(name, real=True) for name in names)
    assert found == first / second + third
