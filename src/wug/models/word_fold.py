"""Words to a number (Trask et al., 2018): embeddings, an LSTM, and a unit that reads its states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core import index
from wug.core.errors import require_at_least, require_choice
from wug.core.registry import register
from wug.functional.initialise import fill_normal
from wug.functional.network_rules import inside

HEAD = "head."


@register(
    "model",
    name="Word fold",
    interface="numbers",
    references=("trask2018",),
    equation=r"y = f(h_T) \text{ or } y = f\big(\textstyle\sum_t h_t\big), \qquad "
    r"h_t = \mathrm{LSTM}(e_{x_t}, h_{t-1})",
    failure_modes=(
        "The unit sees the LSTM's state, not the words' values: it need not compute with numbers "
        "(mistry2022, section 6.3).",
    ),
)
class WordFold(nn.Module):
    """A number made of an LSTM's last state, or of the sum of its states.

    Equation (trask2018, appendix D): y = f(h_T) or y = f(sum_t h_t), with h_t the states of an LSTM
    over the words' embeddings.

    Notation:
        e -> embedding, LSTM -> lstm, f -> head.

    Departures:
        The appendix gives neither the embeddings nor what reads the states: embeddings have as many
        features as the state, and a linear layer with a bias reads it unless a unit is named.

    Args:
        in_features: Number of tokens; token 0 is padding, whose states are left out of the sum.
        out_features: Number of outputs.
        states: ``"final"`` or ``"summed"``.
        head: Key of the unit that reads the state.
        hidden_features: Size of the state.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., seq) of tokens -> (..., out_features).

    Raises:
        UserError: For an unknown unit or a size below 1.

    Example:
        >>> WordFold(30, 1, states="summed")(torch.tensor([[0, 0, 2, 28, 3]])).shape
        torch.Size([1, 1])

    References:
        trask2018
    """

    unrolled = True

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        states: Literal["final", "summed"] = "final",
        head: str = "linear",
        hidden_features: int = 16,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("WordFold", "in_features", in_features, 1)
        require_choice("WordFold", "states", states, ("final", "summed"))
        self.in_features, self.out_features, self.states = in_features, out_features, states
        common: dict[str, Any] = {"generator": generator, "device": device, "dtype": dtype}
        options = {"bias": True} if head == "linear" else {}
        self.embedding = nn.Parameter(
            torch.empty(in_features, hidden_features, device=device, dtype=dtype)
        )
        self.lstm: Any = index.get("model", "recurrent_network")(
            hidden_features, hidden_features, cell="lstm", hidden_features=hidden_features,
            readout=False, **common,
        )  # fmt: skip
        self.head: Any = index.get("unit", head)(hidden_features, out_features, **common, **options)
        fill_normal(self.embedding, 0.0, 1.0, generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        fill_normal(self.embedding, 0.0, 1.0, generator)
        self.lstm.reset_parameters(generator)
        self.head.reset_parameters(generator)

    def read(self, x: Tensor) -> Tensor:
        """Return what the head reads."""
        states: Tensor = self.lstm.run(F.embedding(x, self.embedding))
        if self.states == "final":
            return states[..., -1, :]
        return (states * (x != 0).unsqueeze(-1)).sum(-2)

    def forward(self, x: Tensor) -> Tensor:
        """Read the words and return the number."""
        number: Tensor = self.head(self.read(x))
        return number

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Return the head's penalty, 0 if it has none."""
        if not hasattr(self.head, "penalty"):
            return params["embedding"].new_zeros(())
        penalty: Tensor = self.head.penalty(inside(params, HEAD))
        return penalty

    def project(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Clamp the head's weights, if it does that."""
        if not hasattr(self.head, "project"):
            return dict(params)
        projected = self.head.project(inside(params, HEAD))
        return {**params, **{f"{HEAD}{name}": value for name, value in projected.items()}}

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return what the head reads, and the answer."""
        return {"read": self.read(x), "output": self(x)}
