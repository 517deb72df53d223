"""MoEUT (Csordás et al., 2024): a language model whose few layers are applied again and again.

What shared layers lose in parameters, experts give back: mixtures in attention and feed-forward
blocks make a layer large without making it slow.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import require_at_least
from wug.core.registry import register
from wug.functional.balance import negative_entropy
from wug.functional.initialise import fill_normal
from wug.functional.output import Output
from wug.functional.streams import dropout as drop
from wug.layers.sigma_moe import SigmaMoE
from wug.layers.switch_head import SwitchHead


def entropy_per_sequence(logits: list[Tensor], valid: Tensor | None) -> Tensor:
    """Return how uneven the mean choice of each sequence is, over tokens and repeats.

    Args:
        logits: Of each repeat, (batch, seq, expert).
        valid: Which tokens are not padding, (batch, seq).
    """
    p = torch.stack([one.softmax(-1) for one in logits]).mean(0)
    if valid is None:
        return negative_entropy(p.mean(1)).mean()
    counted = valid.to(p.dtype).unsqueeze(-1)
    return negative_entropy((p * counted).sum(1) / counted.sum(1).clamp(min=1)).mean()


class MoEUTLayer(nn.Module):
    """SwitchHead and sigma-MoE, with layer norms on what chooses and compares only.

    Values and what experts compute come from the residual stream as it is ("peri-layernorm").

    Shape:
        x (batch, seq, features) -> (batch, seq, features), and the logits of all choices.
    """

    def __init__(
        self, attention: SwitchHead, feed_forward: SigmaMoE, dropout: float, placed: dict[str, Any]
    ) -> None:
        super().__init__()
        self.attention, self.feed_forward, self.dropout = attention, feed_forward, dropout
        features = attention.in_features
        self.attention_norm = nn.LayerNorm(features, **placed)
        self.feed_forward_norm = nn.LayerNorm(features, **placed)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        for part in (self.attention, self.feed_forward):
            part.reset_parameters(generator)
        for norm in (self.attention_norm, self.feed_forward_norm):
            norm.reset_parameters()

    def forward(
        self, x: Tensor, valid: Tensor | None = None
    ) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
        """Apply the layer: tokens after it, and logits of experts, of values and of outputs."""
        norm = self.attention_norm(x)
        values, outputs = self.attention.choose(norm)
        read = self.attention.attend(x, valid, norm, values, outputs)
        x = x + drop(read, self.dropout, self.training)
        routing = self.feed_forward.route(self.feed_forward_norm(x), valid)
        mapped = self.feed_forward.mix(x, routing)
        x = x + drop(mapped, self.dropout, self.training)
        return x, routing.logits, (values.logits, outputs.logits)


@register(
    "model",
    name="MoEUT",
    references=("csordasmoeut2024", "csordas2024", "csordas2023"),
    equation=r"\begin{aligned} a &= x + \mathrm{SwitchHead}(x; \mathrm{LN}(x)), \quad "
    r"x' = a + \sigma\text{-MoE}(a; \mathrm{LN}(a)), \\ "
    r"&\text{layers } 1 \ldots G \text{, repeated} \end{aligned}",
    failure_modes=("Its steps can't run side by side: depth costs time, whatever it saves.",),
    interface="next_token",
)
class MoEUT(nn.Module):
    """Language model of a group of layers with experts, applied several times.

    Equation (csordasmoeut2024, section 2): a = x + SwitchHead(x; LN(x)), x' = a + sigma-MoE(a;
    LN(a)), where what stands after the semicolon makes queries, keys and choices of experts; for
    layers 1 to G in turn, again and again.

    Notation:
        G -> group_size.

    Departures:
        Terms are those of all layers summed. Positions are rotary, as in its code.

    Args:
        num_tokens: Size of the vocabulary.
        features: Number of features of a token.
        group_size: Number of different layers.
        num_repeats: How often the group is applied.
        num_heads: Number of heads of the attention.
        attention_experts: Number of experts of each head.
        attention_top_k: How many of them a token uses.
        num_experts: Number of experts of a feed-forward block.
        expert_features: Number of hidden units of an expert.
        top_k: Number of experts for a token.
        expert_dropout: Share of the experts that can't be chosen in a training step.
        dropout: Share of what attention and experts return that is dropped in training.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        tokens (batch, seq) -> an `Output` with logits (batch, seq, num_tokens), terms entropy and
        attention_entropy, each of the mean choice in a sequence over tokens and repeats.

    Raises:
        UserError: For sizes below 1.

    Example:
        >>> model = MoEUT(256, features=16, num_experts=4, expert_features=8)
        >>> model(torch.tensor([[87, 117, 103]])).answer.shape
        torch.Size([1, 3, 256])

    References:
        csordasmoeut2024, csordas2024, csordas2023
    """

    stackable = False  # tokens of an expert are as many as choose it

    def __init__(
        self,
        num_tokens: int,
        *,
        features: int = 128,
        group_size: int = 2,
        num_repeats: int = 3,
        num_heads: int = 2,
        attention_experts: int = 4,
        attention_top_k: int = 2,
        num_experts: int = 16,
        expert_features: int = 128,
        top_k: int = 4,
        expert_dropout: float = 0.0,
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        sizes = {"num_tokens": num_tokens, "group_size": group_size, "num_repeats": num_repeats}
        for name, size in sizes.items():
            require_at_least("MoEUT", name, size, 1)
        self.num_tokens, self.num_repeats = num_tokens, num_repeats
        depth = group_size * num_repeats
        placed: dict[str, Any] = {"device": device, "dtype": dtype}
        common: dict[str, Any] = {"num_layers": depth, "generator": generator, **placed}
        self.embedding = nn.Parameter(torch.empty(num_tokens, features, **placed))
        self.layers = nn.ModuleList(
            MoEUTLayer(
                SwitchHead(features, num_heads, num_experts=attention_experts,
                           top_k=attention_top_k, causal=True, **common),
                SigmaMoE(features, num_experts=num_experts, expert_features=expert_features,
                         top_k=top_k, expert_dropout=expert_dropout, **common),
                dropout, placed,
            )
            for _ in range(group_size)
        )  # fmt: skip
        self.norm = nn.LayerNorm(features, **placed)
        self.weight_out = nn.Parameter(self.embedding.new_empty(num_tokens, features))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        deviation = self.embedding.shape[1] ** -0.5
        fill_normal(self.embedding, 0.0, deviation, generator)
        for layer in self.layers:
            layer.reset_parameters(generator)  # type: ignore[operator]
        self.norm.reset_parameters()
        fill_normal(self.weight_out, 0.0, deviation, generator)

    def forward(self, tokens: Tensor, state: None = None, *, valid: Tensor | None = None) -> Output:
        """Return the logits of each token's successor.

        Args:
            tokens: The texts.
            state: None: nothing is carried from call to call.
            valid: Which tokens are not padding; all by default.
        """
        x = F.embedding(tokens, self.embedding)
        experts: list[list[Tensor]] = [[] for _ in self.layers]
        heads: list[list[Tensor]] = [[] for _ in self.layers]
        for _ in range(self.num_repeats):
            for number, layer in enumerate(self.layers):
                x, chosen, (values, outputs) = layer(x, valid)
                experts[number].append(chosen)
                heads[number].append(torch.cat((values, outputs), 2))
        entropy = sum(entropy_per_sequence(one, valid) for one in experts)
        attention = sum(
            entropy_per_sequence([one[:, :, head] for one in layer], valid) / layer[0].shape[2]
            for layer in heads
            for head in range(layer[0].shape[2])
        )
        terms = {"entropy": torch.as_tensor(entropy),
                 "attention_entropy": torch.as_tensor(attention)}  # fmt: skip
        return Output(F.linear(self.norm(x), self.weight_out), terms)
