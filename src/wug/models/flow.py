"""A differential equation made of units (Heim et al., 2020): powers below sums, inside an ODE.

What the units spell is the equation: a trained flow says how a state changes, as a formula.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from wug.core.errors import UserError, require_at_least
from wug.core.registry import register
from wug.functional.expressions import input_symbols
from wug.functional.initialise import fill_uniform
from wug.functional.runge_kutta import runge_kutta
from wug.units.nau import NAU
from wug.units.real_npu import RealNPU


@register(
    "model",
    name="Flow",
    interface="numbers",
    references=("heim2020", "mistry2022"),
    equation=r"y = x(\tau), \qquad \dot x = \mathrm{NAU}(\mathrm{NPU}(x)), \quad x(0) = x",
    failure_modes=(
        "Coefficients beyond 1 need other units of time: an NAU's weights end at 1.",
        "States that always add up to the same number hide which of them a term is of.",
    ),
)
class Flow(nn.Module):
    """The state after a while, of an equation whose terms are products of powers.

    Equation (mistry2022, section 6.3 names it: a NAU on an NPU): dx_o / dt = sum_k C_ok prod_i
    |x_i|^E_ki; the answer is x(duration) from x(0), by one or more Runge-Kutta steps.

    Notation:
        E -> powers.weight, C -> sums.weight.

    Departures:
        The primer names the stack alone. Exponents start from U(0, 1), which is where those of
        epidemics are; the penalty is the sum of magnitudes of all weights, as in heim2020's code.

    Args:
        in_features: Size of the state.
        out_features: The same.
        num_terms: Number of products.
        duration: From the input to the answer.
        num_steps: Runge-Kutta steps in that time.
        relevance_gate: Whether the power unit has its gate.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Raises:
        UserError: The sizes differ, or one is below 1.

    Example:
        >>> flow = Flow(1, 1, num_terms=1)
        >>> _ = flow.load_state_dict({
        ...     "powers.weight": torch.tensor([[1.0]]), "sums.weight": torch.tensor([[-0.5]])
        ... })
        >>> round(flow(torch.tensor([2.0])).item(), 2), flow.formula(["x"])  # 2 exp(-0.5)
        (1.21, [-0.5*x])

    References:
        heim2020, mistry2022
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        num_terms: int = 3,
        duration: float = 1.0,
        num_steps: int = 1,
        relevance_gate: bool = False,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        for name, size in (("num_terms", num_terms), ("num_steps", num_steps)):
            require_at_least("Flow", name, size, 1)
        self.in_features, self.out_features = in_features, out_features
        self.duration, self.num_steps = duration, num_steps
        common: dict[str, Any] = {"generator": generator, "device": device, "dtype": dtype}
        self.powers = RealNPU(in_features, num_terms, relevance_gate=relevance_gate, **common)
        self.sums = NAU(num_terms, out_features, **common)
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        self.powers.reset_parameters(generator)
        fill_uniform(self.powers.weight, 0.0, 1.0, generator)
        self.sums.reset_parameters(generator)

    def derivative(self, x: Tensor) -> Tensor:
        """Return how a state changes."""
        total: Tensor = self.sums(self.powers(x))
        return total

    def forward(self, x: Tensor) -> Tensor:
        """Return the state after a while."""
        if self.in_features != self.out_features:
            raise UserError(
                "Flow: a state must flow into one of its size; "
                f"got {self.in_features} and {self.out_features}."
            )
        return runge_kutta(self.derivative, x, self.duration, self.num_steps)

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Sum of magnitudes of all weights."""
        return torch.stack([theta.abs().sum() for theta in params.values()]).sum()

    def project(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Clamp the coefficients to [-1, 1]."""
        return {**params, "sums.weight": params["sums.weight"].clamp(-1, 1)}

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return exponents and coefficients, which spell the formula."""
        return {name: params[name] for name in ("powers.weight", "sums.weight")}

    def terms(self) -> tuple[Tensor, Tensor]:
        """Return the exponents, (term, in), with the gate's share, and the coefficients."""
        exponents = self.powers.weight * self.powers.relevance()
        return exponents.detach(), self.sums.weight.detach()

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per entry of the derivative, of positive states."""
        symbols = input_symbols(names, self.in_features)
        exponents, coefficients = (tensor.tolist() for tensor in self.terms())
        products = []
        for row in exponents:
            product = 1
            for symbol, exponent in zip(symbols, row, strict=True):
                product *= symbol if exponent == 1 else symbol**exponent if exponent else 1
            products.append(product)
        return [
            sum(c * product for c, product in zip(row, products, strict=True))
            for row in coefficients
        ]

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return the terms and the derivative at the start, and the state after a while."""
        terms = self.powers(x)
        return {"terms": terms, "derivative": self.sums(terms), "output": self(x)}
