"""Which experts a network uses: how evenly, and which ones together.

csordas2023 looks at collapse by the sorted shares of selection weights (figures 7.3 and F.4), and
at experts that are chosen together (figure F.3). Its chapter 8 suggests layers that are applied
again and again: whether they choose the same experts every time is a number as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from wug.analysis._held_out_text import read_text
from wug.core.errors import UserError
from wug.core.registry import register

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ExpertUse:
    """How a network's layers use their experts.

    Args:
        layers: Names of the layers with experts.
        weights: Share of all selection weights that each expert gets, (layer, expert).
        choices: Share of all choices that each expert gets, (layer, expert).
        together: For each expert, how the other experts of its tokens are distributed; rows sum to
            1, or to 0 where an expert is never chosen, or alone (layer, expert, expert).
        repeats: Share of a token's experts that the same layer chose one repeat before, (layer,
            repeat); without columns if layers are applied once.
    """

    layers: tuple[str, ...]
    weights: Floats
    choices: Floats
    together: Floats
    repeats: Floats

    @property
    def entropy(self) -> Floats:
        """Entropy of the weights of each layer: 1 if all experts count alike, 0 if one does."""
        shares = np.where(self.weights > 0, self.weights, 1.0)
        entropy = -(self.weights * np.log(shares)).sum(-1)
        return np.asarray(entropy / np.log(max(self.weights.shape[1], 2)))

    @property
    def top_share(self) -> Floats:
        """Share of the weights that the most popular expert of each layer has."""
        return np.asarray(self.weights.max(-1))

    @property
    def numbers(self) -> dict[str, float]:
        """Collapse as numbers, of the worst layer, and what is shared by successive repeats."""
        found = {
            "usage_entropy": float(self.entropy.min()),
            "top_expert_share": float(self.top_share.max()),
        }
        if self.repeats.size:
            found["same_experts"] = float(self.repeats.mean())
        return found


@contextmanager
def record_choices(network: nn.Module) -> Iterator[dict[str, list[Any]]]:
    """Gather what the routers of a network decide while it runs, by layer and in order.

    A layer that is applied several times decides several times.
    """
    decisions: dict[str, list[Any]] = defaultdict(list)
    hooks = [
        part.router.register_forward_hook(
            lambda module, inputs, routing, name=name: decisions[name].append(routing)
        )
        for name, part in network.named_modules()
        if isinstance(getattr(part, "router", None), nn.Module) and hasattr(part, "num_experts")
    ]
    try:
        yield decisions
    finally:
        for hook in hooks:
            hook.remove()


@register("analysis", name="Use of experts", references=("csordas2023", "csordasmoeut2024"))
def expert_use(
    network: nn.Module, task: Any, *, split: str = "validation", num_tokens: int = 100_000
) -> ExpertUse:
    """Measure how a language model uses its experts on held-out text.

    Args:
        network: A model of next tokens with mixtures of experts of one size; it is not changed.
        task: Whose text.
        split: ``"validation"`` or ``"test"``.
        num_tokens: About how many tokens are read.

    Raises:
        UserError: The network has no experts.

    Example:
        >>> from wug.models.transformer_xl import TransformerXL
        >>> from wug.tasks.language.wug_test import WugTest
        >>> network = TransformerXL(256, feed_forward="sigma_moe", num_experts=4, top_k=2)
        >>> use = expert_use(network, WugTest(), num_tokens=100)
        >>> use.weights.shape, use.together.shape, bool((use.entropy <= 1).all())
        ((4, 4), (4, 4, 4), True)
    """
    sizes = {
        name: part.num_experts
        for name, part in network.named_modules()
        if isinstance(getattr(part, "router", None), nn.Module) and hasattr(part, "num_experts")
    }
    if not sizes or len(set(sizes.values())) > 1:
        raise UserError(
            f"expert_use: {type(network).__name__} must have layers with equally many experts; got "
            f"{', '.join(map(str, sizes.values())) or 'none'}."
        )
    size = int(next(iter(sizes.values())))
    weights, choices = (
        {name: torch.zeros(size, dtype=torch.float64) for name in sizes} for _ in range(2)
    )
    together = {name: torch.zeros(size, size, dtype=torch.float64) for name in sizes}
    same: dict[str, list[Tensor]] = defaultdict(list)

    with record_choices(network) as decisions:

        def count(mask: Tensor) -> None:
            for name, routings in decisions.items():
                chosen = [one_hot(routing.index[mask], size) for routing in routings]
                for routing, hot in zip(routings, chosen, strict=True):
                    weight = routing.weight[mask].double().flatten()
                    weights[name].index_add_(0, routing.index[mask].flatten().cpu(), weight.cpu())
                    choices[name] += hot.sum(0)
                    together[name] += hot.mT @ hot
                if len(chosen) > 1:
                    shared = [
                        (a * b).sum(-1).mean() / routings[0].index.shape[-1]
                        for a, b in zip(chosen, chosen[1:], strict=False)
                    ]
                    same[name].append(torch.stack(shared))
            decisions.clear()

        read_text(network, task, split, num_tokens, count)
    pairs = torch.stack([together[name].fill_diagonal_(0) for name in sizes])
    return ExpertUse(
        layers=tuple(sizes),
        weights=normalised(torch.stack([*weights.values()])),
        choices=normalised(torch.stack([*choices.values()])),
        together=normalised(pairs),
        repeats=np.array([torch.stack(same[name]).mean(0).numpy() for name in sizes])
        if same
        else np.empty((len(sizes), 0)),
    )


@dataclass(frozen=True, eq=False)
class ChosenExperts:
    """The experts of each token of a text.

    Args:
        experts: Their numbers, (layer, token, choice); layers that are applied again count again.
        weights: How much each of them counts.
        num_experts: How many there are; 0 for a network without experts.
    """

    experts: NDArray[np.int64]
    weights: Floats
    num_experts: int


@torch.no_grad()
def chosen_experts(network: nn.Module, tokens: Sequence[int]) -> ChosenExperts:
    """Return the experts that a language model chooses for each token of a text, read at once.

    Args:
        network: A model of next tokens; it is not changed.
        tokens: The text.

    Example:
        >>> from wug.models.transformer_xl import TransformerXL
        >>> network = TransformerXL(256, feed_forward="sigma_moe", num_experts=4, top_k=2)
        >>> chosen_experts(network, [87, 117, 103]).experts.shape
        (4, 3, 2)
    """
    was_training = network.training
    network.eval()
    with record_choices(network) as decisions:
        network(torch.tensor([list(tokens)], device=next(network.parameters()).device))
    network.train(was_training)
    # Layers in the order of their application: all of them, then all of them again.
    rounds = zip(*decisions.values(), strict=True) if decisions else ()
    routings = [routing for one in rounds for routing in one]
    if not routings:
        return ChosenExperts(np.empty((0, 0, 0), np.int64), np.empty((0, 0, 0)), 0)
    return ChosenExperts(
        experts=torch.stack([routing.index[0] for routing in routings]).numpy(force=True),
        weights=torch.stack([routing.weight[0] for routing in routings]).double().numpy(force=True),
        num_experts=int(routings[0].logits.shape[-1]),
    )


def one_hot(index: Tensor, size: int) -> Tensor:
    """Return which experts each token chose, (token, expert), as numbers on the host."""
    return F.one_hot(index, size).sum(-2).double().cpu()


def normalised(counts: Tensor) -> Floats:
    """Return counts as shares along the last axis; zeros stay zeros."""
    return (counts / counts.sum(-1, keepdim=True).clamp(min=1e-300)).numpy()
