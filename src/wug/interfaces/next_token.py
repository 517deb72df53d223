"""The next token of a running text, with what the network remembers carried from part to part."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from wug.functional.output import Output
from wug.interfaces.interface import Batch, Counts, Selection, Terms, count_weighted

NUM_WRITTEN = 200
# Tokens that a network without a state reads again before every new one.
NUM_READ_AGAIN = 512


class NextToken:
    """Predict every next token.

    A batch has ``inputs`` and ``targets`` (row, seq), ``mask``, False where there is no text left,
    and ``starts``, True for rows that begin anew. A network is called with the inputs and the
    state, and returns logits (row, seq, token) and the state after them.
    """

    measures = ("loss", "perplexity", "bits_per_character", "accuracy")
    selection = Selection(split="validation", measure="loss")
    watched: tuple[str, ...] = ("validation",)

    def sizes(self, task: Any) -> dict[str, int]:
        """Return the number of tokens."""
        return {"num_tokens": task.num_tokens}

    def call(self, network: nn.Module, batch: Batch, state: Any) -> Output:
        """Run the network on from a state, which rows that begin anew forget."""
        start: Any = getattr(network, "initial_state", None)
        fresh = None if start is None else start(len(batch["inputs"]))
        if state is not None:
            fresh = reset_rows(state, fresh, batch["starts"])
        return Output.of(network(batch["inputs"], state=fresh))

    def losses(self, logits: Tensor, batch: Batch) -> Tensor:
        """Return the loss of every token, 0 where there is no text left."""
        loss = F.cross_entropy(logits.mT, batch["targets"], reduction="none")
        return loss * batch["mask"]

    def terms(
        self, task: Any, network: nn.Module, batch: Batch, state: Any
    ) -> tuple[Terms, Output]:
        """Return the cross-entropy over all tokens."""
        output = self.call(network, batch, state)
        loss = self.losses(output.answer, batch).sum()
        return {"loss": (loss, self.weights(task, batch)["loss"])}, output

    def weights(self, task: Any, batch: Batch) -> dict[str, Tensor]:
        """Return the number of tokens, at least 1."""
        return {"loss": batch["mask"].sum().float().clamp(min=1)}

    def counts(
        self, task: Any, network: nn.Module, batch: Batch, state: Any, num_groups: int
    ) -> tuple[Counts, Any]:
        """Add up the losses of all tokens, as nats and as bits, and count right guesses."""
        output = self.call(network, batch, state)
        mask = batch["mask"]
        nats = self.losses(output.answer, batch).double().sum(-1)
        right = (output.answer.argmax(-1) == batch["targets"]) & mask
        sums = {
            "loss": nats,
            "perplexity": nats,  # finished as the exponential of the mean
            "accuracy": right.double().sum(-1),
        }
        group = batch.get("group")
        found = count_weighted(sums, mask.double().sum(-1), group, num_groups)
        bits = {"bits_per_character": nats / math.log(2)}
        found |= count_weighted(bits, self.characters(task, batch), group, num_groups)
        return found, output.state

    def characters(self, task: Any, batch: Batch) -> Tensor:
        """Return how many characters the targets of each row stand for; a byte counts for one."""
        mask = batch["mask"].double()
        lengths: Tensor | None = getattr(task, "token_lengths", None)
        if lengths is None:
            return mask.sum(-1)
        return (lengths.to(mask)[batch["targets"]] * mask).sum(-1)

    def curve(self, split: str) -> str:
        """Return the measure that a learning curve shows."""
        return "loss"

    def ask(self, task: Any, network: nn.Module, text: str) -> dict[str, Any]:
        """Continue a text with the most likely tokens.

        Returns:
            ``prompt`` and ``continuation``, and of both together ``tokens``, their numbers, and
            ``pieces``, what each of them is as text; ``num_prompt`` of them are the prompt's.

        Raises:
            UserError: The text is empty or has an unknown token.
        """
        tokens: list[int] = task.encode(text)
        written = list(islice(continued(network, tokens), NUM_WRITTEN))
        return {
            "kind": "next_token",
            "prompt": text,
            "continuation": task.decode(written),
            "tokens": [*tokens, *written],
            "num_prompt": len(tokens),
            "pieces": [task.decode([token]) for token in (*tokens, *written)],
        }


@torch.no_grad()
def continued(
    network: nn.Module,
    tokens: Sequence[int],
    *,
    temperature: float = 0.0,
    generator: torch.Generator | None = None,
) -> Iterator[int]:
    """Yield token after token of a text's continuation, without end.

    Args:
        network: In evaluation. One that carries no state reads the end of the text again for every
            token.
        tokens: The text so far, at least one token.
        temperature: What logits are divided by before a token is drawn; 0 takes the most likely.
        generator: Of the draws, on the network's device.

    Example:
        >>> from itertools import islice
        >>> class Counter(nn.Module):
        ...     def forward(self, tokens, state=None):
        ...         return F.one_hot((tokens + 1) % 4, 4).float()
        >>> counter = Counter()
        >>> counter.register_parameter("unused", nn.Parameter(torch.zeros(1)))
        >>> list(islice(continued(counter, [0, 1]), 4))
        [2, 3, 0, 1]
    """
    device = next(network.parameters()).device
    text = torch.tensor([list(tokens)], device=device)
    start: Any = getattr(network, "initial_state", None)
    output = Output.of(network(text, state=None if start is None else start(1)))
    while True:
        logits = output.answer[0, -1].float()
        if temperature > 0:
            shares = (logits / temperature).softmax(-1)
            token = int(torch.multinomial(shares, 1, generator=generator))
        else:
            token = int(logits.argmax())
        yield token
        new = torch.tensor([[token]], device=device)
        if output.state is None:
            text = torch.cat((text, new), 1)[:, -NUM_READ_AGAIN:]
            output = Output.of(network(text, state=None))
        else:
            output = Output.of(network(new, state=output.state))


def reset_rows(state: Any, fresh: Any, starts: Tensor) -> Any:
    """Return a carried state whose rows that begin anew are as at the beginning.

    Example:
        >>> old, new = torch.ones(2, 3), torch.zeros(2, 3)
        >>> reset_rows(old, new, torch.tensor([True, False])).sum(-1)
        tensor([0., 3.])
    """

    def choose(old: Tensor, new: Tensor) -> Tensor:
        rows = starts.view(-1, *[1] * (old.dim() - 1))
        return torch.where(rows, new.to(old.device, old.dtype), old)

    return pytree.tree_map(choose, state, fresh)


NEXT_TOKEN = NextToken()
