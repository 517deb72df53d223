"""SymPy expressions as straight-line programs that run on tensors, arrays or intervals.

A program is a list of steps over numbered slots, without repeated subexpressions; what its
operations mean is up to who runs it. torch traces it as it would any other forward pass.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from wug.core.errors import UserError
from wug.units.mlp import ACTIVATIONS


@dataclass(frozen=True)
class Program:
    """Steps that compute outputs from inputs.

    Args:
        num_inputs: Number of inputs, which fill the first slots.
        constants: SymPy numbers, which fill the next slots.
        steps: Name of the operation and the slots of its operands; each fills one more slot.
        outputs: Slots of the outputs.

    Example:
        >>> import sympy
        >>> x, y = sympy.symbols("x y")
        >>> program = compile_expressions([x / y], [x, y])
        >>> program.constants, program.steps, program.outputs
        ((-1,), (('Pow', (1, 2)), ('Mul', (0, 3))), (4,))
    """

    num_inputs: int
    constants: tuple[Any, ...]
    steps: tuple[tuple[str, tuple[int, ...]], ...]
    outputs: tuple[int, ...]

    def run(
        self,
        inputs: Iterable[Any],
        operations: Mapping[str, Callable[..., Any]],
        number: Callable[[Any], Any],
    ) -> list[Any]:
        """Return the outputs.

        Args:
            inputs: Values of the inputs.
            operations: What each operation's name stands for.
            number: Value of a SymPy number.
        """
        slots = [*inputs, *map(number, self.constants)]
        for name, operands in self.steps:
            slots.append(operations[name](*(slots[place] for place in operands)))
        return [slots[place] for place in self.outputs]


def compile_expressions(expressions: Sequence[Any], symbols: Sequence[Any]) -> Program:
    """Turn expressions into a program whose inputs are the symbols, in their order."""
    order: list[Any] = []
    seen = set(symbols)

    def visit(node: Any) -> None:
        if node in seen:
            return
        seen.add(node)
        if node.is_Symbol:
            raise UserError(f"formula: {node} is not among its inputs {[*map(str, symbols)]}.")
        if not node.is_number:
            for argument in node.args:
                visit(argument)
        order.append(node)

    for expression in expressions:
        visit(expression)
    constants = [node for node in order if node.is_number]
    steps = [node for node in order if not node.is_number]
    slots = {node: place for place, node in enumerate([*symbols, *constants, *steps])}
    return Program(
        num_inputs=len(symbols),
        constants=tuple(constants),
        steps=tuple(
            (node.func.__name__, tuple(slots[argument] for argument in node.args)) for node in steps
        ),
        outputs=tuple(slots[expression] for expression in expressions),
    )


def total(*terms: Any) -> Any:
    """Return the sum."""
    return reduce(operator.add, terms)


def product(*factors: Any) -> Any:
    """Return the product."""
    return reduce(operator.mul, factors)


def python_number(number: Any) -> int | float:
    """Return a SymPy number as Python's, whole numbers as int."""
    return int(number) if number.is_Integer else float(number)


def tensors_first(values: Sequence[Any]) -> list[Any]:
    """Return the values with tensors before numbers, which clamps want."""
    return sorted(values, key=lambda value: not isinstance(value, Tensor))


def torch_max(*values: Any) -> Any:
    """Return the elementwise maximum of tensors and numbers."""
    return reduce(lambda a, b: torch.clamp(a, min=b), tensors_first(values))


def torch_min(*values: Any) -> Any:
    """Return the elementwise minimum of tensors and numbers."""
    return reduce(lambda a, b: torch.clamp(a, max=b), tensors_first(values))


def torch_heaviside(x: Tensor, at_zero: float) -> Tensor:
    """Return the step function; torch's own has no gradient, not even 0."""
    return (x > 0).to(x.dtype) + at_zero * (x == 0).to(x.dtype)


