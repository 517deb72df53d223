"""A recurrent cell around any arithmetic unit (Trask et al., 2018; Madsen and Johansen, 2020).

The state is the unit's output for the input beside the previous state: a unit that adds or
multiplies two numbers then sums up, or multiplies, a sequence of any length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from wug.core import index
from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.functional.expressions import input_symbols

PREFIX = "unit."


def neutral_start(operations: Sequence[str]) -> float:
    """Return 1 for a unit that multiplies or divides but can't add, else 0.

    Example:
        >>> neutral_start(("mul",)), neutral_start(("add", "mul")), neutral_start(())
        (1.0, 0.0, 0.0)
    """
    return float(not {"mul", "div"}.isdisjoint(operations) and "add" not in operations)


def operations_of(unit: nn.Module) -> Sequence[str]:
    """Return the operations that a module is registered with as a unit, none if it is not."""
    target = f"{type(unit).__module__}:{type(unit).__qualname__}"
    for entry in index.entries("unit"):
        if entry.target == target:
            operations: Sequence[str] = entry.details.get("operations", ())
            return operations
    return ()


def without_prefix(params: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the cell's parameters under the names that they have in its unit."""
    return {name.removeprefix(PREFIX): value for name, value in params.items()}


@register(
    "layer",
    name="Arithmetic cell",
    references=("trask2018", "madsen2020", "faber2020"),
    equation=r"h_t = f([x_t, h_{t-1}]), \qquad h_0 = 1 \text{ if } f \text{ multiplies, else } 0",
    failure_modes=(
        "A weight of 0.99 on the state is a factor of 0.99^length: long sequences need exact ones.",
        "It starts at 0 with NALU, as in madsen2020: a product then has to come from sums.",
    ),
)
class ArithmeticCell(nn.Module):
    """Recurrent cell whose state is what an arithmetic unit makes of input and state.

    Equation (madsen2020, section 4.2): h_t = f([x_t, h_{t-1}]).

    Notation:
        f -> unit, h -> state.

    Departures:
        ``update="select"`` and ``"accumulate"`` are how faber2020 finds the least element of a
        list and counts; there is no such update in the other two papers.

    Args:
        in_features: Number of inputs of a step.
        out_features: Size of the state, which is the output.
        unit: Key of a registered unit, or a module.
        update: ``"replace"`` makes the unit's output the state; ``"select"`` takes it as the
            probability of the input against the state, y x + (1 - y) h, which starts as the first
            input; ``"accumulate"`` adds it to the state, which the unit doesn't see.
        start: The initial state; by default 1 for units that multiply and can't add, else 0.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.
        **options: Further arguments of a unit that is given by its key.

    Shape:
        (..., in_features) and (..., out_features) -> (..., out_features).

    Raises:
        UserError: If the unit doesn't fit the sizes.

    Example:
        >>> cell = ArithmeticCell(1, 1, unit="nmu")
        >>> _ = cell.load_state_dict({"unit.weight": torch.ones(1, 2)})
        >>> cell.run(torch.tensor([[2.0], [3.0], [4.0]])).tolist()
        [[2.0], [6.0], [24.0]]

    References:
        trask2018, madsen2020, faber2020
    """

    stackable = True

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        unit: str | nn.Module = "nau",
        update: Literal["replace", "select", "accumulate"] = "replace",
        start: float | None = None,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        require_at_least("ArithmeticCell", "in_features", in_features, 1)
        require_at_least("ArithmeticCell", "out_features", out_features, 1)
        require_choice("ArithmeticCell", "update", update, ("replace", "select", "accumulate"))
        if update == "select" and in_features != out_features:
            raise UserError(
                "ArithmeticCell: to select, in_features must be out_features; "
                f"got {in_features} and {out_features}."
            )
        self.in_features, self.out_features, self.update = in_features, out_features, update
        self.num_seen = in_features if update == "accumulate" else in_features + out_features
        if options and not isinstance(unit, str):
            raise UserError(
                f"ArithmeticCell: options are for a unit given by its key; got {', '.join(options)}"
                f" and a {type(unit).__name__}. Build the unit with them."
            )
        arguments = {"generator": generator, "device": device, "dtype": dtype, **options}
        self.unit: Any = (
            index.get("unit", unit)(self.num_seen, out_features, **arguments)
            if isinstance(unit, str)
            else unit
        )
        if (self.unit.in_features, self.unit.out_features) != (self.num_seen, out_features):
            raise UserError(
                f"ArithmeticCell: unit must have {self.num_seen} inputs and {out_features} outputs;"
                f" got {self.unit.in_features} and {self.unit.out_features}."
            )
        self.start = neutral_start(operations_of(self.unit)) if start is None else start

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        self.unit.reset_parameters(generator)

    def initial_state(self, x: Tensor) -> Tensor:
        """Return the state before the first step, whose input is x."""
        if self.update == "select":
            return x
        return x.new_full((*x.shape[:-1], self.out_features), self.start)

    def forward(self, x: Tensor, state: Tensor) -> Tensor:
        """Return the next state."""
        output: Tensor = self.updated(x, state, self.unit(self.seen(x, state)))
        return output

    def run(self, sequence: Tensor, state: Tensor | None = None) -> Tensor:
        """Return the states after every step.

        Shape:
            sequence (..., seq, in_features), state (..., out_features) -> (..., seq, out_features).
        """
        steps = sequence.unbind(-2)
        require_at_least("ArithmeticCell", "the number of steps", len(steps), 1)
        state = self.initial_state(steps[0]) if state is None else state
        states = []
        for x in steps:
            state = self(x, state)
            states.append(state)
        return torch.stack(states, -2)

    def seen(self, x: Tensor, state: Tensor) -> Tensor:
        """Return what the unit sees of a step."""
        return x if self.update == "accumulate" else torch.cat((x, state), -1)

    def updated(self, x: Any, state: Any, output: Any) -> Any:
        """Return the next state, of tensors or of expressions."""
        if self.update == "select":
            return output * x + (1 - output) * state
        return state + output if self.update == "accumulate" else output

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Return the unit's penalty, 0 if it has none."""
        if not hasattr(self.unit, "penalty"):
            return next(iter(params.values())).new_zeros(())
        penalty: Tensor = self.unit.penalty(without_prefix(params))
        return penalty

    def project(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Project the unit's parameters, if it does that."""
        if not hasattr(self.unit, "project"):
            return dict(params)
        projected = self.unit.project(without_prefix(params))
        return {PREFIX + name: value for name, value in projected.items()}

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the unit's effective weights."""
        weights: dict[str, Tensor] = self.unit.weights(without_prefix(params))
        return weights

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per entry of the next state.

        Args:
            names: Names of the inputs, then of the state; ``x1, ..., h1, ...`` by default.
        """
        if names is None:
            names = [f"x{i + 1}" for i in range(self.in_features)]
            names += [f"h{i + 1}" for i in range(self.out_features)]
        symbols = input_symbols(names, self.in_features + self.out_features)
        x, state = symbols[: self.in_features], symbols[self.in_features :]
        outputs = self.unit.formula(names[: self.num_seen])
        if self.update == "select":
            return [self.updated(*entry) for entry in zip(x, state, outputs, strict=True)]
        return [self.updated(None, *entry) for entry in zip(state, outputs, strict=True)]

    def trace(self, x: Tensor, state: Tensor) -> dict[str, Tensor]:
        """Return what happened inside the unit, and the next state."""
        inside = {
            PREFIX + name: value for name, value in self.unit.trace(self.seen(x, state)).items()
        }
        return inside | {"output": self(x, state)}
