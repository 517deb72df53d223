"""A message-passing network whose nodes keep the least message (Faber and Wattenhofer, 2020)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from wug.core.errors import require_at_least
from wug.core.registry import register
from wug.layers.arithmetic_cell import ArithmeticCell


@register(
    "model",
    name="Message fold",
    interface="numbers",
    references=("faber2020", "mistry2022"),
    equation=r"d_v \leftarrow y\, m_{uv} + (1 - y)\, d_v, \quad y = f([m_{uv}, d_v]), \quad "
    r"m_{uv} = d_u + w_{uv}",
    failure_modes=("A comparison that is not decided mixes two distances, round after round.",),
)
class MessageFold(nn.Module):
    """Distances that nodes make of the messages of their neighbours.

    Equation (mistry2022, section 7.2 names it: imitate Bellman and Ford): in every round each node
    takes in its neighbours' messages m = d_u + w_uv one by one and keeps y m + (1 - y) d with y =
    f([m, d]).

    Notation:
        f -> cell.

    Departures:
        The message is the sum of distance and weight and not learnt; what is learnt is to keep the
        least. A graph has one round less than nodes; nodes begin far away, at all edges together.

    Args:
        in_features: Numbers of an edge: 1.
        out_features: Numbers of a node: 1.
        unit: Key of the unit that compares.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.
        **options: Further arguments of the unit.

    Shape:
        (..., node * node, 1), source by source, 0 for no edge -> (..., node, 1).

    Raises:
        UserError: A size is not 1 in use.

    Example:
        >>> MessageFold(1, 1)(torch.tensor([[0.0], [3.0], [0.0], [0.0]])).shape
        torch.Size([2, 1])

    References:
        faber2020, mistry2022
    """

    unrolled = True

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        unit: str = "nsr",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        require_at_least("MessageFold", "in_features", in_features, 1)
        self.in_features, self.out_features = in_features, out_features
        self.cell = ArithmeticCell(
            1, 1, unit=unit, update="select", generator=generator, device=device, dtype=dtype,
            **options,
        )  # fmt: skip

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        self.cell.reset_parameters(generator)

    def rounds(self, x: Tensor) -> list[Tensor]:
        """Return the distances after every round, (..., node)."""
        nodes = round(x.shape[-2] ** 0.5)
        weights = x.reshape(*x.shape[:-2], nodes, nodes)
        far = weights.sum((-1, -2), keepdim=True)[..., 0]
        distances = torch.where(torch.arange(nodes, device=x.device) == 0, 0.0, far)
        found = [distances]
        for _ in range(nodes - 1):
            state = distances
            for source in range(nodes):
                edge = weights[..., source, :]
                message = distances[..., source, None] + edge
                kept = self.cell(message.unsqueeze(-1), state.unsqueeze(-1)).squeeze(-1)
                state = torch.where(edge > 0, kept, state)
            distances = state
            found.append(distances)
        return found

    def forward(self, x: Tensor) -> Tensor:
        """Return the distances after the last round."""
        return self.rounds(x)[-1].unsqueeze(-1)

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return the distances after every round, and the answer."""
        return {"rounds": torch.stack(self.rounds(x), -2), "output": self(x)}
