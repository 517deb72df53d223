"""Absolute positions, added to the columns (Vaswani et al., 2017; Ruoss et al., 2023).

Sinusoids of the place; or of random places out of a longer range, in order, so that the positions
of long sequences are no news to a network trained on short ones; or nothing at all (NoPE).
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from wug.core.errors import require_at_least, require_choice
from wug.core.registry import register
from wug.functional.initialise import fill_uniform
from wug.functional.positions import chosen_positions, random_positions, sinusoidal_encoding
from wug.functional.streams import dropout

KINDS = ("sinusoidal", "randomised", "none")


@register(
    "layer",
    name="Position encoding",
    references=("vaswani2017", "ruoss2023", "kazemnejad2023"),
    equation=r"y_i = x_i + p_i, \qquad p_{i,2k} = \sin\!\left(i / 10000^{2k/d}\right), \quad "
    r"p_{i,2k+1} = \cos\!\left(i / 10000^{2k/d}\right)",
    failure_modes=(
        "Sinusoidal positions beyond those of training are new to the network: use randomised "
        "ones, or an attention that needs none.",
    ),
    interface="columns",
)
class PositionEncoding(nn.Module):
    """Columns with a sinusoidal encoding of their places added.

    Equation (vaswani2017, section 3.5): y_i = x_i + p_i, p_i,2k = sin(i / 10000^(2k/d)),
    p_i,2k+1 = cos(i / 10000^(2k/d)).

    Notation:
        d -> features.

    Departures:
        Randomised places (ruoss2023) are drawn anew for every batch in training; the paper does so
        in tests too, here each length has its own places there, drawn once at construction, so
        that an evaluation can be repeated.

    Args:
        features: Number of features of a column.
        kind: ``"sinusoidal"``, ``"randomised"`` or ``"none"``.
        dropout: Share of the sums that are dropped in training; 0.1 in the models of csordas2023.
        num_positions: How many places randomised ones are drawn from.
        generator: Source of the places in evaluation; those of training come from torch's own
            random state, as dropout does.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        x (batch, seq, features), valid (batch, seq) -> (batch, seq, features).

    Raises:
        UserError: For an unknown kind, or a sequence longer than num_positions.

    Example:
        >>> PositionEncoding(4).eval()(torch.zeros(1, 2, 4))
        tensor([[[0.0000, 1.0000, 0.0000, 1.0000],
                 [0.8415, 0.5403, 0.0100, 0.9999]]])

    References:
        vaswani2017, ruoss2023, kazemnejad2023
    """

    priorities: Tensor | None

    def __init__(
        self,
        features: int,
        *,
        kind: Literal["sinusoidal", "randomised", "none"] = "sinusoidal",
        dropout: float = 0.1,
        num_positions: int = 2048,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("PositionEncoding", "features", features, 1)
        require_choice("PositionEncoding", "kind", kind, KINDS)
        require_at_least("PositionEncoding", "num_positions", num_positions, 1)
        self.in_features = self.out_features = features
        self.kind, self.dropout, self.num_positions = kind, dropout, num_positions
        drawn = torch.empty(num_positions, device=device, dtype=dtype)
        self.register_buffer("priorities", drawn if kind == "randomised" else None)
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw the places of evaluation anew."""
        if self.priorities is not None:
            fill_uniform(self.priorities, 0.0, 1.0, generator)

    def places(self, length: int, device: torch.device) -> Tensor:
        """Return the places that the columns of a sequence get."""
        if self.priorities is None:
            return torch.arange(length, device=device)
        if self.training:
            return random_positions(length, self.num_positions, device=device)
        return chosen_positions(self.priorities, length)

    def forward(self, x: Tensor, valid: Tensor | None = None) -> Tensor:
        """Add the encoding of their places to the columns, padding included."""
        if self.kind != "none":
            places = self.places(x.shape[1], x.device)
            x = x + sinusoidal_encoding(places, self.in_features, x.dtype)
        return dropout(x, self.dropout, self.training)
