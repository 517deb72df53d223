"""SwitchHead (Csordás et al., 2024): few attention heads, whose values and outputs are experts."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import UserError, require_at_least
from wug.core.registry import register
from wug.functional.attention import masked_softmax
from wug.functional.balance import entropy_loss
from wug.functional.experts.backends import BackendName
from wug.functional.experts.projections import expert_projections
from wug.functional.initialise import fill_equal_rows, fill_normal
from wug.functional.output import Output
from wug.functional.positions import rotated
from wug.functional.routing import precise, select_experts


class Choice(NamedTuple):
    """The experts that every head uses for a token.

    Args:
        experts: Among those of all heads, (batch, seq, head, choice).
        weights: How much each counts, (batch, seq, head, choice).
        logits: What they were chosen by, (batch, seq, head, expert).
    """

    experts: Tensor
    weights: Tensor
    logits: Tensor


@register(
    "layer",
    name="SwitchHead",
    references=("csordas2024",),
    equation=r"y = \sum_h \sum_{e \in \mathcal{E}_D^h} s_D^h[e]\, (A^h V^h) W_O^{h,e}, \qquad "
    r"V^h = \sum_{e \in \mathcal{E}_S^h} s_S^h[e]\, x W_V^{h,e}, \quad "
    r"s_{S,D}^h = \sigma(x W_{S,D}^h)",
    failure_modes=(
        "What it saves are attention maps: with short sequences there is little to save.",
    ),
    interface="columns",
)
class SwitchHead(nn.Module):
    """Multi-head attention whose value and output projections are mixtures of experts.

    Equation (csordas2024, section 2.2): y = sum_h sum_{e in E_D^h} s_D^h[e] (A^h V^h) W_O^{h,e},
    V^h = sum_{e in E_S^h} s_S^h[e] x W_V^{h,e}, s_S^h = sigmoid(x W_S^h) and s_D^h = sigmoid(x
    W_D^h), E the K largest of each, A^h = softmax(Q^h K^hT / sqrt(d_head)).

    Notation:
        W_V, W_O -> weight_value, weight_out, (head * expert, in, out), W_S, W_D -> select_value,
        select_out, Q, K -> weight_query, weight_key, K -> top_k.

    Departures:
        Positions are rotary, on half of the channels, or none; csordas2024 has Transformer-XL's
        too. The term attention_entropy, which csordasmoeut2024 adds, is there to use or not.

    Args:
        features: Number of features of a token.
        num_heads: Number of heads.
        num_experts: Number of experts of each head, for values and for outputs.
        top_k: How many of them a token uses.
        head_features: Width of a head; the features divided by the heads by default.
        causal: Whether a token reads itself and those before it only.
        rotary: Whether queries and keys are rotated by their positions.
        num_layers: Layers of the network: the more, the smaller the initial weights.
        backend: How products are computed; see `wug.functional.experts.backends`.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        x (batch, seq, features), valid (batch, seq) -> an `Output`, answer (batch, seq, features),
        term attention_entropy.

    Raises:
        UserError: For sizes below 1, more choices than experts, or heads that can't share the
            features evenly while no width is given.

    Example:
        >>> layer = SwitchHead(8, 2, num_experts=3, top_k=2)
        >>> layer(torch.ones(1, 3, 8)).answer.shape
        torch.Size([1, 3, 8])

    References:
        csordas2024, csordasmoeut2024
    """

    stackable = False  # tokens of an expert are as many as choose it

    def __init__(
        self,
        features: int,
        num_heads: int = 2,
        *,
        num_experts: int = 4,
        top_k: int = 2,
        head_features: int | None = None,
        causal: bool = False,
        rotary: bool = True,
        num_layers: int = 1,
        backend: BackendName = "auto",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        sizes = {"features": features, "num_heads": num_heads, "num_experts": num_experts,
                 "top_k": top_k}  # fmt: skip
        for name, size in sizes.items():
            require_at_least("SwitchHead", name, size, 1)
        require_at_least("SwitchHead", "num_experts", num_experts, top_k)
        if head_features is None and features % num_heads:
            raise UserError(
                "SwitchHead: features must be a multiple of num_heads unless head_features is "
                f"given; got {features} and {num_heads}."
            )
        width = features // num_heads if head_features is None else head_features
        self.in_features = self.out_features = features
        self.num_heads, self.num_experts, self.top_k = num_heads, num_experts, top_k
        self.channels, self.causal, self.rotary = width, causal, rotary
        self.num_layers, self.backend = num_layers, backend
        empty = torch.empty(num_heads * width, features, device=device, dtype=dtype)
        total = num_heads * num_experts
        self.weight_query = nn.Parameter(empty)
        self.weight_key = nn.Parameter(torch.empty_like(empty))
        self.weight_value = nn.Parameter(empty.new_empty(total, features, width))
        self.weight_out = nn.Parameter(empty.new_empty(total, width, features))
        self.select_value = nn.Parameter(empty.new_empty(total, features))
        self.select_out = nn.Parameter(empty.new_empty(total, features))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights, as those of a dense attention."""
        inputs = {self.weight_query: self.in_features, self.weight_key: self.in_features,
                  self.weight_value: self.in_features,
                  self.weight_out: self.num_heads * self.channels}  # fmt: skip
        for weight, size in inputs.items():
            fill_normal(weight, 0.0, (2 / (size * self.num_layers)) ** 0.5, generator)
        for weight in (self.select_value, self.select_out):
            fill_equal_rows(weight, (2 / (self.in_features * self.num_layers)) ** 0.5, generator)

    def choose(self, x: Tensor) -> tuple[Choice, Choice]:
        """Choose the experts of values and of outputs."""

        def one(weight: Tensor) -> Choice:
            logits = precise(F.linear(x, weight)).unflatten(-1, (self.num_heads, -1))
            experts, weights = select_experts(logits.sigmoid(), self.top_k)
            first = torch.arange(self.num_heads, device=x.device) * self.num_experts
            return Choice(experts + first.unsqueeze(-1), weights.to(x.dtype), logits)

        return one(self.select_value), one(self.select_out)

    def weights(
        self, x: Tensor, valid: Tensor | None = None, *, read_by: Tensor | None = None
    ) -> Tensor:
        """Return the attention weights, (batch, head, target, source)."""
        read_by = x if read_by is None else read_by
        queries, keys = (
            F.linear(read_by, weight).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for weight in (self.weight_query, self.weight_key)
        )
        positions = torch.arange(x.shape[1], device=x.device)
        if self.rotary:
            queries, keys = (rotated(each, positions, share=0.5) for each in (queries, keys))
        logits = queries @ keys.mT * self.channels**-0.5
        if self.causal:
            future = positions > positions.unsqueeze(-1)
            logits = logits.masked_fill(future, torch.finfo(logits.dtype).min / 4)
        return masked_softmax(logits, valid)

    def attend(
        self, x: Tensor, valid: Tensor | None, read_by: Tensor, values: Choice, outputs: Choice
    ) -> Tensor:
        """Return what every token reads through the chosen experts."""
        batch, seq, heads = *x.shape[:2], self.num_heads
        rows = expert_projections(
            x.flatten(0, 1), values.experts.flatten(0, 1).flatten(1), self.weight_value,
            backend=self.backend,
        ).view(batch, seq, heads, self.top_k, self.channels)  # fmt: skip
        mixed = (rows * values.weights.unsqueeze(-1)).sum(3).transpose(1, 2)
        read = (self.weights(x, valid, read_by=read_by) @ mixed).transpose(1, 2)
        # Weights go into what is read, which is narrower than the output.
        gated = read.unsqueeze(3) * outputs.weights.unsqueeze(-1)
        said = expert_projections(
            gated.flatten(0, 3), outputs.experts.flatten().unsqueeze(-1), self.weight_out,
            backend=self.backend,
        )  # fmt: skip
        return said.view(batch, seq, heads * self.top_k, self.out_features).sum(2)

    def forward(
        self, x: Tensor, valid: Tensor | None = None, *, read_by: Tensor | None = None
    ) -> Output:
        """Return what every token reads.

        Args:
            x: The tokens.
            valid: Which of them are not padding.
            read_by: What queries, keys and choices are made of, as x; x itself by default.
        """
        read_by = x if read_by is None else read_by
        both = self.choose(read_by)
        entropy = sum(
            entropy_loss(choice.logits[:, :, head], valid)
            for choice in both
            for head in range(self.num_heads)
        )
        mean = torch.as_tensor(entropy) / (2 * self.num_heads)
        return Output(self.attend(x, valid, read_by, *both), {"attention_entropy": mean})
