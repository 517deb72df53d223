"""A sequence of tokens in, one class out."""

from __future__ import annotations

from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import UserError
from wug.functional.output import Output
from wug.interfaces.interface import Batch, Counts, Selection, Terms, count

MOST_TOKENS = 256


class Classification:
    """Name the class of each sequence; right answers are counted by length or depth.

    A batch has ``tokens`` (row, seq), ``lengths``, ``labels`` and, in evaluations, ``group``.
    A network is called with tokens and lengths and returns logits. Of one whose columns halt it is
    also counted in how many steps a column ran.
    """

    measures = ("accuracy", "error")
    # The last of equally good weights has seen the most.
    selection = Selection(split="ood_validation", ties="last")
    watched: tuple[str, ...] = ("validation", "ood_validation")

    def sizes(self, task: Any) -> dict[str, int]:
        """Return the number of tokens and classes."""
        return {"num_tokens": task.num_tokens, "num_classes": task.num_classes}

    def terms(
        self, task: Any, network: nn.Module, batch: Batch, state: Any
    ) -> tuple[Terms, Output]:
        """Return the cross-entropy."""
        output = Output.of(network(batch["tokens"], batch["lengths"]))
        loss = F.cross_entropy(output.answer, batch["labels"], reduction="sum")
        return {"loss": (loss, self.weights(task, batch)["loss"])}, output

    def wrong(self, batch: Batch, answer: Tensor) -> Tensor:
        """Say which answers of a training batch were wrong, 1 or 0 for each row."""
        return (answer.detach().argmax(-1) != batch["labels"]).float()

    def weights(self, task: Any, batch: Batch) -> dict[str, Tensor]:
        """Return the number of sequences."""
        return {"loss": torch.full((), float(len(batch["labels"])), device=batch["labels"].device)}

    def counts(
        self, task: Any, network: nn.Module, batch: Batch, state: Any, num_groups: int
    ) -> tuple[Counts, Any]:
        """Count right and wrong answers, and how long columns run if they halt."""
        tokens, lengths = batch["tokens"], batch["lengths"]
        halts = getattr(network, "halting", None) is not None
        # A trace has the answers, too.
        trace: dict[str, Tensor] = cast(Any, network).trace(tokens, lengths) if halts else {}
        logits = trace["logits"] if halts else Output.of(network(tokens, lengths)).answer
        right = (logits.argmax(-1) == batch["labels"]).double()
        measures = {"accuracy": right, "error": 1 - right}
        if halts:
            steps = trace["halting_steps"].double()  # 0 for padding
            measures["halting_steps"] = steps.sum(-1) / (steps > 0).sum(-1)
        group = batch.get("group")
        return {name: count(v, group, num_groups) for name, v in measures.items()}, None

    def curve(self, split: str) -> str:
        """Return the measure that a learning curve shows."""
        return "error"

    @torch.no_grad()
    def ask(self, task: Any, network: nn.Module, text: str) -> dict[str, Any]:
        """Answer a problem as a person writes it.

        Args:
            task: That the network was trained on.
            network: In evaluation; it is not changed.
            text: The problem.

        Returns:
            ``problem``, ``prediction``, ``answer`` (the true one), ``probabilities`` (class and
            probability, the largest first) and ``tokens`` (ids).

        Raises:
            UserError: The problem is not well formed or too long.
        """
        tokens = task.encode(text)
        if len(tokens) > MOST_TOKENS:
            raise UserError(f"lab: a problem may have {MOST_TOKENS} tokens; got {len(tokens)}.")
        answer = task.answer(tokens)
        device = next(network.parameters()).device
        logits: Tensor = Output.of(
            network(
                torch.tensor([tokens], device=device), torch.tensor([len(tokens)], device=device)
            )
        ).answer[0]
        ranked = logits.double().softmax(-1).sort(descending=True)
        classes, shares = ranked.indices.tolist(), ranked.values.tolist()
        return {
            "kind": "sequence",
            "problem": task.decode(tokens),
            "prediction": task.classes[classes[0]],
            "answer": task.classes[answer],
            "probabilities": [
                [task.classes[index], round(share, 3)]
                for index, share in zip(classes, shares, strict=True)
            ],
            "tokens": tokens,
        }


CLASSIFICATION = Classification()
