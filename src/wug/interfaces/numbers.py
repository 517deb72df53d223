"""Numbers in, numbers out: regression, of arithmetic as well as of pictures and words.

A task gives inputs ``x`` and targets ``y`` and says how far a prediction is from its target: with
``loss`` in training and in the choice of weights, with ``error`` in what is reported. It may name
further measures, ``further``, and evaluate groups of rows apart, such as lengths of sequences: all
rows of a part are then of one ``group``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from wug.core.errors import UserError
from wug.functional.output import Output
from wug.interfaces.interface import Batch, Counts, Selection, Terms


class Numbers:
    """Predict numbers: a loss and an error for each evaluation split."""

    measures = ("loss", "error")
    selection = Selection(split="validation", measure="loss")
    watched: tuple[str, ...] = ("validation", "ood_validation")

    def sizes(self, task: Any) -> dict[str, int]:
        """Return the number of inputs and outputs."""
        return {"in_features": task.in_features, "out_features": task.out_features}

    def terms(
        self, task: Any, network: nn.Module, batch: Batch, state: Any
    ) -> tuple[Terms, Output]:
        """Return the task's loss, which is a mean over the batch."""
        output = Output.of(network(batch["x"]))
        loss: Tensor = task.loss(output.answer, batch["y"])
        weight = self.weights(task, batch)["loss"]
        return {"loss": (loss * weight, weight)}, output

    def weights(self, task: Any, batch: Batch) -> dict[str, Tensor]:
        """Return the number of rows."""
        x = batch["x"]
        return {"loss": torch.full((), float(len(x)), dtype=x.dtype, device=x.device)}

    def counts(
        self, task: Any, network: nn.Module, batch: Batch, state: Any, num_groups: int
    ) -> tuple[Counts, Any]:
        """Return loss and error of a part as one count each: a correlation is not of rows."""
        output = Output.of(network(batch["x"]))
        found = {}
        measured = {"loss": task.loss, "error": task.error, **getattr(task, "further", {})}
        for name, measure in measured.items():
            value: Tensor = measure(output.answer, batch["y"]).double()
            size = torch.full_like(value, len(batch["x"]))
            counts = torch.stack([value * size, size]).expand(num_groups, 2)
            if "group" in batch:
                mine = torch.arange(num_groups, device=value.device) == batch["group"][0]
                counts = torch.where(mine.unsqueeze(-1), counts, 0.0)
            found[name] = counts
        return found, output.state

    def curve(self, split: str) -> str:
        """Return the measure that a learning curve shows."""
        return "loss" if split == "validation" else "error"

    @torch.no_grad()
    def ask(self, task: Any, network: nn.Module, text: str) -> dict[str, Any]:
        """Answer a row of numbers.

        Args:
            task: Not needed; None for a network that was kept without one.
            network: With ``in_features`` inputs, such as a stack of units; it is not changed.
            text: Numbers between spaces or commas.

        Returns:
            ``inputs``, ``outputs`` and ``layers`` (name and values of what happened inside), with
            None for what is not finite.

        Raises:
            UserError: These are not as many numbers as the network has inputs.
        """
        size = getattr(network, "in_features", None)
        if not isinstance(size, int):
            raise UserError(f"lab: {type(network).__name__} does not read a single row of numbers.")
        try:
            inputs = [float(word) for word in text.replace(",", " ").split()]
        except ValueError as error:
            raise UserError(f"lab: the input must be numbers: {error}.") from None
        if len(inputs) != size or not all(map(math.isfinite, inputs)):
            raise UserError(f"lab: the network reads {size} finite numbers; got {len(inputs)}.")
        x = next(network.parameters()).new_tensor(inputs)
        trace: Any = getattr(network, "trace", None)
        try:
            outputs = Output.of(network(x)).answer.tolist()
            layers = {} if trace is None else trace(x)
        except (RuntimeError, IndexError, ValueError) as error:
            raise UserError(
                f"lab: {type(network).__name__} does not read a single row of numbers: {error}."
            ) from None
        return {
            "kind": "numbers",
            "inputs": inputs,
            "outputs": finite_row(outputs),
            "layers": [
                [name, finite_row(value.flatten().tolist())]
                for name, value in layers.items()
                if name != "output"
            ],
        }


def finite_row(values: Iterable[float]) -> list[float | None]:
    """Return numbers with six digits, None for what is not finite.

    Example:
        >>> finite_row([1 / 3, float("nan")])
        [0.333333, None]
    """
    return [float(f"{value:.6g}") if math.isfinite(value) else None for value in values]


NUMBERS = Numbers()
