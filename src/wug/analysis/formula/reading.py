"""Reads the formula off a network of arithmetic units.

What a unit computes is spelled by its weights; a stack of units is its formulas put into each
other, and a recurrent cell its formula put into itself, once for every step.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import sympy
from torch import nn

from wug.analysis.formula.program import (
    NUMPY,
    FormulaFunction,
    FormulaModule,
    compile_expressions,
    require_operations,
)
from wug.core.errors import UserError, require_at_least
from wug.core.registry import register
from wug.functional.expressions import exact, input_symbols
from wug.layers.arithmetic_cell import ArithmeticCell
from wug.models.arithmetic_stack import ArithmeticStack
from wug.models.recurrent_stack import RecurrentStack

# SymPy's algorithms can take forever: what is larger than this is left as it is.
LARGEST_EXPANSION = 500
LARGEST_FACTORISATION = 60
MOST_FACTORED_INPUTS = 8
MOST_FACTORS = 64
LATEX_SPECIAL = {"\\": r"\backslash ", " ": r"\ ", "~": r"\sim ", "^": r"\hat{\ }"}


def num_nodes(expression: Any) -> int:
    """Return how many nodes the tree of an expression has.

    Example:
        >>> num_nodes(sympy.sympify("2*x + y"))
        5
    """
    return sum(1 for _ in sympy.preorder_traversal(expression))


def num_terms(expression: Any) -> int:
    """Return an upper bound of how many terms the expression has once it is expanded.

    SymPy also expands below lines and inside of functions, so these count too.

    Example:
        >>> num_terms(sympy.sympify("(a + b)**2 * (c + d + 1)"))
        12
    """
    inside = [num_terms(argument) for argument in expression.args]
    if expression.is_Add:
        return sum(inside)
    if expression.is_Mul:
        return math.prod(inside)
    if expression.is_Pow and expression.exp.is_number:
        return int(inside[0] ** min(math.ceil(abs(expression.exp)), MOST_FACTORS))
    return max(inside, default=1)


def with_floats(expression: Any, change: Callable[[float], Any]) -> Any:
    """Return the expression with every floating-point number changed."""
    return expression.xreplace({f: change(float(f)) for f in expression.atoms(sympy.Float)})


def plainer(value: float, tolerance: float, max_denominator: int) -> Any:
    """Return a rational that is shorter than the number and as near as the tolerance, if any.

    Example:
        >>> [plainer(v, 1e-12, 100) for v in (0.3333333333333333, 0.333333, 3.7)]
        [1/3, 0.333333, 3.7]
    """
    if not math.isfinite(value):
        return value
    fraction = Fraction(value).limit_denominator(max_denominator)
    near = abs(fraction - Fraction(value)) <= tolerance * abs(value)
    shorter = len(str(fraction)) < len(repr(value))
    return sympy.Rational(str(fraction)) if near and shorter else value


def shortest(expression: Any) -> Any:
    """Return the expression, or what it is expanded or factored, whichever is shortest.

    Example:
        >>> shortest(sympy.sympify("x*(x + 1) - x**2")), shortest(sympy.sympify("a*c + b*c"))
        (x, c*(a + b))
    """
    candidates = [expression]
    if num_terms(expression) <= LARGEST_EXPANSION:
        expanded = sympy.expand(expression)
        candidates += [expanded, sympy.factor_terms(expanded)]
        few = len(expanded.free_symbols) <= MOST_FACTORED_INPUTS
        small = num_nodes(expanded) <= LARGEST_FACTORISATION
        # Factors of inexact polynomials are noise.
        if few and small and not expanded.has(sympy.Float):
            candidates.append(sympy.factor(expanded))
    return min(candidates, key=num_nodes)


def assuming_positive(expressions: Iterable[Any], names: Iterable[str]) -> tuple[Any, ...]:
    """Return expressions as SymPy evaluates them for positive values of these inputs."""
    forth = {sympy.Symbol(n, real=True): sympy.Symbol(n, positive=True) for n in names}
    back = {new: old for old, new in forth.items()}
    return tuple(e.xreplace(forth).xreplace(back) for e in expressions)


def latex_name(name: str) -> str:
    """Return the name of an input for LaTeX; plain identifiers are left to SymPy."""
    escaped = re.sub(
        r"[\\ ~^#$%&_{}]", lambda found: LATEX_SPECIAL.get(found[0], f"\\{found[0]}"), name
    )
    return rf"\mathrm{{{escaped}}}"


@dataclass(frozen=True)
class Formula:
    """What a network computes, as one SymPy expression per output.

    Args:
        expressions: The expressions, in real symbols of the inputs' names.
        names: Names of the inputs, in the order of the columns of the data.
        positive: Inputs for whose positive values alone the formula was read.

    Example:
        >>> from wug.units.nau import NAU
        >>> nau = NAU(2, 1)
        >>> _ = nau.weight.data.copy_(nau.weight.new_tensor([[1.0, -1.0]]))
        >>> formula = read_formula(nau, ["gain", "loss"])
        >>> print(formula, formula.latex(), formula.complexity, formula.python()([[5.0, 3.0]]))
        gain - loss gain - loss 5 [[2.]]
    """

    expressions: tuple[Any, ...]
    names: tuple[str, ...]
    positive: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(map(str, self.expressions))

    @property
    def symbols(self) -> list[Any]:
        """The inputs as SymPy symbols."""
        return input_symbols(self.names, len(self.names))

    @property
    def complexity(self) -> int:
        """Number of nodes of all expressions."""
        return sum(map(num_nodes, self.expressions))

    def latex(self) -> str:
        """Return LaTeX, one line per output."""
        odd = {
            symbol: latex_name(name)
            for symbol, name in zip(self.symbols, self.names, strict=True)
            if not re.fullmatch(r"[A-Za-z]\w*", name)
        }
        return " \\\\\n".join(sympy.latex(e, symbol_names=odd) for e in self.expressions)

    def python(self) -> FormulaFunction:
        """Return a function of a NumPy array (..., inputs), or of one array per named input."""
        program = compile_expressions(self.expressions, self.symbols)
        require_operations("python", program, NUMPY)
        return FormulaFunction(program, self.names)

    def module(self) -> FormulaModule:
        """Return a module that computes the formula, through which gradients flow."""
        return FormulaModule(compile_expressions(self.expressions, self.symbols))

    def simplified(self, *, tolerance: float = 1e-12, max_denominator: int = 100) -> Formula:
        """Return a formula that is shorter, or as it was.

        Args:
            tolerance: Floating-point numbers become rationals that are shorter, if they are as
                near to them, relative to their size.
            max_denominator: Largest denominator of such rationals.
        """
        rational = [
            with_floats(e, lambda value: plainer(value, tolerance, max_denominator))
            for e in self.expressions
        ]
        return replace(self, expressions=tuple(map(shortest, rational)))

    def where_positive(self, names: Iterable[str]) -> Formula:
        """Return the formula for positive values of these inputs: no Abs, sign or step of them.

        Its ``positive`` are those of them that made a difference.

        Example:
            >>> x, y = input_symbols(["x", "y"], 2)
            >>> formula = Formula((abs(x) / y,), ("x", "y")).where_positive(["x", "y"])
            >>> print(formula, formula.positive)
            x/y ('x',)
        """
        names = list(names)
        unknown = [name for name in names if name not in self.names]
        if unknown:
            raise UserError(
                f"formula: {', '.join(unknown)} is not among its inputs {', '.join(self.names)}."
            )
        expressions = assuming_positive(self.expressions, names)
        used = {str(symbol) for e in self.expressions for symbol in e.free_symbols}
        needed = {
            name
            for name in used.intersection(names)
            if assuming_positive(self.expressions, [n for n in names if n != name]) != expressions
        }
        positive = tuple(name for name in self.names if name in needed.union(self.positive))
        return replace(self, expressions=expressions, positive=positive)


def num_inputs(network: nn.Module) -> int:
    """Return how many inputs a network has, in each step if it is recurrent."""
    for part in network.modules():
        if hasattr(part, "in_features"):
            return int(cast(Any, part).in_features)
    raise UserError("read_formula: no part of the network has in_features; name its inputs.")


def applied(module: nn.Module, values: Sequence[Any]) -> list[Any]:
    """Return what a module without memory makes of expressions."""
    if isinstance(module, nn.Identity):
        return list(values)
    if isinstance(module, nn.Sequential | ArithmeticStack):
        for layer in module if isinstance(module, nn.Sequential) else module.layers:
            values = applied(layer, values)
        return list(values)
    if not hasattr(module, "formula"):
        raise UserError(
            f"read_formula: a {type(module).__name__} has no formula. It can be read from units, "
            "ArithmeticStack, ArithmeticCell, RecurrentStack and nn.Sequential of them; or give it "
            "a method formula(names)."
        )
    inner = [f"_{place}" for place in range(len(values))]
    meaning = dict(zip(input_symbols(inner, len(inner)), values, strict=True))
    read = [sympy.sympify(expression) for expression in cast(Any, module).formula(inner)]
    floats = {f: exact(float(f)) for e in read for f in e.atoms(sympy.Float)}
    return [expression.xreplace(floats | meaning) for expression in read]


def unrolled(cell: ArithmeticCell, steps: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the state of a cell after the inputs of all steps."""
    start = [exact(cell.start)] * cell.out_features
    state = list(steps[0]) if cell.update == "select" else start
    for x in steps:
        state = applied(cell, [*x, *state])
    return state


