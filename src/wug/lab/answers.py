"""What a network makes of one input, as plain data for a page: its interface's answer, and more."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from wug.analysis.experts import chosen_experts
from wug.analysis.formula import read_formula
from wug.analysis.memory import memory_record
from wug.analysis.routing import routing_record
from wug.analysis.running_value import running_record
from wug.analysis.writing import writing_record
from wug.core.errors import UserError
from wug.interfaces.numbers import finite_row
from wug.interfaces.registered import interface
from wug.report.png import data_uri
from wug.sources.step_batch import StepBatch

MOST_WEIGHTS = 500
# Attention below this is not seen in a picture; what is left of a row is short.
FAINTEST = 0.02


def answer(network: nn.Module, task: Any, text: str) -> dict[str, Any]:
    """Answer what a person typed.

    Args:
        network: In evaluation; it is not changed.
        task: That it was trained on; None for one that reads plain rows of numbers.
        text: The input.

    Returns:
        What the interface says (see `wug.interfaces`). With tokens also ``routing``, None for a
        network without attention, else ``columns`` (labels), ``operands`` (for each column those
        that it needs), ``arcs`` (for each step and head target, source and weight of attention
        where it is not faint), ``openness`` (for each step and column, None without gates),
        ``threshold`` and ``score``. With sequences also ``writing``: ``source``, ``written``, and
        if the right answer is known ``target``, ``outcome`` and ``first_error``, and ``attention``
        (for each layer and written token the weights of the source), None without any. With text
        also ``experts`` and ``weights``, for each layer and token those that it chose, and
        ``num_experts``, 0 for a dense network. With numbers also ``formula``, one text for each
        output, empty for large networks. With pictures ``pictures`` (as sources of images),
        ``numbers`` and ``running``, a row for each. With an answer in every step also ``memory``,
        what memory.js draws; None for a network without one.

    Raises:
        UserError: The network can't read the input.
    """
    kind = "numbers" if task is None else task.interface
    if hasattr(task, "picture_side"):
        return pictures_of(network, task.read(text))
    found = interface(kind).ask(task, network, text)
    if kind == "classification":
        found["routing"] = routing_of(network, task, found.pop("tokens"))
    if kind == "next_token":
        found |= experts_of(network, found.pop("tokens"))
    if kind == "transduction":
        found["writing"] = writing_of(network, task, found.pop("tokens"), found["answer"])
    if kind == "steps":
        found["memory"] = memory_of(network, task.read(text), found.get("labels"))
    if kind == "numbers":
        small = sum(value.numel() for value in network.parameters()) <= MOST_WEIGHTS
        known = small and hasattr(network, "formula")
        formulas = read_formula(network).expressions if known else []
        found["formula"] = [str(formula.n(4)) for formula in formulas]
    return found


def pictures_of(network: nn.Module, x: Tensor) -> dict[str, Any]:
    """Return what a network made of each picture, and its running value."""
    arrays, _ = running_record(network, x)
    pictures = [data_uri(picture) for picture in arrays["pictures"]]
    rows = {name: [finite_row(row.tolist()) for row in arrays[name]]
            for name in ("numbers", "running")}  # fmt: skip
    return {"kind": "pictures", "pictures": pictures, **rows}


def routing_of(network: nn.Module, task: Any, tokens: list[int]) -> dict[str, Any] | None:
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


def experts_of(network: nn.Module, tokens: list[int]) -> dict[str, Any]:
    """Return the experts that a language model chooses for each token of a text, layer by layer."""
    chosen = chosen_experts(network, tokens)
    weights = [[[plain(one) for one in token] for token in layer] for layer in chosen.weights]
    return {"experts": chosen.experts.tolist(), "weights": weights,
            "num_experts": chosen.num_experts}  # fmt: skip


def writing_of(
    network: nn.Module, task: Any, tokens: list[int], answer: str | None
) -> dict[str, Any]:
    """Return how a network wrote its answer, and what it looked at."""
    target = None if answer is None else task.encode_target(answer)
    arrays, about = writing_record(network, task, tokens, target)
    attention = arrays.get("attention")
    shares = None if attention is None else attention.astype(float).round(3).tolist()
    return {**about, "attention": shares}


def memory_of(
    network: nn.Module, read: dict[str, Tensor], labels: list[str] | None
) -> dict[str, Any] | None:
    """Return what a network did with its memory, for its player; None if it has none.

    Args:
        network: Any.
        read: What the task made of the text.
        labels: What is seen in every step, for tasks of words.
    """
    batch = StepBatch(
        read["inputs"], read["targets"], read["asked"] > 0, torch.zeros(1, dtype=torch.int64)
    )
    try:
        arrays, about = memory_record(network, batch)
    except UserError:
        return None
    data: dict[str, Any] = {name: values.round(3).tolist() for name, values in arrays.items()}
    shown = {"forward_peak": "peak of forward links", "reads_forward": "read by forward links"}
    data["facts"] = [[text, f"{about[name]:.2f}"] for name, text in shown.items()]
    return {**data, "labels": labels} if labels else data


def plain(value: float) -> float:
    """Round what is a share.

    Example:
        >>> plain(0.123456)
        0.123
    """
    return round(float(value), 3)
