"""How a network routes data through its columns (Csordás et al., 2022; csordas2023, Sec. 5.3, D.4).

A copy gate that has learnt control flow stays closed until the operands of its column are there.
Attention and gates of every step show it on one problem; the routing score tells it of many.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wug.core.errors import UserError, require_at_least
from wug.core.registry import register
from wug.functional.sequence_ends import NUM_ENDS
from wug.records import Json
from wug.sources.sequence_set import SequenceSet
from wug.sources.sequence_task import SequenceTask

Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]
Integers = NDArray[np.int64]

# How far a gate is open, on average over its features, when its column counts as written. Closed
# gates begin at 0.05; trained routers write a result to 30-50 % of a column's features.
THRESHOLD = 0.2


def operand_columns(task: SequenceTask, tokens: Sequence[int]) -> list[tuple[int, ...]]:
    """Return for each column of a problem, begin and end included, the columns that it needs.

    Example:
        >>> from wug.tasks.productivity.ctl import CTL
        >>> task = CTL(order="forward")
        >>> operand_columns(task, task.encode("101 d a"))
        [(), (), (1,), (2,), ()]
    """
    needed = task.dependencies(tokens)
    return [(), *(tuple(place + 1 for place in places) for places in needed), ()]


def operand_masks(task: SequenceTask, examples: SequenceSet) -> Bools:
    """Return which columns need which.

    Shape:
        (batch, target, source), with a column for begin, each token, and end.
    """
    num_columns = examples.tokens.shape[1] + NUM_ENDS
    masks = np.zeros((len(examples), num_columns, num_columns), dtype=np.bool_)
    rows = zip(masks, examples.tokens.tolist(), examples.lengths.tolist(), strict=True)
    for mask, tokens, length in rows:
        for target, sources in enumerate(operand_columns(task, tokens[:length])):
            mask[target, list(sources)] = True
    return masks


def written_on_time(written: Bools, operands: Bools) -> Bools:
    """Return which columns were written when all of their operands were ready.

    Inputs, which need nothing, are ready from the start. Another column is ready after the first
    step in which it is written on time; so what is written too early, or never, is not ready, and
    neither is what needs it.

    Shape:
        written (step, batch, column), operands (batch, target, source) -> as written.

    Example:
        >>> operands = np.array([[[0, 0, 0], [1, 0, 0], [1, 1, 0]]], dtype=bool)
        >>> written = np.array([[[0, 1, 1]], [[0, 0, 1]]], dtype=bool)
        >>> written_on_time(written, operands).astype(int).tolist()
        [[[0, 1, 0]], [[0, 0, 1]]]
    """
    ready: Bools = ~np.any(operands, axis=-1)
    on_time = np.zeros_like(written)
    for step, columns in enumerate(written):
        missing = (operands & ~ready[:, None, :]).any(-1)
        on_time[step] = columns & ~missing
        ready |= on_time[step]
    return on_time


@dataclass(frozen=True, kw_only=True)
class Routing:
    """When the columns of some problems were written, and whether they had what they need.

    Args:
        openness: How far each gate was open, the mean over its features; 0 for padding.
        first: First step, from 1, in which a column was written; 0 for never.
        last: The last such step.
        openings: Where gates opened that had something to wait for.
        on_time: Those of them that opened when all operands were ready.
        operands: Which columns need which.
        attended: Attention of a column to its operands, of the head that has most; None without.

    Shape:
        openness, openings, on_time, attended (step, batch, column); first, last (batch, column);
        operands (batch, target, source).
    """

    openness: Floats
    first: Integers
    last: Integers
    openings: Bools
    on_time: Bools
    operands: Bools
    attended: Floats | None = None

    @property
    def scores(self) -> NDArray[np.float64]:
        """The routing score of each problem; NaN where no gate opened that had to wait."""
        on_time, openings = self.on_time.sum((0, 2)), self.openings.sum((0, 2))
        return np.where(openings > 0, on_time / np.maximum(openings, 1), np.nan)

    @property
    def score(self) -> float:
        """The routing score of all problems together."""
        openings = int(self.openings.sum())
        return int(self.on_time.sum()) / openings if openings else np.nan

    @property
    def in_turn(self) -> float:
        """Share of results that are first written after those that they need, of all such pairs."""
        pairs = self.operands & np.any(self.operands, axis=-1)[:, None, :]
        before = (self.first > 0)[:, None, :] & (self.first[:, None, :] < self.first[:, :, None])
        return share(before, pairs)

    @property
    def at_once(self) -> float:
        """Share of independent results that are written in the same steps.

        Of all pairs of columns of which neither needs the other, and whose operations stand equally
        high above the inputs; NaN if no problem has such a pair.
        """
        independent = equally_high(self.operands)
        written = self.first > 0
        starts_before_end = self.first[:, :, None] <= self.last[:, None, :]
        overlap = starts_before_end & starts_before_end.transpose(0, 2, 1)
        return share(overlap & written[:, :, None] & written[:, None, :], independent)

    @property
    def operand_attention(self) -> float:
        """Mean attention of a column to its operands in the step in which it is first written."""
        if self.attended is None:
            return np.nan
        steps = np.arange(1, len(self.openness) + 1)[:, None, None]
        firsts = self.openings & (steps == self.first)
        return float(self.attended[firsts].mean()) if firsts.any() else np.nan


def share(hits: Bools, of: Bools) -> float:
    """Return how many of some places are hit, as a share; NaN without a place."""
    return float((hits & of).sum() / of.sum()) if of.any() else np.nan


def equally_high(operands: Bools) -> Bools:
    """Return the pairs of operations that are equally high above the inputs.

    The height of a column is the number of operations on the longest way to an input; columns that
    are equally high can't need each other.

    Shape:
        (batch, target, source) -> (batch, column, column), each pair twice.

    Example:
        >>> operands = np.zeros((1, 5, 5), dtype=bool)  # columns 2 and 3 need inputs, 4 needs both
        >>> operands[0, [2, 3, 4, 4], [0, 1, 2, 3]] = True
        >>> equally_high(operands).nonzero()[1].tolist()
        [2, 3]
    """
    height = np.zeros(operands.shape[:2], dtype=np.int64)
    while True:
        above = np.where(operands, height[:, None, :] + 1, 0).max(-1)
        if np.array_equal(above, height):
            break
        height = above
    same = (height[:, :, None] == height[:, None, :]) & (height > 0)[:, :, None]
    found: Bools = same & ~np.eye(same.shape[-1], dtype=np.bool_)
    return found


def judge_openness(
    openness: Floats, operands: Bools, threshold: float = THRESHOLD, attended: Floats | None = None
) -> Routing:
    """Compare when gates were open with what their columns had to wait for.

    A column is written in each step in which its openness is above the threshold. Its gate opens
    in the first of such steps in a row. Openings count where a column needs the result of another
    one; with inputs alone there is nothing to wait for. The routing score is the share of these
    openings that are on time (`written_on_time`): 1 if every column waits for its operands, 0 if
    none does or if all gates are open from the start. Columns that don't need each other may be
    written in any order or at once.

    Departures:
        The score is ours: csordas2023 shows the gates of single problems. The column that the
        answer is read from is no operation of the problem and is not judged.

    Args:
        openness: From 0 to 1, in each step.
        operands: Which columns need which.
        threshold: Above which a column counts as written.
        attended: Attention of a column to its operands.

    Shape:
        openness and attended (step, batch, column), operands (batch, target, source).

    Example:
        >>> operands = np.eye(4, k=-1, dtype=bool)[None]  # each column needs the one before it
        >>> in_order, reverse = np.eye(3, 4, k=1)[:, None], np.eye(4)[:0:-1, None]
        >>> judge_openness(in_order, operands).score, judge_openness(reverse, operands).score
        (1.0, 0.0)
    """
    written = openness > threshold
    before = np.concatenate((np.zeros_like(written[:1]), written[:-1]))
    computed: Bools = np.any(operands, axis=-1)
    waiting = (operands & computed[:, None, :]).any(-1)
    openings = written & ~before & waiting
    steps = np.arange(1, len(written) + 1)[:, None, None] * written
    never = len(written) + 1
    first = np.where(written, steps, never).min(0)
    return Routing(
        openness=openness,
        first=np.where(first == never, 0, first),
        last=steps.max(0),
        openings=openings,
        on_time=openings & written_on_time(written, operands),
        operands=operands,
        attended=attended,
    )


def _trace(network: nn.Module, tokens: Tensor, lengths: Tensor, needed: str) -> dict[str, Tensor]:
    """Return what happens inside a network, on the device of its weights."""
    device = next(network.parameters(), tokens).device
    trace: Any = getattr(network, "trace", None)
    found: dict[str, Tensor] = {}
    # Recurrent networks have steps in time, and no columns.
    if trace is not None and not getattr(network, "recurrent", False):
        found = trace(tokens.to(device, torch.int64), lengths.to(device))
    if needed not in found:
        raise UserError(
            f"routing: the network must have a trace with {needed}, such as that of NDR; "
            f"{type(network).__name__} has none."
        )
    return found


@register(
    "analysis",
    name="Routing",
    references=("csordas2022", "csordas2023"),
    equation=r"\text{routing score} = \frac{\#\{\text{openings after all operands are ready}\}}"
    r"{\#\{\text{openings of columns that need another's result}\}}",
    failure_modes=(
        "It sees columns and steps: a network that computes a result elsewhere than at its "
        "operator's column is scored low though it may be right.",
    ),
)
@torch.no_grad()
def measure_routing(
    network: nn.Module,
    task: SequenceTask,
    examples: SequenceSet,
    *,
    threshold: float = THRESHOLD,
    batch_size: int = 100,
) -> Routing:
    """Measure whether gates open when their operands are ready.

    Equation (csordas2023, Sec. 5.3, as a number): the share of gate openings that come after all
    operands are ready, of all openings of columns that need another column's result.

    Args:
        network: Whose trace has gates, as NDR and the gated transformers; it is not changed.
        task: Knows what each token depends on.
        examples: Problems of the task.
        threshold: Mean gate above which a column counts as written.
        batch_size: Problems that are traced at a time.

    Raises:
        UserError: The network has no gates, or there are no problems.

    Example:
        >>> from wug.models.ndr import NDR
        >>> from wug.tasks.productivity.ctl import CTL
        >>> task = CTL()
        >>> network = NDR(task.num_tokens, task.num_classes, features=8, hidden_features=8)
        >>> examples = SequenceSet.from_lists([task.encode("b a 101")], labels=[0], levels=[2])
        >>> measure_routing(network, task, examples).openness.shape  # begin, b, a, 101, end
        (14, 1, 5)

    References:
        csordas2022, csordas2023
    """
    require_at_least("routing", "number of problems", len(examples), 1)
    network = copy.deepcopy(network).eval()
    operands = operand_masks(task, examples)
    parts, read = [], []
    for items in torch.arange(len(examples)).split(batch_size):
        batch = examples[items]
        trace = _trace(network, batch.tokens, batch.lengths, "gates")
        parts.append(trace["gates"].float().mean(-1).numpy(force=True))
        if "attention" in trace:
            weights = trace["attention"].float().numpy(force=True)
            mine = operands[items.numpy()][:, None]
            read.append((weights * mine).sum(-1).max(-2))
    openness = np.concatenate(parts, axis=1)
    attended = np.concatenate(read, axis=1) if read else None
    num_columns = examples.lengths.numpy(force=True)[:, None] + NUM_ENDS
    inside = np.arange(openness.shape[-1]) < num_columns
    return judge_openness(openness * inside, operands, threshold, attended)


@torch.no_grad()
def routing_record(
    network: nn.Module, task: SequenceTask, tokens: Sequence[int], *, threshold: float = THRESHOLD
) -> tuple[dict[str, NDArray[Any]], dict[str, Json]]:
    """Return all that a page needs to show how a network worked on one problem.

    Args:
        network: Whose trace has attention; it is not changed.
        task: What the problem is of.
        tokens: The problem, without begin and end.
        threshold: Mean gate above which a column counts as written.

    Returns:
        Arrays: ``attention`` (step, head, target, source); with copy gates also ``openness``,
        ``openings`` and ``on_time`` (step, column), as in `Routing`.
        JSON: ``problem`` as it is written, ``columns`` (their labels), ``operands`` (for each
        column the columns that it needs), ``answer`` and ``prediction``; with copy gates also
        ``threshold``, ``first``, ``last`` and ``score``, as in `Routing`, None for NaN.

    Raises:
        UserError: The network has no attention, or the problem is not well formed.
    """
    answer = task.answer(tokens)
    problem = SequenceSet.from_lists([tokens], labels=[answer], levels=[0])
    network = copy.deepcopy(network).eval()
    trace = _trace(network, problem.tokens, problem.lengths, "attention")
    arrays: dict[str, NDArray[Any]] = {
        "attention": trace["attention"][:, 0].float().numpy(force=True)
    }
    about: dict[str, Json] = {
        "problem": task.decode(tokens),
        "columns": ["begin", *(task.tokens[token] for token in tokens), "end"],
        "operands": [list(places) for places in operand_columns(task, tokens)],
        "answer": task.classes[answer],
        "prediction": task.classes[int(trace["logits"][0].argmax())],
    }
    if "gates" in trace:
        openness = trace["gates"].float().mean(-1).numpy(force=True)
        routing = judge_openness(openness, operand_masks(task, problem), threshold)
        for name in ("openness", "openings", "on_time"):
            arrays[name] = getattr(routing, name)[:, 0]
        about |= {
            "threshold": threshold,
            "first": routing.first[0].tolist(),
            "last": routing.last[0].tolist(),
            "score": None if np.isnan(routing.score) else routing.score,
        }
    return arrays, about
