"""Product-key memory (Lample et al., 2019): the best of n^2 keys for the price of 2n.

Every key is a pair of a key for the first half of the input and one for the second; the best pairs
are among the pairs of the best halves.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.functional.chosen_rows import sum_rows
from wug.functional.initialise import fill_normal
from wug.functional.top_units import top_sums


@register(
    "layer",
    name="Product-key memory",
    references=("lample2019", "csordas2023"),
    equation=r"\hat y = \sum_{i \in \mathcal{E}_x} \max(u[i], 0)\, v_i, \qquad "
    r"u[i] = u_b[\lfloor i / n \rfloor] + u_a[i \bmod n], \quad u_a = W_a x_a, \ u_b = W_b x_b",
    failure_modes=(
        "Behind a dense block of as many parameters at every size (csordas2023, table 7.2).",
        "A softmax instead of the rectifier is worse still (csordas2023, table 7.2).",
    ),
    interface="columns",
)
class ProductKeyMemory(nn.Module):
    """Key-value memory whose keys are all pairs of two sets of half keys.

    Equation (csordas2023, Eqs. 7.7 and 7.8): y = sum_h sum_{i in E_x^h} f(u^h)[i] v_i, u^h[i] =
    u_b[floor(i / n)] + u_a[i mod n], u_a = W_a^h x_a, u_b = W_b^h x_b, x = x_a | x_b, E_x^h =
    arg topk(u^h, K), f a rectifier or a softmax over the K.

    Notation:
        W_a, W_b -> keys, (half, head, n, features / 2), v -> values, n = sqrt(d_ff) ->
        num_sub_keys, K -> top_k, h -> num_heads.

    Departures:
        As in csordas2023, no batch normalisation and no projection of x to queries.

    Args:
        features: Number of features of a token; even.
        num_sub_keys: Number of half keys n of either half; there are n^2 values.
        top_k: How many values a head reads.
        num_heads: Heads have keys of their own and share the values.
        activation: ``"relu"`` (csordas2023) or ``"softmax"`` (lample2019).
        as_published: What the published runs of csordas2023 computed: no choice at all, since
            there were fewer half keys than K, and the heads' scores summed before the activation.
        values_init: Initial values: ``"dense"``, as the second map of a dense block with one hidden
            unit for each value ("+ init" in csordas2023, table F.1), or ``"embedding"``, with a
            deviation of one over the square root of the features (lample2019).
        num_layers: Layers of the network: the more, the smaller the initial weights.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        x (..., features) -> (..., features).

    Raises:
        UserError: For sizes below 1, odd features, or an unknown name.

    Example:
        >>> ProductKeyMemory(8, num_sub_keys=5, top_k=3, num_heads=2)(torch.ones(1, 3, 8)).shape
        torch.Size([1, 3, 8])

    References:
        lample2019, csordas2023
    """

    stackable = False  # torch's sum of embeddings has no rule for vmap

    def __init__(
        self,
        features: int,
        *,
        num_sub_keys: int = 46,
        top_k: int = 32,
        num_heads: int = 4,
        activation: Literal["relu", "softmax"] = "relu",
        as_published: bool = False,
        values_init: Literal["dense", "embedding"] = "dense",
        num_layers: int = 1,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        sizes = {"features": features, "num_sub_keys": num_sub_keys, "top_k": top_k,
                 "num_heads": num_heads}  # fmt: skip
        for name, size in sizes.items():
            require_at_least("ProductKeyMemory", name, size, 1)
        if features % 2:
            raise UserError(f"ProductKeyMemory: features must be even; got {features}.")
        require_choice("ProductKeyMemory", "activation", activation, ("relu", "softmax"))
        self.in_features = self.out_features = features
        self.num_sub_keys, self.num_heads, self.top_k = num_sub_keys, num_heads, top_k
        require_choice("ProductKeyMemory", "values_init", values_init, ("dense", "embedding"))
        self.activation, self.as_published, self.num_layers = activation, as_published, num_layers
        self.values_init = values_init
        empty = torch.empty(2, num_heads, num_sub_keys, features // 2, device=device, dtype=dtype)
        self.keys = nn.Parameter(empty)
        self.values = nn.Parameter(empty.new_empty(num_sub_keys**2, features))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw initial weights, of keys as the first map of a dense block has them."""
        of_keys, of_values = (
            (2 / (inputs * self.num_layers)) ** 0.5
            for inputs in (self.in_features, len(self.values))
        )
        fill_normal(self.keys, 0.0, of_keys, generator)
        embedding = self.values_init == "embedding"
        fill_normal(self.values, 0.0, self.in_features**-0.5 if embedding else of_values, generator)

    def scores(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the scores of both halves, u_a and u_b, (..., head, sub-key)."""
        halves = x.unflatten(-1, (2, -1)).unbind(-2)
        first, second = (
            torch.einsum("...c,hnc->...hn", half, keys)
            for half, keys in zip(halves, self.keys, strict=True)
        )
        return first, second

    def activate(self, scores: Tensor) -> Tensor:
        """Return the weights of values from their scores."""
        return F.relu(scores) if self.activation == "relu" else scores.softmax(-1)

    def forward(self, x: Tensor, valid: Tensor | None = None) -> Tensor:
        """Read the memory for every token; which of them are padding does not matter."""
        first, second = self.scores(x)
        if self.as_published:
            # The sum over heads of all pairs' sums is all pairs' sums of the sums over heads.
            total = second.sum(-2).unsqueeze(-1) + first.sum(-2).unsqueeze(-2)
            return self.activate(total.flatten(-2)) @ self.values
        sums, index = top_sums(first, second, self.top_k)
        weights = self.activate(sums).flatten(-2)
        read = sum_rows(self.values, index.flatten(-2).flatten(0, -2), weights.flatten(0, -2))
        return read.view(*x.shape[:-1], self.out_features)

    @property
    def multiplications(self) -> int:
        """Multiplications for one token: with all half keys, and of the values that are read."""
        read = len(self.values)
        if not self.as_published:
            read = min(self.num_heads * self.top_k, self.num_heads * read)
        return self.keys.numel() + read * self.out_features
