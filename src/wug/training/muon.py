"""Muon (Jordan et al., 2024): momentum whose every direction counts alike."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

# Of the odd polynomial that raises all singular values towards 1, the small ones most.
LINEAR, CUBIC, QUINTIC = 3.4445, -4.7750, 2.0315
ROUNDS = 5


def orthogonalised(matrices: Tensor) -> Tensor:
    """Return matrices with the same singular vectors, and with singular values close to 1.

    Equation (jordan2024): X' = a X + (b X X^T + c (X X^T)^2) X, five times, from X / ||X||.

    Shape:
        (batch, rows, columns) -> the same; faster with no more rows than columns.

    Example:
        >>> singular_values = torch.linalg.svdvals(orthogonalised(torch.tensor([[[5.0, 4.0]]])))
        >>> bool((singular_values - 1).abs() < 0.4)
        True
    """
    x: Tensor = matrices / matrices.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-12)
    for _ in range(ROUNDS):
        gram = x @ x.mT
        change = torch.baddbmm(gram, gram, gram, beta=CUBIC, alpha=QUINTIC)
        x = torch.baddbmm(x, change, x, beta=LINEAR)
    return x


class TorchMuon(Optimizer):
    """Momentum whose every direction counts alike: the update of a matrix is made orthogonal.

    Rare directions of the gradient, such as those of an entry of a table that few problems need,
    move as fast as the common ones.

    Equation (jordan2024): M = mu M + (1 - mu) G, W = W - lr sqrt(max(rows, columns))
    orthogonalised(mu M + (1 - mu) G), with decoupled weight decay.

    Departures:
        An update has entries of the size of the learning rate, as AdamW's have about, so that both
        take the same; torch's Muon with ``match_rms_adamw`` takes five times as much. Matrices stay
        in their own precision (torch's goes to bfloat16, which few processors are fast with), and
        those of the same shape are done together.

    Args:
        matrices: Parameters with two dimensions, or stacks of matrices with three.
        lr: The learning rate.
        weight_decay: Decoupled, as in AdamW.
        momentum: Share of the old gradients that is kept.

    Example:
        >>> weight = nn.Parameter(torch.zeros(2, 2))
        >>> weight.grad = torch.tensor([[1.0, 0.0], [0.0, 1e-3]])
        >>> TorchMuon([weight], lr=0.1).step()
        >>> bool((weight.diagonal() < -0.05).all())
        True

    References:
        jordan2024
    """

    def __init__(
        self,
        matrices: Iterable[Tensor],
        lr: float,
        *,
        weight_decay: float = 0.0,
        momentum: float = 0.95,
    ) -> None:
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        """Move every matrix that has a gradient."""
        for group in self.param_groups:
            alike = defaultdict(list)
            for weight in group["params"]:
                if weight.grad is not None:
                    update = self._momentum(weight, group["momentum"])
                    alike[update.shape].append((weight, update))
            for shape, pairs in alike.items():
                weights, updates = zip(*pairs, strict=True)
                rate = group["lr"] * math.sqrt(max(shape[-2:]))
                together = torch.stack(updates)
                changes = orthogonalised(together.flatten(0, -3)).view_as(together)
                for weight, update in zip(weights, changes, strict=True):
                    weight.mul_(1 - group["lr"] * group["weight_decay"])
                    weight.sub_(update if weight.shape == shape else update.mT, alpha=rate)

    def _momentum(self, weight: Tensor, kept: float) -> Tensor:
        """Add the gradient to the momentum and return what both say, no taller than wide."""
        state = self.state[weight]
        if not state:
            state["momentum"] = torch.zeros_like(weight)
        gradient: Tensor = weight.grad  # type: ignore[assignment]
        update = gradient.lerp(state["momentum"].lerp_(gradient, 1 - kept), kept)
        return update.mT if update.shape[-2] > update.shape[-1] else update


def hidden_matrices(model: nn.Module, num_classes: int | None = None) -> list[nn.Parameter]:
    """Return the matrices between a network's layers: not its embeddings, nor its read-out.

    Those are what the network itself holds, what `nn.Embedding` does, and the last linear layer
    with an output for each class. A module's attribute ``stacks_of_matrices`` names parameters with
    three dimensions that hold a matrix for each of its experts.

    Args:
        model: The network.
        num_classes: Number of answers; None if nobody knows.
    """
    outer = {
        id(weight)
        for module in model.modules()
        if module is model or isinstance(module, nn.Embedding)
        for weight in module.parameters(recurse=False)
    }
    linear = [module for module in model.modules() if isinstance(module, nn.Linear)]
    read_outs = [layer.weight for layer in linear if layer.out_features == num_classes]
    outer |= {id(weight) for weight in read_outs[-1:]}
    stacks = {
        id(getattr(module, name))
        for module in model.modules()
        for name in getattr(module, "stacks_of_matrices", ())
    }
    return [
        weight
        for weight in model.parameters()
        if (weight.ndim == 2 or id(weight) in stacks)
        and min(weight.shape[-2:]) > 1
        and id(weight) not in outer
    ]
