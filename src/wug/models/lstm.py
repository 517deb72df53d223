"""LSTM that classifies sequences, in one or both directions (Hochreiter and Schmidhuber, 1997).

The recurrent baseline of every table on sequences of tokens.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import UserError, require_at_least
from wug.core.registry import register
from wug.functional.initialise import fill_normal, fill_uniform


def append_token(tokens: Tensor, lengths: Tensor, token: int) -> Tensor:
    """Put a token right after the end of every sequence.

    Shape:
        tokens (batch, seq), lengths (batch,) -> (batch, seq + 1).

    Example:
        >>> append_token(torch.tensor([[1, 2], [3, 0]]), torch.tensor([2, 1]), 9)
        tensor([[1, 2, 9],
                [3, 9, 0]])
    """
    return F.pad(tokens, (0, 1)).scatter(1, lengths.unsqueeze(1), token)


def reverse(x: Tensor, lengths: Tensor) -> Tensor:
    """Turn every sequence around and leave the padding behind it in place.

    Shape:
        x (batch, seq, features), lengths (batch,) -> as x.

    Example:
        >>> x = torch.tensor([[[1], [2], [3]], [[1], [2], [0]]])
        >>> reverse(x, torch.tensor([3, 2])).squeeze(-1)
        tensor([[3, 2, 1],
                [2, 1, 0]])
    """
    places, ends = torch.arange(x.shape[1], device=x.device), lengths.unsqueeze(1)
    mirrored = torch.where(places < ends, ends - 1 - places, places)
    return x.take_along_dim(mirrored.unsqueeze(-1), 1)


def column(x: Tensor, places: Tensor) -> Tensor:
    """Return one column of every sequence.

    Shape:
        x (batch, seq, features), places (batch,) -> (batch, features).

    Example:
        >>> column(torch.tensor([[[1], [2]], [[3], [4]]]), torch.tensor([1, 0])).tolist()
        [[2], [3]]
    """
    return x.take_along_dim(places.view(-1, 1, 1), 1).squeeze(1)


@register(
    "model",
    name="LSTM",
    interface="classification",
    references=("hochreiter1997", "csordas2023"),
    equation=r"h_t, c_t = \mathrm{LSTM}(x_t, h_{t-1}, c_{t-1}), \qquad y = V h_T + d",
    failure_modes=(
        "In one direction it fails in backward table look-up, where what is needed first comes "
        "last, even on the lengths of training (csordas2023, table 5.1).",
        "Deeper expressions than those of training: 0.74 on arithmetic, 0.82 in both directions "
        "(csordas2023, table 5.3).",
    ),
)
class LSTM(nn.Module):
    """Embedding, recurrent layers, and a linear read-out of the last state.

    Equation (hochreiter1997, with forget gates): h_t, c_t = LSTM(x_t, h_{t-1}, c_{t-1}), y = V h_T
    + d; in both directions, h_T is the last state of each.

    Notation:
        x -> embedding, V -> weight, d -> bias.

    Departures:
        Of csordas2023's text, none: no end token. Its code appends one, which only its networks of
        both directions see, and by accident keeps the embedding of token 1 at zero: ``end_token``
        and ``frozen_token``. Its table lists 400 features for both directions, its code has 200.

    Args:
        num_tokens: Size of the vocabulary.
        num_classes: Number of classes.
        features: Size of the state that is read; two directions have half of it each.
        embedding_features: Size of the embedding; as the state by default.
        num_layers: Number of recurrent layers.
        bidirectional: Whether every layer runs in both directions.
        dropout: Share of the embedding, and of what one layer tells the next, that is dropped in
            training.
        end_token: Whether both directions see one more token after the last. In one direction the
            state at the last token is read, which no end token changes.
        frozen_token: A token whose embedding stays at zero.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        tokens (batch, seq) and lengths (batch,), int64 -> (batch, num_classes).

    Raises:
        UserError: For sizes below 1, or an odd number of features for two directions.

    Example:
        >>> model = LSTM(11, 5, bidirectional=True)
        >>> model(torch.tensor([[1, 2, 3], [4, 0, 0]]), torch.tensor([3, 1])).shape
        torch.Size([2, 5])

    References:
        hochreiter1997, csordas2023
    """

    stackable = False

    def __init__(
        self,
        num_tokens: int,
        num_classes: int,
        *,
        features: int = 200,
        embedding_features: int | None = None,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        end_token: bool = False,
        frozen_token: int | None = None,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        embedding_features = features if embedding_features is None else embedding_features
        for name, size in {
            "num_tokens": num_tokens,
            "num_classes": num_classes,
            "features": features,
            "embedding_features": embedding_features,
            "num_layers": num_layers,
        }.items():
            require_at_least("LSTM", name, size, 1)
        num_directions = 2 if bidirectional else 1
        if features % num_directions:
            raise UserError(
                f"LSTM: two directions need an even number of features; got {features}."
            )
        self.num_tokens, self.num_classes, self.features = num_tokens, num_classes, features
        self.bidirectional, self.dropout = bidirectional, dropout
        self.end_token, self.frozen_token = end_token and bidirectional, frozen_token
        self.weight = nn.Parameter(torch.empty(num_classes, features, device=device, dtype=dtype))
        self.bias = nn.Parameter(self.weight.new_empty(num_classes))
        self.embedding = nn.Parameter(
            self.weight.new_empty(num_tokens + self.end_token, embedding_features)
        )
        # Each direction by itself: torch's pair needs packed sequences, with lengths on the CPU.
        # Made on no device first, where their own weights draw nothing from torch's random state.
        self.layers = nn.ModuleList(
            nn.ModuleList(
                nn.LSTM(
                    features if layer else embedding_features,
                    features // num_directions,
                    batch_first=True,
                    device="meta",
                    dtype=self.weight.dtype,
                ).to_empty(device=self.weight.device)
                for _ in range(num_directions)
            )
            for layer in range(num_layers)
        )
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights, from the distributions of torch's own modules."""
        bound = math.sqrt((2 if self.bidirectional else 1) / self.features)
        for parameter in self.layers.parameters():
            fill_uniform(parameter, -bound, bound, generator)
        bound = 1 / math.sqrt(self.features)
        for parameter in (self.weight, self.bias):
            fill_uniform(parameter, -bound, bound, generator)
        fill_normal(self.embedding, 0.0, 1.0, generator)
        if self.frozen_token is not None:
            nn.init.zeros_(self.embedding[self.frozen_token])

    def outputs(self, tokens: Tensor, lengths: Tensor) -> list[Tensor]:
        """Return the outputs of the last layer in every direction, (batch, seq, features)."""
        if self.end_token:
            tokens, lengths = append_token(tokens, lengths, self.num_tokens), lengths + 1
        directions = [F.embedding(tokens, self.embedding, padding_idx=self.frozen_token)]
        for layer in self.layers:
            x = F.dropout(torch.cat(directions, -1), self.dropout, self.training)
            forward, *backward = layer.children()
            directions = [forward(x)[0]]
            directions += [reverse(lstm(reverse(x, lengths))[0], lengths) for lstm in backward]
        return directions

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Return the logits of the classes."""
        forward, *backward = self.outputs(tokens, lengths)
        last = [column(forward, lengths - 1 + self.end_token), *(x[:, 0] for x in backward)]
        return F.linear(torch.cat(last, -1), self.weight, self.bias)

    def trace(self, tokens: Tensor, lengths: Tensor) -> dict[str, Tensor]:
        """Return the outputs of the last layer in every direction side by side, and the logits."""
        hidden = torch.cat(self.outputs(tokens, lengths), -1)
        return {"hidden": hidden, "output": self(tokens, lengths)}
