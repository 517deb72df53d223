"""NLRL, the neural logic rule layer (Reimann and Schwung, 2019).

Each output negates the inputs that it likes, joins those that it selects by AND and by OR, and
picks one of the two; stacked, such layers spell any rule of propositional logic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.functional.descriptions import sizes_text
from wug.functional.discrete import COEFFICIENTS, Discrete, gate_of
from wug.functional.expressions import input_symbols, numbers
from wug.functional.initialise import fill_uniform
from wug.functional.weighted_sum import product

# Gates and weights start undecided, around 1/2.
LOGIT_RADIUS = 0.5
WEIGHT_RADIUS = 0.25


def conjunction(operands: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """AND of the selected operands: ``prod_i (|x_i| + epsilon) ** w_i`` over the last axis."""
    return torch.exp((weight * torch.log(operands.abs() + epsilon)).sum(-1))


def disjunction(operands: Tensor, weight: Tensor) -> Tensor:
    """OR of the selected operands: ``1 - prod_i (1 - w_i x_i)`` over the last axis."""
    return 1 - product(1 - weight * operands)


@register(
    "unit",
    name="NLRL",
    references=("reimann2019",),
    equation=r"y_o = (1 - g_o) \prod_i (|\hat{x}_{i,o}| + \epsilon)^{A_{i,o}} "
    r"+ g_o \big(1 - \prod_i (1 - A_{i,o}\, \hat{x}_{i,o})\big), \qquad "
    r"\hat{x}_{i,o} = (1 - n_{i,o})\, x_i + n_{i,o} (1 - x_i)",
    operations=("and", "or", "not"),
    failure_modes=(
        "It reads inputs as truth values: outside [0, 1] AND loses signs and OR is a polynomial.",
        "With AND alone it needs more steps than with both operators (mistry2022, section 7.1).",
        "A single unit settles on the wrong operator for about half of its initial weights; eight "
        "of them in front of another learn AND, OR and NOT, and XOR with AND or both operators.",
    ),
)
class NLRL(nn.Module):
    """AND or OR of the inputs, or of their negations, that its weights select.

    Equation (mistry2022, Eq. 26-29): y = (1 - g) prod_i (|x_hat_i| + epsilon)^A_i +
    g (1 - prod_i (1 - A_i x_hat_i)) with x_hat = (1 - n) x + n (1 - x), n = sigmoid(G_NEG),
    g = sigmoid(G_OUT).

    Notation:
        G_NEG -> negation, A -> weight, G_OUT -> gate, x_hat -> operands.

    Departures:
        Eq. 27's Kronecker product has 2^in terms; this is the same polynomial in its factors.
        In Eq. 29 an output gate of 1 picks OR, in the text above it AND. This is the equation; the
        gate starts symmetric, so that the other way is a change of its sign and no more.
        Eq. 29 gives that gate an index for inputs; here there is one for each output.
        The source leaves A's range open; by default it is the sigmoid of a parameter, as the gates
        are. Initial values and epsilon are not in the source either: gates and A start around 1/2.

    Args:
        in_features: Number of inputs.
        out_features: Number of outputs.
        operators: ``"both"``; or ``"and"`` or ``"or"`` alone, where the output gate negates, so
            that De Morgan's laws give the other one.
        constraint: ``"sigmoid"`` keeps A in (0, 1); ``"none"`` takes it as it is, for sums, where
            A holds coefficients.
        input_negation: Whether inputs can be negated. A layer that follows a negating output can do
            without.
        epsilon: Added to magnitudes before the logarithm.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Example:
        a AND NOT b:

        >>> nlrl = NLRL(2, 1)
        >>> _ = nlrl.load_state_dict({
        ...     "negation": torch.tensor([[-40.0, 40.0]]),
        ...     "weight": torch.tensor([[40.0, 40.0]]),
        ...     "gate": torch.tensor([-40.0]),
        ... })
        >>> booleans = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        >>> nlrl(booleans).squeeze(-1).round().tolist()
        [0.0, 0.0, 1.0, 0.0]

    References:
        reimann2019, mistry2022
    """

    guards = {"epsilon": 0.0}

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        operators: Literal["both", "and", "or"] = "both",
        constraint: Literal["sigmoid", "none"] = "sigmoid",
        input_negation: bool = True,
        epsilon: float = 1e-7,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("NLRL", "in_features", in_features, 1)
        require_at_least("NLRL", "out_features", out_features, 1)
        require_choice("NLRL", "operators", operators, ("both", "and", "or"))
        require_choice("NLRL", "constraint", constraint, ("sigmoid", "none"))
        require_at_least("NLRL", "epsilon", epsilon, 0)
        self.in_features, self.out_features, self.epsilon = in_features, out_features, epsilon
        self.operators, self.constraint = operators, constraint
        empty = torch.empty(out_features, in_features, device=device, dtype=dtype)
        self.weight = nn.Parameter(empty)
        self.negation = nn.Parameter(empty.clone()) if input_negation else None
        self.gate = nn.Parameter(empty.new_empty(out_features))
        self.reset_parameters(generator)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return sizes_text(self)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        if self.constraint == "sigmoid":
            fill_uniform(self.weight, -LOGIT_RADIUS, LOGIT_RADIUS, generator)
        else:
            fill_uniform(self.weight, 0.5 - WEIGHT_RADIUS, 0.5 + WEIGHT_RADIUS, generator)
        if self.negation is not None:
            fill_uniform(self.negation, -LOGIT_RADIUS, LOGIT_RADIUS, generator)
        fill_uniform(self.gate, -LOGIT_RADIUS, LOGIT_RADIUS, generator)

    @property
    def discrete(self) -> dict[str, Discrete]:
        """Return the discrete values: 0 and 1, and small rationals where A holds coefficients."""
        weight = gate_of("weight") if self.constraint == "sigmoid" else COEFFICIENTS
        return {"weight": weight, "negation": gate_of("negation"), "gate": gate_of("gate")}

    def constrained(self, weight: Tensor) -> Tensor:
        """Return A."""
        return torch.sigmoid(weight) if self.constraint == "sigmoid" else weight

    def paths(self, x: Tensor) -> dict[str, Tensor]:
        """Return the operands and the outcome of each operator in use, AND first."""
        if x.shape[-1] != self.in_features:
            raise UserError(
                f"x must have {self.in_features} inputs in its last axis; got {x.shape[-1]}."
            )
        operands, weight = x.unsqueeze(-2), self.constrained(self.weight)
        if self.negation is not None:
            negation = torch.sigmoid(self.negation)
            operands = (1 - negation) * operands + negation * (1 - operands)
        paths = {"operands": operands}
        if self.operators != "or":
            paths["conjunction"] = conjunction(operands, weight, self.epsilon)
        if self.operators != "and":
            paths["disjunction"] = disjunction(operands, weight)
        return paths

    def forward(self, x: Tensor) -> Tensor:
        """Pick an operator, or the negation of the only one."""
        _, first, *others = self.paths(x).values()
        gate = torch.sigmoid(self.gate)
        return (1 - gate) * first + gate * (others[0] if others else 1 - first)

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return what selects and what negates the inputs."""
        weights = {"weight": self.constrained(params["weight"])}
        if self.negation is not None:
            weights["negation"] = torch.sigmoid(params["negation"])
        return weights

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per output."""
        import sympy

        x = input_symbols(names, self.in_features)
        effective = self.weights(dict(self.named_parameters()))
        weights = numbers(effective["weight"])
        negations = numbers(effective.get("negation", torch.zeros_like(self.weight)))
        outputs = []
        for gate, row, flips in zip(
            numbers(torch.sigmoid(self.gate)), weights, negations, strict=True
        ):
            operands = [(1 - n) * x_i + n * (1 - x_i) for n, x_i in zip(flips, x, strict=True)]
            pairs = list(zip(row, operands, strict=True))
            conjunction = sympy.prod((sympy.Abs(x_i) + self.epsilon) ** a for a, x_i in pairs)
            disjunction = 1 - sympy.prod(1 - a * x_i for a, x_i in pairs)
            first = disjunction if self.operators == "or" else conjunction
            second = disjunction if self.operators == "both" else 1 - first
            outputs.append((1 - gate) * first + gate * second)
        return outputs

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return what happened inside: operands, operators and the gate between them."""
        return self.paths(x) | {"gate": torch.sigmoid(self.gate), "output": self(x)}
