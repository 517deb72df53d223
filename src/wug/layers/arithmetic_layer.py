"""A sum of products of powers, to be put into any network (wug's own).

It computes c1 x1^a x2^b + c2 x1^d ... with trained coefficients and exponents, and says which
formula it has become.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations, cycle, islice
from typing import Any

import torch
from torch import Tensor, nn

from wug.core.errors import require_at_least
from wug.core.registry import register
from wug.functional.expressions import input_symbols
from wug.functional.initialise import fill_uniform
from wug.units.linear import Linear
from wug.units.signed_power import SignedPower

RADIUS = 0.1


def small_subsets(items: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the subsets that are not empty, the smaller ones first, again and again.

    Example:
        >>> list(islice(small_subsets([7, 8]), 4))
        [(7,), (8,), (7, 8), (7,)]
    """
    return cycle(chain.from_iterable(combinations(items, n + 1) for n in range(len(items))))


@register(
    "layer",
    name="Arithmetic layer",
    references=("heim2020", "madsen2020"),
    equation=r"y_o = b_o + \sum_k C_{k,o} \prod_i \mathrm{sgn}(x_i)^{[E_{i,k}]}\, |x_i|^{E_{i,k}}",
    failure_modes=(
        "On inputs of both signs an exponent keeps the parity that it starts with: squares, and "
        "products that no term starts as, are not found there.",
        "On narrow positive ranges many sums of products are almost the same, and it takes one of "
        "them.",
        "Its time grows with inputs times terms, and all of it is powers.",
    ),
)
class ArithmeticLayer(nn.Module):
    """Sum of products of powers of the inputs.

    Equation (heim2020, a power unit below a sum): y_o = b_o + sum_k C_ok prod_i sgn(x_i)^[E_ki]
    |x_i|^E_ki with [e] the whole number nearest to e.

    Notation:
        E -> terms.weight, C -> sums.weight, b -> sums.bias.

    Departures:
        The layer is wug's own: the sum is linear, not an NAU, and the start is a list of products.
        Terms start near the inputs, then the products of two inputs, of three and so on, as far as
        the number of terms goes, each exponent within 0.1 of 0 or 1; coefficients start within 0.1
        of 0, so that they settle before the exponents have left their start.

    Args:
        in_features: Number of inputs.
        out_features: Number of outputs.
        num_terms: Number of products.
        bias: Whether the sums have a constant.
        epsilon: Smallest magnitude that is raised to a power, so that there are no poles.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Example:
        >>> layer = ArithmeticLayer(3, 1, num_terms=2, bias=False, epsilon=0.0)
        >>> _ = layer.load_state_dict({
        ...     "terms.weight": torch.tensor([[1.0, 1.0, 0.0], [0.0, 0.0, -1.0]]),
        ...     "sums.weight": torch.tensor([[3.0, 2.0]]),
        ... })
        >>> layer(torch.tensor([-2.0, 4.0, 0.5])).item(), layer.formula()
        (-20.0, [3.0*x1*x2 + 2.0/x3])

    References:
        heim2020, madsen2020
    """

    stackable = True

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        num_terms: int = 8,
        bias: bool = True,
        epsilon: float = 1e-6,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("ArithmeticLayer", "in_features", in_features, 1)
        require_at_least("ArithmeticLayer", "out_features", out_features, 1)
        require_at_least("ArithmeticLayer", "num_terms", num_terms, 1)
        require_at_least("ArithmeticLayer", "epsilon", epsilon, 0)
        self.in_features, self.out_features = in_features, out_features
        source: dict[str, Any] = {"generator": generator, "device": device, "dtype": dtype}
        self.terms = SignedPower(in_features, num_terms, epsilon=epsilon, **source)
        self.sums = Linear(num_terms, out_features, bias=bias, **source)
        self.reset_parameters(generator)

    @torch.no_grad()
    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights: simple products, in small amounts."""
        self.sums.reset_parameters(generator)
        fill_uniform(self.sums.weight, -RADIUS, RADIUS, generator)
        exponents = fill_uniform(self.terms.weight, -RADIUS, RADIUS, generator)
        order = torch.randperm(self.in_features, generator=generator, device=exponents.device)
        subsets = islice(small_subsets(order.tolist()), len(exponents))
        for row, places in zip(exponents, subsets, strict=True):
            row[list(places)] += 1

    def forward(self, x: Tensor) -> Tensor:
        """Compute the sums of products."""
        total: Tensor = self.sums(self.terms(x))
        return total

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Mean distance of the exponents to whole numbers."""
        return self.terms.penalty({"weight": params["terms.weight"]})

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the effective weights, which spell the formula."""
        return {name: params[name] for name in ("terms.weight", "sums.weight")}

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per output."""
        products = self.terms.formula(names)
        inner = [f"term{place}" for place in range(len(products))]
        meaning = dict(zip(input_symbols(inner, len(inner)), products, strict=True))
        return [expression.xreplace(meaning) for expression in self.sums.formula(inner)]

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return what happened inside: the products and their sums."""
        terms = self.terms(x)
        return {"terms": terms, "output": self.sums(terms)}
