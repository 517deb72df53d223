"""Encoder-decoder transformer (Vaswani et al., 2017) with what decides whether it generalises.

Positions absolute or relative, layers separate or shared (universal, without halting), how token
and position embeddings are scaled: details elsewhere, large differences here (csordas2023, ch. 4).
"""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.functional.initialise import fill_normal, fill_uniform, xavier_bound
from wug.functional.positions import sinusoidal_encoding
from wug.functional.sequence_ends import NUM_ENDS, add_ends
from wug.functional.streams import dropout
from wug.functional.transduction import greedy
from wug.layers.absolute_attention import AbsoluteAttention
from wug.layers.feed_forward import FeedForward
from wug.models._encoder_decoder_layers import (
    Attention,
    DecoderLayer,
    EncoderLayer,
    Kept,
    self_attention,
)

Scaling: TypeAlias = Literal["none", "teu", "ped", "ped_as_published", "xavier"]
Oracle: TypeAlias = Literal["forbidden", "afterwards"]

SCALINGS = ("none", "teu", "ped", "ped_as_published", "xavier")
# Of embeddings with their positions; csordas2023's code has it fixed.
EMBEDDING_DROPOUT = 0.1


@register(
    "model",
    name="Encoder-decoder transformer",
    references=(
        "vaswani2017", "csordas2023", "csordas2021", "dehghani2019", "dai2019", "newman2020",
        "xiong2020",
    ),
    equation=r"\begin{aligned} h &= \mathrm{Encoder}(s), \quad "
    r"P(t_i \mid t_{<i}, s) = \mathrm{softmax}(E\, \mathrm{Decoder}(t_{<i}, h)_i + b); \\ "
    r"\text{TEU: } x_i &= \sqrt{d}\, E_{w_i} + p_i, \quad "
    r"\text{PED: } x_i = E_{w_i} + p_i / \sqrt{d}, \quad \text{none: } x_i = E_{w_i} + p_i "
    r"\end{aligned}",
    failure_modes=(
        "With absolute positions it learns where to end, not when: near 0 on SCAN's longer outputs "
        "at most cutoffs (csordas2023, table 4.1).",
        "Relative positions without shared layers: a training may fall to 0 and stay there "
        "(csordas2023, section 4.2.1).",
        "Chosen by an IID validation set it may have half of the accuracy that it would reach on "
        "the generalisation set (csordas2023, section 4.2.2).",
    ),
    interface="transduction",
)  # fmt: skip
class EncoderDecoder(nn.Module):
    """Transformer from token sequences to token sequences.

    Equation (csordas2023, Sec. 4.1.2, C.2-C.4): P(t_i | t_<i, s) = softmax(E Decoder(t_<i, h)_i +
    b), h = Encoder(s); embeddings TEU: sqrt(d) E_w + p, PED: E_w + p / sqrt(d), none: E_w + p; with
    relative positions no p, but relative attention in all layers save from decoder to encoder.

    The source gets a token before it and one behind it; one id, the first after the targets',
    starts and ends a target. Layers share their weights or not; positions are added once, before
    the first; there is no embedding of a layer's number.

    Notation:
        E -> target_rows (the output is tied to it), b -> bias, p -> sinusoidal positions.

    Departures:
        PED's embeddings start at N(0, 1 / sqrt(d)) as printed; in the code at sqrt(2 / d)
        (``"ped_as_published"``). For relative positions the tables say "no scaling", N(0, 1); in
        the code these embeddings are Xavier-uniform (``"xavier"``). The text does not say where
        attention starts: here, as in the code, relative attention as torch's linear layers and
        absolute attention Xavier-uniform. Dropout as in the code: of attention weights, hidden
        features and what every part adds, and always 0.1 of embeddings with absolute positions.

    Args:
        num_source_tokens: Size of the vocabulary of sources.
        num_target_tokens: Size of the vocabulary of targets, without the end token.
        positions: ``"relative"`` or ``"absolute"``.
        shared: Whether all layers of the encoder, and all of the decoder, have the same weights.
        scaling: Of embeddings: ``"none"``, ``"teu"``, ``"ped"``, ``"ped_as_published"`` or
            ``"xavier"`` (neither is scaled); the position's part matters for absolute ones alone.
        norm: Layer norm ``"post"``, behind every sum, or ``"pre"``, before every part and once in
            the end of encoder and decoder.
        features: Number of features of a column.
        hidden_features: Number of hidden features of the feed-forward blocks.
        num_heads: Number of heads of each attention.
        num_layers: Number of layers of the encoder, and of the decoder.
        dropout: Share that is dropped in training.
        farthest: With relative positions, distances beyond it count as it; None: all differ.
        one_vocabulary: Whether both sides have the same tokens, with the same embeddings. The token
            behind a source is then the start and the end of a target as well.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        source (batch, seq), source_lengths (batch,), target_in (batch, target seq) -> logits
        (batch, target seq, num_target_tokens + 1), the last class the end.

    Raises:
        UserError: For sizes below 1 or unknown choices.

    Example:
        >>> model = EncoderDecoder(13, 6, positions="relative", shared=True)
        >>> sum(p.numel() for p in model.parameters())
        365831
        >>> source, lengths = torch.tensor([[1, 2, 3], [4, 5, 0]]), torch.tensor([3, 2])
        >>> model(source, lengths, torch.tensor([[6, 0, 1, 2], [6, 3, 4, 5]])).shape
        torch.Size([2, 4, 7])
        >>> model.decode(source, lengths, max_length=5, oracle="forbidden").shape
        torch.Size([2, 5])

    References:
        vaswani2017, csordas2023, csordas2021, dehghani2019, dai2019, newman2020, xiong2020
    """

    def __init__(
        self,
        num_source_tokens: int,
        num_target_tokens: int,
        *,
        positions: Literal["relative", "absolute"] = "relative",
        shared: bool = True,
        scaling: Scaling = "none",
        norm: Literal["post", "pre"] = "post",
        features: int = 128,
        hidden_features: int = 256,
        num_heads: int = 8,
        num_layers: int = 3,
        dropout: float = 0.1,
        farthest: int | None = None,
        one_vocabulary: bool = False,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        sizes = {"num_source_tokens": num_source_tokens, "num_target_tokens": num_target_tokens}
        for label, size in (sizes | {"num_layers": num_layers}).items():
            require_at_least(name, label, size, 1)
        require_choice(name, "positions", positions, ("relative", "absolute"))
        require_choice(name, "scaling", scaling, SCALINGS)
        require_choice(name, "norm", norm, ("post", "pre"))
        if one_vocabulary and num_source_tokens != num_target_tokens:
            raise UserError(
                f"{name}: with one_vocabulary there must be as many tokens in targets as in "
                f"sources; got {num_target_tokens} and {num_source_tokens}."
            )
        self.num_source_tokens, self.num_target_tokens = num_source_tokens, num_target_tokens
        self.positions, self.shared, self.scaling, self.norm = positions, shared, scaling, norm
        self.features, self.num_heads, self.num_layers = features, num_heads, num_layers
        common: dict[str, Any] = {"generator": generator, "device": device, "dtype": dtype}
        options = {"norm": norm, "dropout": dropout, "common": common}
        parts: dict[str, Any] = {"dropout": dropout, **common}

        def attention(causal: bool) -> Attention:
            return self_attention(
                positions, features, num_heads, causal=causal, dropout=dropout, farthest=farthest,
                common=common,
            )  # fmt: skip

        def feed_forward() -> FeedForward:
            return FeedForward(features, hidden_features=hidden_features, **parts)

        num_distinct = 1 if shared else num_layers
        self.source_embedding = nn.Parameter(
            torch.empty(num_source_tokens + NUM_ENDS, features, device=device, dtype=dtype)
        )
        self.target_embedding = (
            None
            if one_vocabulary
            else nn.Parameter(self.source_embedding.new_empty(num_target_tokens + 1, features))
        )
        self.bias = nn.Parameter(self.source_embedding.new_empty(num_target_tokens + 1))
        self.encoder = nn.ModuleList(
            EncoderLayer(attention(causal=False), feed_forward(), **options)
            for _ in range(num_distinct)
        )
        self.decoder = nn.ModuleList(
            DecoderLayer(
                attention(causal=True), AbsoluteAttention(features, num_heads, **parts),
                feed_forward(), **options,
            )
            for _ in range(num_distinct)
        )  # fmt: skip
        self.last_norms = nn.ModuleList(
            nn.LayerNorm(features, device=device, dtype=dtype)
            for _ in range(2 if norm == "pre" else 0)
        )
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        deviations = {"none": 1.0, "ped": 1.0, "ped_as_published": math.sqrt(2)}
        own = [e for e in (self.source_embedding, self.target_embedding) if e is not None]
        for embedding in own:
            if self.scaling in ("teu", "xavier"):
                bound = xavier_bound(*embedding.shape)
                fill_uniform(embedding, -bound, bound, generator)
            else:
                width = 1.0 if self.scaling == "none" else math.sqrt(self.features)
                fill_normal(embedding, 0.0, deviations[self.scaling] / width, generator)
        for layer in (*self.encoder, *self.decoder):
            layer.reset_parameters(generator)
        for norm in self.last_norms:
            norm.reset_parameters()  # type: ignore[operator]
        bound = 1 / math.sqrt(self.features)
        fill_uniform(self.bias, -bound, bound, generator)

    @property
    def target_rows(self) -> Tensor:
        """The embeddings of what targets are made of, the end last."""
        if self.target_embedding is None:
            return self.source_embedding[: self.num_target_tokens + 1]
        return self.target_embedding

    def embed(self, tokens: Tensor, embedding: Tensor, start: int = 0) -> Tensor:
        """Return the columns before the first layer, whose first has position start."""
        x = F.embedding(tokens, embedding)
        if self.scaling == "teu":
            x = x * math.sqrt(self.features)
        if self.positions == "relative":
            return x
        places = torch.arange(start, start + tokens.shape[1], device=tokens.device)
        waves = sinusoidal_encoding(places, self.features, x.dtype)
        if self.scaling.startswith("ped"):
            waves = waves / math.sqrt(self.features)
        return dropout(x + waves, EMBEDDING_DROPOUT, self.training)

    def passes(self, layers: nn.ModuleList) -> list[Any]:
        """Return layers in the order in which they are applied."""
        return list(layers) * self.num_layers if self.shared else list(layers)

    def encode(self, source: Tensor, source_lengths: Tensor) -> tuple[list[Kept], Tensor]:
        """Return what each pass of the decoder reads of the source, and what is not padding."""
        tokens, valid = add_ends(source, source_lengths, self.num_source_tokens)
        state = self.embed(tokens, self.source_embedding)
        for layer in self.passes(self.encoder):
            state = layer(state, valid)
        if self.norm == "pre":
            state = self.last_norms[0](state)
        kept = [
            Kept(*layer.source_attention.keys_and_values(state))  # type: ignore[operator, union-attr]
            for layer in self.decoder
        ]
        return kept * self.num_layers if self.shared else kept, valid

    def answer(self, state: Tensor) -> Tensor:
        """Return the logits of the next tokens."""
        if self.norm == "pre":
            state = self.last_norms[1](state)
        return F.linear(state, self.target_rows, self.bias)

    def forward(self, source: Tensor, source_lengths: Tensor, target_in: Tensor) -> Tensor:
        """Return the logits of every next token, for a target that starts with the start token."""
        sources, valid = self.encode(source, source_lengths)
        state = self.embed(target_in, self.target_rows)
        for layer, kept in zip(self.passes(self.decoder), sources, strict=True):
            state = layer(state, kept, valid)
        return self.answer(state)

    @torch.no_grad()
    def decode(
        self,
        source: Tensor,
        source_lengths: Tensor,
        max_length: int,
        *,
        oracle: Oracle | None = None,
        cached: bool = True,
        stop: bool = True,
    ) -> Tensor:
        """Write the most likely next token again and again.

        Args:
            source: Sources, with anything behind their ends.
            source_lengths: Their numbers of tokens.
            max_length: How many tokens to write.
            oracle: None: as trained. ``"forbidden"``: the end token is never written; cut at the
                true length, this is newman2020's oracle. ``"afterwards"``: as csordas2023's code
                has it: as trained, but where it wrote the end, its next best token is returned.
            cached: Whether to keep keys and values of what was written; the result is the same.
            stop: Whether to stop as soon as all sequences have ended, which depends on values.

        Shape:
            source (batch, seq), source_lengths (batch,) -> (batch, max_length); the end token from
            where a sequence ended, if there is no oracle.
        """
        sources, valid = self.encode(source, source_lengths)
        passes = self.passes(self.decoder)
        past = [Kept(*(self._room(max_length, kept) for _ in range(2))) for kept in sources]

        def step(fed: Tensor) -> Tensor:
            if cached:
                index = fed.shape[1] - 1
                state = self.embed(fed[:, -1:], self.target_rows, index)
                for layer, before, kept in zip(passes, past, sources, strict=True):
                    state = layer.step(state, index, before, kept, valid)
            else:
                state = self.embed(fed, self.target_rows)
                for layer, kept in zip(passes, sources, strict=True):
                    state = layer(state, kept, valid)
            return self.answer(state[:, -1])

        return greedy(
            step, source_lengths, self.num_target_tokens, max_length, oracle=oracle, stop=stop
        )

    def _room(self, length: int, like: Kept) -> Tensor:
        batch, num_heads, _, channels = like.keys.shape
        return like.keys.new_zeros(batch, num_heads, length, channels)

    def trace(self, source: Tensor, source_lengths: Tensor, target_in: Tensor) -> dict[str, Tensor]:
        """Return what happens inside, with column 0 of the source for the token before it.

        Returns:
            ``cross_attention`` (layer, batch, head, target, source), ``states`` of the decoder
            (layer + 1, batch, target, features) and ``logits``.
        """
        sources, valid = self.encode(source, source_lengths)
        state = self.embed(target_in, self.target_rows)
        states, attention = [state], []
        for layer, kept in zip(self.passes(self.decoder), sources, strict=True):
            read = layer.apply_part(0, state, layer.attention)
            asking = layer.norms[1](read) if self.norm == "pre" else read
            attention.append(layer.source_attention.read_weights(asking, kept.keys, valid))
            state = layer.finish(read, kept, valid)
            states.append(state)
        return {
            "cross_attention": torch.stack(attention),
            "states": torch.stack(states),
            "logits": self.answer(state),
        }
