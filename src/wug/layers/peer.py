"""PEER (He, 2024): product keys that choose experts of one hidden unit each, out of very many."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import UserError, require_at_least
from wug.core.registry import register
from wug.functional.balance import expert_loads
from wug.functional.chosen_rows import multiply_rows, sum_rows
from wug.functional.initialise import fill_normal
from wug.functional.routing import precise
from wug.functional.top_units import top_sums


@register(
    "layer",
    name="PEER",
    references=("he2024", "lample2019"),
    equation=r"y = \sum_h \sum_{i \in \mathcal{E}^h_x} g^h_i\, \mathrm{gelu}(u_i^\top x)\, v_i, "
    r"\qquad g^h = \mathrm{softmax}(\mathrm{topk}(q^h_a{}^\top c_j + q^h_b{}^\top c'_k))",
    failure_modes=(
        "Single units are read one by one: with more experts than fit into the cache, memory sets "
        "the time.",
    ),
    interface="columns",
)
class PEER(nn.Module):
    """Parameter-efficient expert retrieval: experts of one hidden unit, found by product keys.

    Equation (he2024, Eqs. 1-5): y = sum_h sum_{i in E_x^h} g_i^h gelu(u_i . x) v_i, E_x^h the K
    pairs (j, k) with the largest q_a^h . c_j + q_b^h . c'_k, g^h their softmax, q^h = W_q^h x.

    Notation:
        W_q -> weight_query, c, c' -> keys, u -> weight_in, v -> weight_out, sqrt(N) ->
        num_sub_keys, K -> top_k, h -> num_heads.

    Departures:
        No batch normalisation of queries, which he2024 leaves open.

    Args:
        features: Number of features of a token.
        num_sub_keys: Number of half keys; there are as many experts as pairs of them.
        top_k: How many experts a head chooses.
        num_heads: Heads have queries of their own and share keys and experts.
        query_features: Width of a query, both halves; even; the features by default.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        x (..., features) -> (..., features).

    Raises:
        UserError: For sizes below 1, or an odd width of queries.

    Example:
        >>> PEER(8, num_sub_keys=10, top_k=3, num_heads=2)(torch.ones(1, 3, 8)).shape
        torch.Size([1, 3, 8])

    References:
        he2024, lample2019
    """

    stackable = False  # torch's sum of embeddings has no rule for vmap

    def __init__(
        self,
        features: int,
        *,
        num_sub_keys: int = 32,
        top_k: int = 16,
        num_heads: int = 8,
        query_features: int | None = None,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        width = features if query_features is None else query_features
        sizes = {"features": features, "num_sub_keys": num_sub_keys, "top_k": top_k,
                 "num_heads": num_heads, "query_features": width}  # fmt: skip
        for name, size in sizes.items():
            require_at_least("PEER", name, size, 1)
        if width % 2:
            raise UserError(f"PEER: query_features must be even; got {width}. Set it.")
        self.in_features = self.out_features = features
        self.num_sub_keys, self.num_heads, self.top_k = num_sub_keys, num_heads, top_k
        empty = torch.empty(num_heads * width, features, device=device, dtype=dtype)
        self.weight_query = nn.Parameter(empty)
        self.keys = nn.Parameter(empty.new_empty(2, num_sub_keys, width // 2))
        self.weight_in = nn.Parameter(empty.new_empty(num_sub_keys**2, features))
        self.weight_out = nn.Parameter(empty.new_empty(num_sub_keys**2, features))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        chosen = self.num_heads * self.top_k
        for weight, inputs in (
            (self.weight_query, self.in_features), (self.keys, self.keys.shape[-1]),
            (self.weight_in, self.in_features), (self.weight_out, chosen),
        ):  # fmt: skip
            fill_normal(weight, 0.0, inputs**-0.5, generator)

    def route(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the experts of every head and their weights, (..., head, choice) both."""
        queries = F.linear(x, self.weight_query).unflatten(-1, (self.num_heads, 2, -1))
        first, second = (
            precise(half @ keys.T) for half, keys in zip(queries.unbind(-2), self.keys, strict=True)
        )
        sums, index = top_sums(first, second, self.top_k)
        return index, sums.softmax(-1).to(x.dtype)

    def forward(self, x: Tensor, valid: Tensor | None = None) -> Tensor:
        """Map every token by its experts; which of them are padding does not matter."""
        index, weights = (one.flatten(-2).flatten(0, -2) for one in self.route(x))
        units = multiply_rows(x.reshape(-1, self.in_features), self.weight_in, index)
        return sum_rows(self.weight_out, index, F.gelu(units) * weights).view(x.shape)

    @property
    def multiplications(self) -> int:
        """Multiplications for one token: queries, keys, and the experts that are chosen."""
        keys = self.num_heads * self.keys.numel()
        chosen = self.num_heads * min(self.top_k, self.num_sub_keys**2)
        return self.weight_query.numel() + keys + 2 * chosen * self.in_features

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return the chosen experts, their weights, how often each was chosen, and the output."""
        index, weights = self.route(x)
        loads = expert_loads(index.flatten(-2), self.num_sub_keys**2)
        return {"experts": index, "weights": weights, "loads": loads, "output": self(x)}
