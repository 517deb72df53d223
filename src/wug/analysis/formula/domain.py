"""Where a formula is defined: what is not 0 below a line, and positive in roots and logarithms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import sympy

from wug.analysis.formula.intervals import Box, NotProven, enclosures
from wug.analysis.formula.program import FormulaFunction, compile_expressions
from wug.analysis.formula.reading import Formula


@dataclass(frozen=True)
class Relation:
    """How something compares with 0: in words, in SymPy, for arrays, and for intervals."""

    words: str
    relational: Callable[[Any, int], Any]
    holds: Callable[[Any], Any]
    proven: Callable[[float, float], bool]


RELATIONS = {
    "!=": Relation("is not 0", sympy.Ne, lambda v: v != 0, lambda low, high: low > 0 or high < 0),
    ">": Relation("is positive", sympy.Gt, lambda v: v > 0, lambda low, _: low > 0),
    ">=": Relation("is not negative", sympy.Ge, lambda v: v >= 0, lambda low, _: low >= 0),
}


@dataclass(frozen=True)
class Condition:
    """What must hold for a formula to be defined.

    Args:
        expression: What is compared with 0.
        relation: ``"!="``, ``">"`` or ``">="``.
        on_data: Whether it holds for all rows of the data.
        on_box: Whether it is proven for the whole box.
    """

    expression: Any
    relation: str
    on_data: bool
    on_box: bool

    def __str__(self) -> str:
        return f"{self.expression} {RELATIONS[self.relation].words}"

    @property
    def relational(self) -> Any:
        """The condition as a relation of SymPy."""
        return RELATIONS[self.relation].relational(self.expression, 0)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {
            "words": str(self),
            "relation": f"{self.expression} {self.relation} 0",
            "on_data": self.on_data,
            "on_box": self.on_box,
        }


def requirements(expression: Any) -> Iterator[tuple[Any, str]]:
    """Yield what must hold for an expression to be defined: what, and how it compares with 0.

    Example:
        >>> a, b = sympy.symbols("a b", real=True)
        >>> list(requirements(sympy.log(a) / (b**2 * (abs(a) + 1))))
        [(b, '!='), (a, '>')]
    """
    for node in sympy.preorder_traversal(expression):
        if node.is_Pow and not node.exp.is_integer:
            yield from plainest(node.base, ">=" if node.exp.is_positive else ">")
        elif node.is_Pow and not node.exp.is_nonnegative:
            yield from plainest(node.base, "!=")
        elif isinstance(node, sympy.log):
            yield from plainest(node.args[0], ">")


def plainest(expression: Any, relation: str) -> Iterator[tuple[Any, str]]:
    """Yield a condition in its plainest form: nothing if it always holds, each factor alone."""
    if relation == ">" and expression.is_nonnegative:
        relation = "!="
    if expression.is_nonzero if relation == "!=" else expression.is_nonnegative:
        return
    if relation == "!=" and isinstance(expression, sympy.Mul | sympy.Abs):
        for factor in expression.args:
            yield from plainest(factor, relation)
    elif relation == "!=" and expression.is_Pow:
        yield from plainest(expression.base, relation)
    else:
        yield expression, relation


def domain_of(formula: Formula, rows: Any, box: Box) -> tuple[Condition, ...]:
    """Return the conditions under which a formula is defined.

    Args:
        formula: The formula.
        rows: An array of the data, (rows, inputs).
        box: Lowest and highest value of every symbol.
    """
    forth = {sympy.Symbol(n, real=True): sympy.Symbol(n, positive=True) for n in formula.positive}
    back = {new: old for old, new in forth.items()}
    needed = dict.fromkeys((symbol, ">") for symbol in forth)
    for expression in formula.expressions:
        for what, relation in requirements(expression.xreplace(forth)):
            needed[what.xreplace(back), relation] = None
    conditions = []
    for what, relation in needed:
        program = compile_expressions([what], formula.symbols)
        values = FormulaFunction(program, formula.names)(rows)
        conditions.append(
            Condition(
                what,
                relation,
                on_data=bool(RELATIONS[relation].holds(values).all()),
                on_box=proven_on(what, relation, box),
            )
        )
    return tuple(conditions)


def proven_on(expression: Any, relation: str, box: Box) -> bool:
    """Return whether interval arithmetic proves a condition on a box."""
    try:
        [(low, high)] = enclosures([expression], box)
    except NotProven:
        return False
    return RELATIONS[relation].proven(low, high)
