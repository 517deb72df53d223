"""What a network makes of one input, as plain data for a page."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from wug.analysis.formula import read_formula
from wug.analysis.routing import routing_record
from wug.core.errors import UserError
from wug.sources.sequences import SequenceSet, SequenceTask

MOST_TOKENS = 256
MOST_WEIGHTS = 500
# Attention below this is not seen in a picture; what is left of a row is short.
FAINTEST = 0.02


@torch.no_grad()
def answer_sequence(network: nn.Module, task: SequenceTask, text: str) -> dict[str, Any]:
    """Answer a problem as a person writes it.

    Args:
        network: In evaluation; it is not changed.
        task: That it was trained on.
        text: The problem.

    Returns:
        ``problem``, ``prediction``, ``answer`` (the true one), ``probabilities`` (class and
        probability, the largest first) and ``routing``, None for a network without attention, else
        ``columns`` (labels), ``operands`` (for each column those that it needs), ``arcs`` (for each
        step and head target, source and weight of attention where it is not faint), ``openness``
        (for each step and column, None without gates), ``threshold`` and ``score``.

    Raises:
        UserError: The problem is not well formed or too long.
    """
    tokens = task.encode(text)
    if len(tokens) > MOST_TOKENS:
        raise UserError(f"lab: a problem may have {MOST_TOKENS} tokens; got {len(tokens)}.")
    answer = task.answer(tokens)
    problem = SequenceSet.from_lists([tokens], labels=[answer], levels=[0])
    device = next(network.parameters()).device
    logits = network(problem.tokens.to(device, torch.int64), problem.lengths.to(device))[0]
    ranked = logits.double().softmax(-1).sort(descending=True)
    places, shares = ranked.indices.tolist(), ranked.values.tolist()
    return {
        "kind": "sequence",
        "problem": task.decode(tokens),
        "prediction": task.classes[places[0]],
        "answer": task.classes[answer],
        "probabilities": [
            [task.classes[place], plain(share)]
            for place, share in zip(places, shares, strict=True)
        ],
        "routing": routing_of(network, task, tokens),
    }  # fmt: skip


def routing_of(network: nn.Module, task: SequenceTask, tokens: list[int]) -> dict[str, Any] | None:
    """Return how a network worked on a problem; None if it has no attention."""
    try:
        arrays, about = routing_record(network, task, tokens)
    except UserError:  # the problem is well formed, so the network lacks attention
        return None
    openness = arrays.get("openness")
    return {
        "columns": about["columns"],
        "operands": about["operands"],
        "score": about.get("score"),
        "threshold": about.get("threshold"),
        "openness": None if openness is None else [list(map(plain, row)) for row in openness],
        "arcs": [
            [
                [[int(target), int(source), plain(head[target, source])]
                 for target, source in zip(*(head >= FAINTEST).nonzero(), strict=True)]
                for head in step
            ]
            for step in arrays["attention"]
        ],
    }  # fmt: skip


@torch.no_grad()
def answer_numbers(network: nn.Module, text: str) -> dict[str, Any]:
    """Answer a row of numbers.

    Args:
        network: With ``in_features`` inputs, such as a stack of units; it is not changed.
        text: Numbers between spaces or commas.

    Returns:
        ``inputs``, ``outputs`` and ``layers`` (name and values of what happened inside), with None
        for what is not finite; ``formula``, one text for each output, empty for large networks.

    Raises:
        UserError: These are not as many numbers as the network has inputs.
    """
    size = getattr(network, "in_features", None)
    if not isinstance(size, int) or not hasattr(network, "formula"):
        raise UserError(f"lab: {type(network).__name__} does not read a single row of numbers.")
    try:
        inputs = [float(word) for word in text.replace(",", " ").split()]
    except ValueError as error:
        raise UserError(f"lab: the input must be numbers: {error}.") from None
    if len(inputs) != size or not all(map(math.isfinite, inputs)):
        raise UserError(f"lab: the network reads {size} finite numbers; got {len(inputs)}.")
    weight = next(network.parameters())
    x = weight.new_tensor(inputs)
    trace: Any = getattr(network, "trace", None)
    layers = {} if trace is None else trace(x)
    small = sum(value.numel() for value in network.parameters()) <= MOST_WEIGHTS
    return {
        "kind": "numbers",
        "inputs": inputs,
        "outputs": row(network(x).tolist()),
        "layers": [
            [name, row(value.flatten().tolist())]
            for name, value in layers.items()
            if name != "output"
        ],
        "formula": [str(e.n(4)) for e in read_formula(network).expressions] if small else [],
    }  # fmt: skip


def plain(value: float) -> float:
    """Round what is a share.

    Example:
        >>> plain(0.123456)
        0.123
    """
    return round(float(value), 3)


def row(values: Iterable[float]) -> list[float | None]:
    """Return numbers with six digits, None for what is not finite."""
    return [float(f"{value:.6g}") if math.isfinite(value) else None for value in values]
