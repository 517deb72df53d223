"""Formulas as networks: a candidate's numbers are the weights of arithmetic units.

Signed powers make the terms, a linear unit the sums, signed powers again their product; a layer
that would pass on its input is left out. Functions are stacks of their own below.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from wug.analysis.formula.reading import with_floats
from wug.core.errors import require_at_least
from wug.estimators.candidate import SYMPY_NAMES, Array, Candidate, exact_number
from wug.functional.expressions import input_symbols
from wug.models.arithmetic_stack import ArithmeticStack

# Key of the unit and the parameters that are set.
Layer = tuple[str, dict[str, Array]]


def is_identity(matrix: Array) -> bool:
    """Say whether a matrix passes on its input."""
    return np.array_equal(matrix, np.eye(len(matrix)))


def layers_of(candidate: Candidate) -> list[Layer]:
    """Return the layers that compute a formula, from the input upwards.

    Example:
        >>> product = Candidate(
        ...     exponents=np.array([[1.0, -2.0]]), coefficients=np.ones((1, 1)), powers=np.ones(1)
        ... )
        >>> layers_of(product)
        [('signed_power', {'weight': array([[ 1., -2.]])})]
    """
    varies = candidate.exponents.any(1)
    used = varies & candidate.coefficients.any(0)
    exponents, weight = candidate.exponents[used], candidate.coefficients[:, used]
    bias = candidate.coefficients[:, ~varies].sum(1)
    layers: list[Layer] = []
    if ((exponents == 0) | (exponents == 1)).all() and (exponents.sum(1) == 1).all():
        weight = weight @ exponents  # every term is an input
    else:
        layers.append(("signed_power", {"weight": exponents}))
    if bias.any():
        layers.append(("linear", {"weight": weight, "bias": bias}))
    elif not is_identity(weight):
        layers.append(("linear", {"weight": weight}))
    if not is_identity(candidate.powers[None]):
        layers.append(("signed_power", {"weight": candidate.powers[None]}))
    return layers or [("linear", {"weight": weight})]


def stack_of(layers: Sequence[Layer]) -> ArithmeticStack:
    """Return the stack of these layers, in float64."""
    weights = [parameters["weight"] for _, parameters in layers]
    stack = ArithmeticStack(
        weights[0].shape[1],
        weights[-1].shape[0],
        units=[key for key, _ in layers],
        hidden_features=[len(weight) for weight in weights[:-1]],
        options=[
            {"strict": True} if key == "signed_power" else {"bias": "bias" in parameters}
            for key, parameters in layers
        ],
        generator=torch.Generator(),
        dtype=torch.float64,
    )
    stack.load_state_dict({
        f"layers.{place}.{name}": torch.from_numpy(value)
        for place, (_, parameters) in enumerate(layers)
        for name, value in parameters.items()
    })  # fmt: skip
    return stack


class FunctionStack(nn.Module):
    """A stack of units whose last inputs are functions of other stacks.

    Args:
        names: Of the functions.
        inner: What they are functions of, of one output each.
        outer: The stack above, of the inputs and the functions.

    Shape:
        (..., in_features) -> (..., 1).
    """

    def __init__(
        self, names: Sequence[str], inner: Sequence[nn.Module], outer: ArithmeticStack
    ) -> None:
        super().__init__()
        self.names = tuple(names)
        self.inner = nn.ModuleList(inner)
        self.outer = outer
        self.in_features = outer.in_features - len(self.names)

    def forward(self, x: Tensor) -> Tensor:
        """Compute the functions and the stack above."""
        values = [
            getattr(torch, name)(stack(x))
            for name, stack in zip(self.names, self.inner, strict=True)
        ]
        output: Tensor = self.outer(torch.cat((x, *values), -1))
        return output

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return the output of every unit."""
        steps: dict[str, Tensor] = {}
        values = [x]
        for index, (name, stack) in enumerate(zip(self.names, self.inner, strict=True)):
            below = cast(Any, stack).trace(x)
            steps |= {f"inner.{index}.{key}": value for key, value in below.items()}
            values.append(getattr(torch, name)(stack(x)))
            steps[f"{name}.{index}"] = values[-1]
        above: dict[str, Tensor] = self.outer.trace(torch.cat(values, -1))
        return steps | above


def module_of(candidate: Candidate) -> ArithmeticStack | FunctionStack:
    """Return the units that compute one formula, in float64."""
    outer = stack_of(layers_of(candidate))
    if not candidate.functions:
        return outer
    names = [function.name for function in candidate.functions]
    return FunctionStack(names, [module_of(f.inner) for f in candidate.functions], outer)


def read(stack: nn.Module, values: list[Any]) -> Any:
    """Return what a stack of one output makes of expressions, with simple numbers as such."""
    import sympy

    if isinstance(stack, FunctionStack):
        functions = [getattr(sympy, SYMPY_NAMES.get(name, name)) for name in stack.names]
        pairs = zip(functions, stack.inner, strict=True)
        return read(stack.outer, [*values, *(function(read(s, values)) for function, s in pairs)])
    for layer in cast(Any, stack).layers:
        inner = [f"h{place}" for place in range(len(values))]
        meaning = dict(zip(input_symbols(inner, len(inner)), values, strict=True))
        # Fractions first: the root of a floating-point number would be another one.
        values = [
            with_floats(sympy.sympify(expression), exact_number).xreplace(meaning)
            for expression in cast(Any, layer).formula(inner)
        ]
    return values[0]


class FormulaNetwork(nn.Module):
    """Stacks of arithmetic units beside each other, one for each output.

    Args:
        stacks: Of one output each, with the same inputs.

    Shape:
        (..., in_features) -> (..., out_features).
    """

    def __init__(self, stacks: Sequence[ArithmeticStack | FunctionStack]) -> None:
        super().__init__()
        self.stacks = nn.ModuleList(stacks)
        self.in_features, self.out_features = stacks[0].in_features, len(stacks)

    def forward(self, x: Tensor) -> Tensor:
        """Compute all outputs."""
        return torch.cat([stack(x) for stack in self.stacks], -1)

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per output."""
        symbols = input_symbols(names, self.in_features)
        return [read(cast(Any, stack), symbols) for stack in self.stacks]

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return the output of every unit."""
        steps = {
            f"stacks.{place}.{name}": value
            for place, stack in enumerate(self.stacks)
            for name, value in cast(Any, stack).trace(x).items()
        }
        return steps | {"output": self(x)}


def network_of(candidates: Sequence[Candidate]) -> FormulaNetwork:
    """Return the network of arithmetic units that computes formulas, in float64.

    It is NaN where a fractional power meets a negative number, and where a term is infinite that
    not every sum uses.

    Args:
        candidates: Formulas of the same inputs.

    Raises:
        UserError: If there are none.

    Example:
        >>> quotient = Candidate(
        ...     exponents=np.eye(2), coefficients=np.array([[1.0, 2.0], [0.0, 1.0]]),
        ...     powers=np.array([1.0, -1.0]),
        ... )
        >>> network = network_of([quotient])
        >>> network.formula(["a", "b"]), [type(unit).__name__ for unit in network.stacks[0].layers]
        ([(a + 2*b)/b], ['Linear', 'SignedPower'])
        >>> network(torch.tensor([[4.0, 2.0]], dtype=torch.float64))
        tensor([[4.]], dtype=torch.float64, grad_fn=<CatBackward0>)
    """
    require_at_least("network_of", "the number of formulas", len(candidates), 1)
    return FormulaNetwork([module_of(candidate) for candidate in candidates])
