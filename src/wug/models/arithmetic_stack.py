"""Units stacked on each other, such as NAU below NMU (Madsen and Johansen, 2020).

Instead of a gate that chooses an operation, the layers themselves are the expression: the first
selects and adds, the second multiplies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from wug.core import index
from wug.core.errors import UserError, require_at_least
from wug.core.registry import register


@register(
    "model",
    name="Arithmetic stack",
    interface="numbers",
    references=("madsen2020",),
    equation=r"y = f_2(f_1(x))",
    failure_modes=("As those of its units; a wrong sum below can't be mended above.",),
)
class ArithmeticStack(nn.Module):
    """Units on top of each other, with the penalty, clamp and formula of all of them.

    Equation (madsen2020, section 2.4): y = f_L(... f_1(x)).

    Notation:
        f_l -> units[l - 1], hidden size -> hidden_features.

    Departures:
        None.

    Args:
        in_features: Number of inputs.
        out_features: Number of outputs.
        units: Keys of the units from the input to the output, such as ``("nau", "nmu")``.
        hidden_features: Width between the units; a sequence has one for each gap.
        options: Keyword arguments of each unit.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Raises:
        UserError: If the number of widths is not that of the gaps.

    Example:
        >>> stack = ArithmeticStack(4, 1, units=("nau", "nmu"))
        >>> _ = stack.load_state_dict({
        ...     "layers.0.weight": torch.tensor([[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0]]),
        ...     "layers.1.weight": torch.tensor([[1.0, 1.0]]),
        ... })
        >>> stack(torch.tensor([1.0, 2.0, 3.0, 4.0])).item()
        30.0

    References:
        madsen2020
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        units: Sequence[str] = ("nau", "nmu"),
        hidden_features: int | Sequence[int] = 2,
        options: Sequence[Mapping[str, Any]] | None = None,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("ArithmeticStack", "number of units", len(units), 1)
        num_gaps = len(units) - 1
        widths = (
            [hidden_features] * num_gaps if isinstance(hidden_features, int) else hidden_features
        )
        if len(widths) != num_gaps:
            raise UserError(
                f"ArithmeticStack: hidden_features must have {num_gaps} entries, one between each "
                f"two units; got {len(widths)}."
            )
        for width in widths:
            require_at_least("ArithmeticStack", "hidden_features", width, 1)
        sizes = (in_features, *widths, out_features)
        self.in_features, self.out_features = in_features, out_features
        self.layers = nn.ModuleList(
            index.get("unit", key)(
                fan_in, fan_out, generator=generator, device=device, dtype=dtype, **arguments
            )
            for key, fan_in, fan_out, arguments in zip(
                units, sizes, sizes[1:], options or [{}] * len(units), strict=False
            )
        )

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights for every unit, from the input upwards."""
        for layer in self.layers:
            cast(Any, layer).reset_parameters(generator)

    def forward(self, x: Tensor) -> Tensor:
        """Pass the input through the units."""
        for layer in self.layers:
            x = layer(x)
        return x

    def parts(self, params: Mapping[str, Tensor]) -> Iterator[tuple[str, Any, dict[str, Tensor]]]:
        """Yield each unit with the prefix of its parameters and those parameters."""
        for place, layer in enumerate(self.layers):
            prefix = f"layers.{place}."
            own = {
                name.removeprefix(prefix): value
                for name, value in params.items()
                if name.startswith(prefix)
            }
            yield prefix, layer, own

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Sum of the units' penalties."""
        terms = [
            layer.penalty(own) for _, layer, own in self.parts(params) if hasattr(layer, "penalty")
        ]
        return torch.stack(terms).sum() if terms else next(iter(params.values())).new_zeros(())

    def project(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Clamp the parameters of the units that want it."""
        result = dict(params)
        for prefix, layer, own in self.parts(params):
            if hasattr(layer, "project"):
                result.update({prefix + name: v for name, v in layer.project(own).items()})
        return result

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the effective weights of all units."""
        return {
            prefix + name: value
            for prefix, layer, own in self.parts(params)
            for name, value in layer.weights(own).items()
        }

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per output."""
        import sympy

        first, *rest = self.layers
        expressions: list[Any] = cast(Any, first).formula(names)
        for layer in rest:
            inner = [f"h{i}" for i in range(len(expressions))]
            values = dict(
                zip([sympy.Symbol(name, real=True) for name in inner], expressions, strict=True)
            )
            expressions = [e.xreplace(values) for e in cast(Any, layer).formula(inner)]
        return expressions

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return the output of every unit."""
        steps: dict[str, Tensor] = {}
        for place, layer in enumerate(self.layers):
            x = layer(x)
            steps[f"layer_{place}"] = x
        return steps | {"output": x}