TORCH: dict[str, Callable[..., Any]] = ACTIVATIONS | {
    "Add": total,
    "Mul": product,
    "Pow": torch.pow,
    "Abs": torch.abs,
    "Max": torch_max,
    "Min": torch_min,
    "sign": torch.sign,
    "Heaviside": torch_heaviside,
    "exp": torch.exp,
    "log": torch.log,
    "cos": torch.cos,
    "sin": torch.sin,
    "tanh": torch.tanh,
    "tan": torch.tan,
    "asin": torch.asin,
    "acos": torch.acos,
    "atan": torch.atan,
}


def through_torch(function: Callable[..., Tensor]) -> Callable[..., Any]:
    """Return an activation of torch as a function of arrays."""
    return lambda *arguments: function(*map(torch.as_tensor, arguments)).numpy()


NUMPY: dict[str, Callable[..., Any]] = {
    **{name: through_torch(function) for name, function in ACTIVATIONS.items()},
    "Add": total,
    "Mul": product,
    "Pow": np.power,
    "Abs": np.abs,
    "Max": lambda *values: reduce(np.maximum, values),
    "Min": lambda *values: reduce(np.minimum, values),
    "sign": np.sign,
    "Heaviside": np.heaviside,
    "exp": np.exp,
    "log": np.log,
    "cos": np.cos,
    "sin": np.sin,
    "tanh": np.tanh,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
}


def require_operations(owner: str, program: Program, known: Iterable[str]) -> None:
    """Raise if the program has an operation that is not known."""
    known = set(known)
    for name, _ in program.steps:
        if name not in known:
            raise UserError(f"{owner}: there is no {name} here; known: {', '.join(sorted(known))}.")


class FormulaModule(nn.Module):
    """A formula as a module: a tensor of inputs to a tensor of outputs, in the input's dtype.

    Shape:
        (..., inputs) -> (..., outputs).
    """

    def __init__(self, program: Program) -> None:
        super().__init__()
        require_operations("module", program, TORCH)
        self.num_inputs, self.outputs = program.num_inputs, program.outputs
        self.constants = tuple(map(python_number, program.constants))
        self.steps = program.steps

    def forward(self, x: Tensor) -> Tensor:
        """Compute the formula for every row."""
        if x.shape[-1] != self.num_inputs:
            raise UserError(
                f"x must have {self.num_inputs} inputs in its last axis; got {x.shape[-1]}."
            )
        slots: list[Any] = [*x.unbind(-1), *self.constants]
        for name, operands in self.steps:
            slots.append(TORCH[name](*[slots[place] for place in operands]))
        columns = [slots[place] for place in self.outputs]
        rows = x[..., 0]
        return torch.stack(
            [c if isinstance(c, Tensor) else torch.full_like(rows, c) for c in columns], -1
        )


@dataclass(frozen=True)
class FormulaFunction:
    """A formula as a function of NumPy arrays.

    Example:
        >>> import sympy
        >>> a, b = sympy.symbols("a b")
        >>> function = FormulaFunction(compile_expressions([a / b], [a, b]), ("a", "b"))
        >>> function([[6.0, 3.0], [1.0, 2.0]])
        array([[2. ],
               [0.5]])
        >>> function(a=6.0, b=[3.0, 2.0])
        array([[2.],
               [3.]])
    """

    program: Program
    names: tuple[str, ...]

    def __call__(self, x: Any = None, /, **columns: Any) -> Any:
        """Return (..., outputs) for x (..., inputs), or for one array per name of an input."""
        if x is None:
            if set(columns) != set(self.names):
                raise UserError(
                    f"formula: the columns must be {', '.join(self.names)}; "
                    f"got {', '.join(columns) or 'none'}."
                )
            x = np.stack(np.broadcast_arrays(*(columns[name] for name in self.names)), -1)
        x = np.asarray(x, dtype=np.float64)
        if x.ndim == 0 or x.shape[-1] != len(self.names):
            raise UserError(
                f"formula: x must have {len(self.names)} inputs in its last axis; got {x.shape}."
            )
        with np.errstate(all="ignore"):
            outputs = self.program.run(np.moveaxis(x, -1, 0), NUMPY, python_number)
        return np.stack([np.broadcast_to(output, x.shape[:-1]) for output in outputs], -1)
