import numpy as np
import pytest
import sympy

from wug.analysis.formula.domain import domain_of, requirements
from wug.analysis.formula.reading import Formula

A, B = sympy.symbols("a b", real=True)
LOG, EXP, SQRT = sympy.log, sympy.exp, sympy.sqrt


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (A / B, {(B, "!=")}),
        (A * B + A**2, set()),
        (A**2 / B**3, {(B, "!=")}),
        (1 / (A * B), {(A, "!="), (B, "!=")}),
        (1 / (A + B), {(A + B, "!=")}),
        (1 / (1 + A**2), set()),
        (1 / (1 + EXP(-A)), set()),
        (SQRT(A), {(A, ">=")}),
        (A**-1.5, {(A, ">")}),
        (SQRT(abs(A)), set()),
        (1 / SQRT(abs(A)), {(A, "!=")}),
        (SQRT(A**2 + 1), set()),
        (LOG(A * B), {(A * B, ">")}),
        (LOG(abs(A)), {(A, "!=")}),
        (LOG(abs(A) + 0.1), set()),
        (SQRT(1 - 1 / B), {(1 - 1 / B, ">="), (B, "!=")}),
        (sympy.GoldenRatio**A, set()),
        (A**B, {(A, ">")}),
    ],
    ids=lambda value: str(sorted(map(str, value))) if isinstance(value, set) else str(value),
)
def test_requirements(expression, expected):
    assert set(requirements(expression)) == expected


def test_conditions_on_data_and_box():
    formula = Formula((SQRT(A) / B,), ("a", "b"))
    rows = np.array([[1.0, 2.0], [4.0, -1.0]])
    conditions = domain_of(formula, rows, {A: (1.0, 9.0), B: (-3.0, 3.0)})
    found = {str(c): (c.relational, c.on_data, c.on_box) for c in conditions}
    assert found == {
        "b is not 0": (sympy.Ne(B, 0), True, False),
        "a is not negative": (sympy.Ge(A, 0), True, True),
    }
    conditions = domain_of(formula, rows - [[2.0, 2.0]], {A: (-1.0, 9.0), B: (0.5, 3.0)})
    assert sorted((c.to_json() for c in conditions), key=str) == [
        {"words": "a is not negative", "relation": "a >= 0", "on_data": False, "on_box": False},
        {"words": "b is not 0", "relation": "b != 0", "on_data": False, "on_box": True},
    ]


def test_positive_inputs_are_a_condition():
    formula = Formula((abs(A) / B,), ("a", "b")).where_positive(["a", "b"])
    conditions = domain_of(formula, np.ones((1, 2)), {A: (0.0, 1.0), B: (1.0, 2.0)})
    assert [str(c) for c in conditions] == ["a is positive", "b is not 0"]
    assert [c.on_box for c in conditions] == [False, True]
