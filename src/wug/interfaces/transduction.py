"""A sequence of tokens in, a sequence of tokens out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import UserError
from wug.functional.output import Output
from wug.functional.transduction import (
    RIGHT,
    STOPPED_EARLY,
    STOPPED_LATE,
    WROTE_WRONG,
    counted,
    decoder_inputs,
    decoder_targets,
    greedy,
    label_smoothing,
    oracle_match,
    outcomes,
)
from wug.interfaces.interface import Batch, Counts, Selection, Terms, count

MOST_TOKENS = 256
MOST_WRITTEN = 512
# How far beyond the longest right answer a network may write before one stops listening.
BEYOND = 8


def teaches_end(task: Any) -> bool:
    """Say whether the end token is in the loss of a task (+EOS) or not (-EOS, newman2020)."""
    return getattr(task, "teach_end", True)


def is_literal(task: Any) -> bool:
    """Say whether an answer of a task is right only if it is the target, token by token."""
    return bool(getattr(task, "literal", True))


def write(
    network: nn.Module, source: Tensor, source_lengths: Tensor, end: int, max_length: int
) -> Tensor:
    """Let a network write, with its own ``decode`` or, without one, by repeated forward passes.

    Args:
        network: Of this interface.
        source: Sources, with anything behind their ends.
        source_lengths: Their numbers of tokens.
        end: Id of the end token.
        max_length: How many tokens to write.

    Shape:
        source (row, seq), source_lengths (row,) -> (row, max_length), the end token from where a
        sequence ended.
    """
    own: Any = network
    if hasattr(own, "decode"):
        return cast(Tensor, own.decode(source, source_lengths, max_length))

    def step(fed: Tensor) -> Tensor:
        logits: Tensor = Output.of(network(source, source_lengths, fed)).answer
        return logits[:, -1]

    return greedy(step, source_lengths, end, max_length)


def tokens_of(written: list[int], end: int) -> list[int]:
    """Return what was written, up to the end.

    Example:
        >>> tokens_of([1, 2, 9, 9], 9), tokens_of([1, 2], 9)
        ([1, 2], [1, 2])
    """
    return written[: written.index(end)] if end in written else written


def trimmed(batch: Batch) -> Batch:
    """Return a batch without the columns that are padding in all of its rows."""
    cut = {}
    for side in ("source", "target"):
        widest = max([1, *batch[f"{side}_lengths"].tolist()])
        cut[side] = batch[side][:, :widest]
    return {**batch, **cut}


class Transduction:
    """Write the target of each source.

    A batch has ``source`` and ``target`` (row, seq), ``source_lengths``, ``target_lengths`` and, in
    evaluations, ``group``. A network is called with source, source_lengths and the target that its
    decoder is fed, and returns logits whose last class is the end; ``decode`` writes.

    Answers are judged from one pass in which the decoder is fed the right answer: a greedy answer
    is right exactly if the most likely token is right everywhere, the end included. In the same
    pass: an answer without any end, cut at the true length (newman2020's oracle), is right exactly
    if the most likely token but the end is right everywhere. Where a task does not teach the end
    (``teach_end=False``), that is what counts as right.
    """

    measures = ("accuracy", "error", "stopped_wrongly", "wrote_wrongly", "oracle_accuracy", "loss")
    selection = Selection(split="ood_validation", ties="last")
    watched: tuple[str, ...] = ("validation", "ood_validation")

    def sizes(self, task: Any) -> dict[str, int]:
        """Return the sizes of both vocabularies."""
        return {
            "num_source_tokens": task.num_source_tokens,
            "num_target_tokens": task.num_target_tokens,
        }

    def call(self, task: Any, network: nn.Module, batch: Batch) -> tuple[Output, Tensor]:
        """Feed the decoder the right answers; return its logits, and what they should say."""
        end = task.num_target_tokens
        fed = decoder_inputs(batch["target"], end)
        output = Output.of(network(batch["source"], batch["source_lengths"], fed))
        return output, decoder_targets(batch["target"], batch["target_lengths"], end)

    def split(self, batch: Batch, parts: int) -> list[Batch]:
        """Cut a batch into parts of similar lengths, each no wider than its longest pair.

        A batch of all lengths is mostly padding; its parts are not, and their gradients add up to
        the same.

        Example:
            >>> rows, lengths = torch.tensor([[1, 2, 3], [4, 0, 0]]), torch.tensor([3, 1])
            >>> batch = {"source": rows, "source_lengths": lengths,
            ...     "target": rows, "target_lengths": lengths}
            >>> [part["target"].tolist() for part in Transduction().split(batch, 2)]
            [[[4]], [[1, 2, 3]]]
        """
        if parts == 1:
            return [batch]
        order = batch["target_lengths"].argsort(stable=True)
        return [
            trimmed({name: value[rows] for name, value in batch.items()})
            for rows in order.tensor_split(parts)
        ]

    def losses(self, task: Any, logits: Tensor, wanted: Tensor, batch: Batch) -> Tensor:
        """Return the loss of every token that is taught, 0 elsewhere."""
        loss = F.cross_entropy(logits.mT, wanted, reduction="none")
        return loss * self.taught(task, batch, wanted.shape[-1])

    def taught(self, task: Any, batch: Batch, width: int) -> Tensor:
        """Say which tokens are in the loss: all, but no end if the task has ``teach_end=False``."""
        return counted(batch["target_lengths"], width, end=teaches_end(task))

    def terms(
        self, task: Any, network: nn.Module, batch: Batch, state: Any
    ) -> tuple[Terms, Output]:
        """Return the cross-entropy over all tokens that are taught.

        The auxiliary term ``label_smoothing`` is what targets that are spread over all classes add
        to it; the share that is spread is its weight, in the plan.
        """
        output, wanted = self.call(task, network, batch)
        loss = self.losses(task, output.answer, wanted, batch).sum()
        tokens = self.weights(task, batch)["loss"]
        taught = self.taught(task, batch, wanted.shape[-1])
        smoothing = (label_smoothing(output.answer, wanted) * taught).sum() / tokens
        further = {**output.terms, "label_smoothing": smoothing}
        return {"loss": (loss, tokens)}, replace(output, terms=further)

    def weights(self, task: Any, batch: Batch) -> dict[str, Tensor]:
        """Return the number of tokens that are taught."""
        width = batch["target"].shape[-1] + 1
        return {"loss": self.taught(task, batch, width).sum().float().clamp(min=1)}

    def each(self, task: Any, network: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """Judge every answer: right, or its first error; right if cut at the true length; its loss.

        Shape:
            Each measure (row,).
        """
        output, wanted = self.call(task, network, batch)
        logits = output.answer
        targets, lengths = batch["target"], batch["target_lengths"]
        cut = oracle_match(logits[..., :-1].argmax(-1), targets, lengths)
        kind = (
            outcomes(logits.argmax(-1), targets, lengths, task.num_target_tokens)
            if teaches_end(task)
            else torch.where(cut, RIGHT, WROTE_WRONG)
        )
        if not is_literal(task):
            other = (kind != RIGHT).nonzero()[:, 0]
            same = other[self._same(task, network, {n: v[other] for n, v in batch.items()})]
            kind, cut = kind.index_fill(0, same, RIGHT), cut.index_fill(0, same, True)
        tokens = self.taught(task, batch, wanted.shape[-1]).sum(-1).double().clamp(min=1)
        return {
            "accuracy": kind == RIGHT,
            "error": kind != RIGHT,
            "stopped_wrongly": (kind == STOPPED_EARLY) | (kind == STOPPED_LATE),
            "wrote_wrongly": kind == WROTE_WRONG,
            "oracle_accuracy": cut,
            "loss": self.losses(task, logits, wanted, batch).double().sum(-1) / tokens,
        }

    def _same(self, task: Any, network: nn.Module, batch: Batch) -> Tensor:
        """Let a network write, and say which answers the task takes for right.

        Shape:
            (row,), boolean.
        """
        lengths, end = batch["target_lengths"], task.num_target_tokens
        if not len(lengths):
            return lengths > 0
        most = int(lengths.max()) + BEYOND
        given = batch["source"], batch["source_lengths"]
        rows = write(network, *given, end, most).tolist()
        found = []
        for row, target, length in zip(
            rows, batch["target"].tolist(), lengths.tolist(), strict=True
        ):
            answer, wanted = tokens_of(row, end), task.decode_target(target[:length])
            ended = len(answer) < most
            found.append(ended and task.same(task.decode_target(answer), wanted))
        return torch.tensor(found, device=lengths.device)

    def counts(
        self, task: Any, network: nn.Module, batch: Batch, state: Any, num_groups: int
    ) -> tuple[Counts, Any]:
        """Count right answers, and wrong ones by their first error: stopped or wrote wrongly."""
        found, group = self.each(task, network, batch), batch.get("group")
        return {name: count(v.double(), group, num_groups) for name, v in found.items()}, None

    def curve(self, split: str) -> str:
        """Return the measure that a learning curve shows."""
        return "error"

    @torch.no_grad()
    def ask(self, task: Any, network: nn.Module, text: str) -> dict[str, Any]:
        """Write the target of a source as a person writes it.

        Returns:
            ``problem``, ``tokens`` (its ids), ``prediction``, and ``answer``, the right one, where
            the task can tell; else None.

        Raises:
            UserError: The source is too long or has an unknown token.
        """
        text = task.typed(text)
        source = task.encode_source(text)
        if len(source) > MOST_TOKENS:
            raise UserError(f"lab: a source may have {MOST_TOKENS} tokens; got {len(source)}.")
        device, end = next(network.parameters()).device, task.num_target_tokens
        given = torch.tensor([source], device=device), torch.tensor([len(source)], device=device)
        answer = tokens_of(write(network, *given, end, MOST_WRITTEN)[0].tolist(), end)
        return {
            "kind": "transduction",
            "problem": task.decode_source(source),
            "tokens": source,
            "answer": self._true_target(task, text),
            "prediction": task.decode_target(answer),
        }

    def _true_target(self, task: Any, text: str) -> str | None:
        try:
            found: str | None = task.true_target(text)
        except UserError:  # of known tokens, but none of the task's sources
            return None
        return found


TRANSDUCTION = Transduction()
