"""Transformer-XL (Dai et al., 2019) with layer norms first: a language model with a memory.

It reads a text segment by segment. Every layer remembers what it read last, so that a token sees
further back than its segment. Any feed-forward layer can stand in its blocks, dense or sparse.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import UserError, require_at_least, unknown_name
from wug.core.registry import register
from wug.functional.initialise import fill_normal, fill_uniform, xavier_bound
from wug.functional.output import Output
from wug.functional.parts import prefixed, sum_terms, update_parts
from wug.functional.streams import dropout as drop
from wug.layers.feed_forward import FeedForward
from wug.layers.loss_free_moe import LossFreeMoE
from wug.layers.peer import PEER
from wug.layers.product_key_memory import ProductKeyMemory
from wug.layers.segment_attention import SegmentAttention
from wug.layers.sigma_moe import SigmaMoE
from wug.layers.sinkhorn_moe import SinkhornMoE
from wug.layers.softmax_moe import SoftmaxMoE
from wug.layers.sparsely_gated_moe import SparselyGatedMoE
from wug.layers.switch_moe import SwitchMoE
from wug.layers.top_k_mlp import TopKMLP

State: TypeAlias = dict[str, Tensor]

DENSE = "feed_forward"
FEED_FORWARDS: dict[str, type[nn.Module]] = {
    DENSE: FeedForward,
    "top_k_mlp": TopKMLP,
    "product_key_memory": ProductKeyMemory,
    "peer": PEER,
    "sigma_moe": SigmaMoE,
    "softmax_moe": SoftmaxMoE,
    "sparsely_gated_moe": SparselyGatedMoE,
    "switch_moe": SwitchMoE,
    "sinkhorn_moe": SinkhornMoE,
    "loss_free_moe": LossFreeMoE,
}
# Their hidden units are dropped like everything else; experts have a dropout of their own.
PLAIN = (DENSE, "top_k_mlp")


def make_feed_forward(key: str, features: int, **options: Any) -> nn.Module:
    """Build a feed-forward layer by its key; options that it doesn't know are an error.

    Raises:
        UserError: There is no such layer, or it has no such option.
    """
    if key not in FEED_FORWARDS:
        raise unknown_name("feed-forward layer", key, FEED_FORWARDS)
    build = FEED_FORWARDS[key]
    known = set(inspect.signature(build).parameters) - {"features"}
    unknown = sorted(set(options) - known - {"num_layers"})
    if unknown:
        raise UserError(
            f"TransformerXL: {key} has no option {', '.join(unknown)}; it has "
            f"{', '.join(sorted(known))}."
        )
    return build(features, **{name: one for name, one in options.items() if name in known})


def matched_hidden_features(key: str, features: int, **options: Any) -> int:
    """Return how wide a dense block is that has as many parameters as another layer.

    Args:
        key: The other layer's.
        features: Number of features of a token.
        **options: The other layer's.

    Example:
        >>> matched_hidden_features("sigma_moe", 412, num_experts=16, expert_features=128)
        2053
    """
    other = make_feed_forward(key, features, device="meta", **options)
    count = sum(parameter.numel() for parameter in other.parameters())
    # A unit has a weight to and from each feature, and a bias; each feature has a bias.
    return max(round((count - features) / (2 * features + 1)), 1)


class TransformerXLLayer(nn.Module):
    """Attention and a feed-forward layer, each with a layer norm before and a residual around.

    Args as for the model; options go to the feed-forward layer, common ones to all parts.

    Shape:
        x (batch, seq, features), memory (batch, past, features), remembered (batch,) -> `Output`.
    """

    def __init__(
        self,
        features: int,
        num_heads: int,
        head_features: int | None,
        feed_forward: str,
        *,
        dropout: float,
        num_layers: int,
        options: dict[str, Any],
        common: dict[str, Any],
    ) -> None:
        super().__init__()
        self.dropout, self.num_layers = dropout, num_layers
        self.attention = SegmentAttention(
            features, num_heads, head_features=head_features, num_layers=num_layers, **common
        )
        self.feed_forward = make_feed_forward(
            feed_forward, features, num_layers=num_layers, **options, **common
        )
        placed = {"device": common["device"], "dtype": common["dtype"]}
        self.attention_norm = nn.LayerNorm(features, **placed)
        self.feed_forward_norm = nn.LayerNorm(features, **placed)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        for part in self.children():
            if isinstance(part, nn.LayerNorm):
                part.reset_parameters()
            else:
                part.reset_parameters(generator)  # type: ignore[operator]
        if isinstance(self.feed_forward, FeedForward):
            # As all layers of csordas2023's language models start.
            dense = self.feed_forward
            for weight, bias in (
                (dense.weight_in, dense.bias_in), (dense.weight_out, dense.bias_out)
            ):  # fmt: skip
                deviation = (2 / (weight.shape[1] * self.num_layers)) ** 0.5
                fill_normal(weight, 0.0, deviation, generator)
                nn.init.zeros_(bias)

    def read(
        self, x: Tensor, memory: Tensor | None, remembered: Tensor | None, valid: Tensor | None
    ) -> Tensor:
        """Add what attention reads in the segment and in memory."""
        past = None if memory is None else self.attention_norm(memory)
        read = self.attention(self.attention_norm(x), valid, memory=past, remembered=remembered)
        return x + drop(read, self.dropout, self.training)

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        remembered: Tensor | None = None,
        valid: Tensor | None = None,
    ) -> Output:
        """Map a segment, with what is remembered of the layer's earlier inputs."""
        x = self.read(x, memory, remembered, valid)
        mapped = self.feed_forward(self.feed_forward_norm(x), valid)
        if not isinstance(mapped, Output):
            mapped = Output(mapped)
        answer = x + drop(mapped.answer, self.dropout, self.training)
        return Output(answer, mapped.terms, prefixed("feed_forward", mapped.statistics))


