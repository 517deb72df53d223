"""A sequence of inputs, and an answer at every time step that is asked for one: for memories."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import UserError
from wug.functional.output import Output
from wug.interfaces.interface import Batch, Counts, Selection, Terms, count_weighted


class Steps:
    """Answer at the time steps that are asked for.

    A batch has ``inputs`` (row, seq, in), ``targets`` and ``asked`` (row, seq), and in evaluations
    ``group``. Targets are bits (row, seq, out) or classes (row, seq). A network is called with the
    inputs and returns logits (row, seq, out). An answer is right if all its bits are, or its class.
    """

    measures = ("accuracy", "error", "loss")
    selection = Selection(split="ood_validation", ties="last")
    watched: tuple[str, ...] = ("validation", "ood_validation")

    def sizes(self, task: Any) -> dict[str, int]:
        """Return the number of channels of an input and of an answer."""
        return {"in_features": task.in_features, "out_features": task.out_features}

    def losses(self, logits: Tensor, batch: Batch) -> Tensor:
        """Return the loss of every time step, 0 where no answer is asked for."""
        targets, asked = batch["targets"], batch["asked"]
        if targets.is_floating_point():
            loss = F.binary_cross_entropy_with_logits(logits, targets, reduction="none").sum(-1)
        else:
            loss = F.cross_entropy(logits.mT, targets, reduction="none")
        return loss * asked

    def terms(
        self, task: Any, network: nn.Module, batch: Batch, state: Any
    ) -> tuple[Terms, Output]:
        """Return the loss over all answers that are asked for."""
        output = Output.of(network(batch["inputs"]))
        loss = self.losses(output.answer, batch).sum()
        return {"loss": (loss, self.weights(task, batch)["loss"])}, output

    def weights(self, task: Any, batch: Batch) -> dict[str, Tensor]:
        """Return the number of answers that are asked for, at least 1."""
        return {"loss": batch["asked"].sum().float().clamp(min=1)}

    def counts(
        self, task: Any, network: nn.Module, batch: Batch, state: Any, num_groups: int
    ) -> tuple[Counts, Any]:
        """Count right and wrong answers, and add up their losses, by group."""
        logits: Tensor = Output.of(network(batch["inputs"])).answer
        targets, asked = batch["targets"], batch["asked"].double()
        if targets.is_floating_point():
            right = ((logits > 0) == (targets > 0.5)).all(-1)
        else:
            right = logits.argmax(-1) == targets
        sums = {
            "accuracy": (right * asked).sum(-1),
            "error": (~right * asked).sum(-1),
            "loss": self.losses(logits, batch).double().sum(-1),
        }
        return count_weighted(sums, asked.sum(-1), batch.get("group"), num_groups), None

    def curve(self, split: str) -> str:
        """Return the measure that a learning curve shows."""
        return "loss" if split == "validation" else "error"

    @torch.no_grad()
    def ask(self, task: Any, network: nn.Module, text: str) -> dict[str, Any]:
        """Answer what a person typed, if the task has `read` and `write`.

        Raises:
            UserError: It has not, or the text is no problem of it.
        """
        if not hasattr(task, "read"):
            raise UserError(f"lab: {type(task).__name__} has no inputs that a person can write.")
        device = next(network.parameters()).device
        batch = {name: value.to(device) for name, value in task.read(text).items()}
        logits: Tensor = Output.of(network(batch["inputs"])).answer
        return {"kind": "steps", "problem": text.strip(), **task.write(logits[0], batch)}


STEPS = Steps()