@register("analysis", key="formula", name="Formula", references=("madsen2020",))
def read_formula(
    network: nn.Module, names: Sequence[str] | None = None, *, steps: int = 1
) -> Formula:
    """Read the formula that a network's weights spell, as it computes in evaluation.

    Args:
        network: A unit, an `ArithmeticStack`, an `ArithmeticCell`, a `RecurrentStack`, an
            `nn.Sequential` of such, or any module with a method ``formula(names)``.
        names: Names of the inputs, any text; by default ``x1, x2, ...``.
        steps: Number of steps of a recurrent network; names are then those of one step, and the
            formula's inputs are ``<name>_1`` of the first step to ``<name>_<steps>`` of the last.

    Raises:
        UserError: If a part has no formula or the names don't fit.

    Example:
        >>> import torch
        >>> stack = ArithmeticStack(4, 1, units=("nau", "nmu"))
        >>> _ = stack.load_state_dict({
        ...     "layers.0.weight": torch.tensor([[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0]]),
        ...     "layers.1.weight": torch.tensor([[1.0, 1.0]]),
        ... })
        >>> print(read_formula(stack))
        (x1 + x2)*(x1 + x2 + x3 + x4)

    References:
        madsen2020
    """
    if names is None:
        names = [f"x{place + 1}" for place in range(num_inputs(network))]
    if len(set(names)) < len(names) or not all(names):
        raise UserError(f"read_formula: names must differ and not be empty; got {list(names)}.")
    if not isinstance(network, ArithmeticCell | RecurrentStack):
        return Formula(tuple(applied(network, input_symbols(names, len(names)))), tuple(names))
    require_at_least("read_formula", "steps", steps, 1)
    named = [[f"{name}_{step + 1}" for name in names] for step in range(steps)]
    inputs = [input_symbols(step, network.in_features) for step in named]
    if isinstance(network, ArithmeticCell):
        outputs = unrolled(network, inputs)
    else:
        outputs = applied(network.readout, unrolled(network.cell, inputs))
    return Formula(tuple(outputs), tuple(name for step in named for name in step))