@register(
    "model",
    name="Transformer-XL",
    references=("dai2019", "csordas2023"),
    equation=r"\begin{aligned} a_l &= x_l + \mathrm{Attention}(\mathrm{LN}(m_l \mid x_l)), \quad "
    r"x_{l+1} = a_l + \mathrm{FFN}(\mathrm{LN}(a_l)) \\ m_l' &= (m_l \mid x_l) \text{, its end} "
    r"\end{aligned}",
    failure_modes=("What has left the memory of all layers is lost.",),
    interface="next_token",
)
class TransformerXL(nn.Module):
    """Language model that reads segments and remembers the inputs of its layers.

    Equation (dai2019, section 3.2, with layer norms first as in csordas2023, F.2): a_l = x_l +
    Attention(LN(m_l | x_l)), x_{l+1} = a_l + FFN(LN(a_l)); m_l, without gradient, is the end of
    what layer l has read before.

    Notation:
        m -> state["memory"], d_model -> features, d_ff -> hidden_features, n_layers -> num_layers.

    Departures:
        Initial weights are normal as csordas2023 says; its code cuts the tails of matrices outside
        of experts. As in its code, embedding and output layer are separate, and relative positions
        have a trained scale.

    Args:
        num_tokens: Size of the vocabulary.
        features: Number of features of a token.
        num_layers: Number of layers.
        num_heads: Number of heads of the attention.
        head_features: Width of a head; the features divided by the heads by default.
        memory_length: How many tokens are remembered in training.
        test_memory_length: The same when not training; four times as many by default.
        feed_forward: Key of the feed-forward layer, such as ``"feed_forward"`` (dense) or
            ``"sigma_moe"``.
        hidden_features: Hidden units of a dense or top-K block; four times the features by default.
        feed_forward_heads: Number of heads of a feed-forward layer that has heads.
        matched_to: For a dense network: key of a layer, whose options follow; the dense block then
            has as many parameters as it.
        dropout: Share of embeddings, of what attention and feed-forward layers return, of hidden
            units of dense blocks and of the last state that is dropped in training.
        hidden_dropout: Another share for hidden units, of any feed-forward layer.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.
        **options: Of the feed-forward layer, such as num_experts and top_k.

    Shape:
        tokens (batch, seq), state -> an `Output` with logits (batch, seq, num_tokens) and the next
        state: memory (batch, layer, past, features) and remembered (batch,), how much of it counts.

    Raises:
        UserError: For sizes below 1, an unknown layer, or options that it does not have.

    Example:
        >>> model = TransformerXL(256, feed_forward="sigma_moe", num_experts=4, top_k=2)
        >>> first = model(torch.tensor([[87, 117, 103]]))
        >>> model(torch.tensor([[115]]), first.state).answer.shape
        torch.Size([1, 1, 256])

    References:
        dai2019, csordas2023
    """

    def __init__(
        self,
        num_tokens: int,
        *,
        features: int = 128,
        num_layers: int = 4,
        num_heads: int = 4,
        head_features: int | None = None,
        memory_length: int = 128,
        test_memory_length: int | None = None,
        feed_forward: str = DENSE,
        hidden_features: int | None = None,
        feed_forward_heads: int | None = None,
        matched_to: str | None = None,
        dropout: float = 0.0,
        hidden_dropout: float | None = None,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        test_memory = 4 * memory_length if test_memory_length is None else test_memory_length
        sizes = {"num_tokens": num_tokens, "features": features, "num_layers": num_layers}
        for name, size in sizes.items():
            require_at_least("TransformerXL", name, size, 1)
        for name, size in (("memory_length", memory_length), ("test_memory_length", test_memory)):
            require_at_least("TransformerXL", name, size, 0)
        if feed_forward_heads is not None:
            options["num_heads"] = feed_forward_heads
        if matched_to is not None:
            if feed_forward != DENSE or hidden_features is not None:
                raise UserError(
                    "TransformerXL: matched_to is for a dense network without hidden_features; "
                    f"got {feed_forward!r} and {hidden_features}."
                )
            hidden_features = matched_hidden_features(matched_to, features, **options)
            options = {}
        if feed_forward in PLAIN:
            options["hidden_features"] = hidden_features or 4 * features
            hidden_dropout = dropout if hidden_dropout is None else hidden_dropout
        if hidden_dropout is not None:
            options["dropout"] = hidden_dropout
        self.num_tokens, self.dropout = num_tokens, dropout
        self.memory_length, self.test_memory_length = memory_length, test_memory
        common: dict[str, Any] = {"generator": generator, "device": device, "dtype": dtype}
        self.embedding = nn.Parameter(torch.empty(num_tokens, features, device=device, dtype=dtype))
        self.layers = nn.ModuleList(
            TransformerXLLayer(
                features, num_heads, head_features, feed_forward, dropout=dropout,
                num_layers=num_layers, options=options, common=common,
            )
            for _ in range(num_layers)
        )  # fmt: skip
        self.norm = nn.LayerNorm(features, device=device, dtype=dtype)
        self.weight_out = nn.Parameter(self.embedding.new_empty(num_tokens, features))
        self.bias_out = nn.Parameter(self.embedding.new_empty(num_tokens))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        bound = xavier_bound(*self.embedding.shape)
        fill_uniform(self.embedding, -bound, bound, generator)
        for layer in self.layers:
            layer.reset_parameters(generator)  # type: ignore[operator]
        self.norm.reset_parameters()
        fill_normal(self.weight_out, 0.0, self.weight_out.shape[1] ** -0.5, generator)
        nn.init.zeros_(self.bias_out)

    @property
    def stackable(self) -> bool:
        """Whether several replicas can run as one program: not with experts."""
        return all(getattr(part, "stackable", True) for part in self.layers.modules())

    def initial_state(self, rows: int) -> State:
        """Return the state of texts that begin: room for memory, of which nothing counts."""
        length = self.memory_length if self.training else self.test_memory_length
        shape = (rows, len(self.layers), length, self.embedding.shape[1])
        device, dtype = self.embedding.device, self.embedding.dtype
        none = torch.zeros(rows, dtype=torch.int64, device=device)
        # Not of the embedding's kind: that may be a part of one, held by several processes.
        return {"memory": torch.zeros(shape, device=device, dtype=dtype), "remembered": none}

    def next_state(self, inputs: list[Tensor], state: State | None) -> State:
        """Remember the inputs of the layers, up to the length of the memory."""
        new = torch.stack(inputs, 1).detach()
        if state is not None:
            new = torch.cat((state["memory"].to(new.dtype), new), 2)
        length = self.memory_length if self.training else self.test_memory_length
        memory = new[:, :, max(new.shape[2] - length, 0) :]
        before = new.new_zeros(len(new), dtype=torch.int64)
        before = before if state is None else state["remembered"]
        return {
            "memory": memory,
            "remembered": (before + inputs[0].shape[1]).clamp(max=memory.shape[2]),
        }

    def start(self, tokens: Tensor) -> Tensor:
        """Return the columns before the first layer."""
        return drop(F.embedding(tokens, self.embedding), self.dropout, self.training)

    def answer(self, x: Tensor) -> Tensor:
        """Return the logits of the next tokens."""
        x = drop(self.norm(x), self.dropout, self.training)
        return F.linear(x, self.weight_out, self.bias_out)

    def forward(
        self, tokens: Tensor, state: State | None = None, *, valid: Tensor | None = None
    ) -> Output:
        """Return the logits of each token's successor, and the state after the last one.

        Args:
            tokens: A segment of each text.
            state: What the segment before returned; a text begins without one.
            valid: Which tokens are not padding; all by default.
        """
        x, inputs = self.start(tokens), []
        terms: dict[str, Tensor] = {}
        statistics: dict[str, Tensor] = {}
        remembered = None if state is None else state["remembered"]
        for number, layer in enumerate(self.layers):
            inputs.append(x)
            memory = None if state is None else state["memory"][:, number].to(x.dtype)
            output = layer(x, memory, remembered, valid)
            x = output.answer
            terms = sum_terms(terms, output.terms)
            statistics |= prefixed(f"layers.{number}", output.statistics)
        return Output(self.answer(x), terms, statistics, self.next_state(inputs, state))

    def update(
        self, buffers: Mapping[str, Tensor], statistics: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """Return the buffers that a step changes, from the sums that forward returned."""
        return update_parts(self, buffers, statistics)

    def trace(self, tokens: Tensor, state: State | None = None) -> dict[str, Tensor]:
        """Return what happens inside: states, attention weights, and the experts that were chosen.

        Returns:
            ``states`` (layer + 1, batch, seq, features), ``attention`` (layer, batch, head, seq,
            past + seq), ``logits``; with experts also ``experts`` and ``weights`` (layer, batch,
            seq, choice).
        """
        x = self.start(tokens)
        found: dict[str, list[Tensor]] = {"states": [x], "attention": []}
        remembered = None if state is None else state["remembered"]
        for number, one in enumerate(self.layers):
            layer: Any = one
            memory = None if state is None else state["memory"][:, number]
            past = None if memory is None else layer.attention_norm(memory)
            weights = layer.attention.weights(
                layer.attention_norm(x), memory=past, remembered=remembered
            )
            found["attention"].append(weights)
            if hasattr(layer.feed_forward, "mix"):
                read = layer.feed_forward_norm(layer.read(x, memory, remembered, None))
                inner = layer.feed_forward.trace(read)
                for name in ("experts", "weights"):
                    found.setdefault(name, []).append(inner[name])
            x = layer(x, memory, remembered).answer
            found["states"].append(x)
        trace = {name: torch.stack(values) for name, values in found.items()}
        return trace | {"logits": self.answer(x)}
