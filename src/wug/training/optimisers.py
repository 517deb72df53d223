"""Optimisers as data: what a plan names, and what either engine makes of it.

The stacked engine needs an optimiser as a pure function; one that has none is trained by the single
engine, with torch's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import nn
from torch.optim import Optimizer

from wug.training.muon import TorchMuon, hidden_matrices
from wug.training.pure_optimisers import PureOptimiser, adam, rmsprop, sgd


class Optimiser(Protocol):
    """Moves parameters along their gradients; the learning rate is given in every step."""

    def pure(self) -> PureOptimiser | None:
        """Return the optimiser as a pure function; None if there is no such form."""
        ...

    def make(self, network: nn.Module, num_outputs: int | None) -> list[Optimizer]:
        """Return torch's optimisers of a network's parameters.

        Args:
            network: What they are for.
            num_outputs: Number of features of the network's answer, if known.
        """
        ...


@dataclass(frozen=True)
class Adam:
    """Adam (kingma2015)."""

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def pure(self) -> PureOptimiser:
        """Return the pure form."""
        return adam(self.beta1, self.beta2, self.epsilon)

    def make(self, network: nn.Module, num_outputs: int | None) -> list[Optimizer]:
        """Return torch's Adam."""
        betas = self.beta1, self.beta2
        parameters = network.parameters()
        return [torch.optim.Adam(parameters, 0.0, betas, self.epsilon, fused=True)]


@dataclass(frozen=True)
class AdamW:
    """Adam with decoupled weight decay."""

    weight_decay: float = 0.0
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def pure(self) -> PureOptimiser | None:
        """Return the pure form, which has no weight decay."""
        return None if self.weight_decay else adam(self.beta1, self.beta2, self.epsilon)

    def make(self, network: nn.Module, num_outputs: int | None) -> list[Optimizer]:
        """Return torch's AdamW."""
        return [_adamw(list(network.parameters()), self)]


@dataclass(frozen=True)
class Muon:
    """Muon (jordan2024) for the matrices between layers, AdamW for everything else."""

    weight_decay: float = 0.0
    momentum: float = 0.95

    def pure(self) -> None:
        """Return None: matrices are orthogonalised together, not each by itself."""
        return

    def make(self, network: nn.Module, num_outputs: int | None) -> list[Optimizer]:
        """Return both optimisers, without one that would have nothing to do."""
        matrices = hidden_matrices(network, num_outputs)
        hidden = {id(weight) for weight in matrices}
        others = [weight for weight in network.parameters() if id(weight) not in hidden]
        optimisers: list[Optimizer] = []
        if matrices:
            optimisers.append(
                TorchMuon(matrices, lr=0.0, weight_decay=self.weight_decay, momentum=self.momentum)
            )
        if others:
            optimisers.append(_adamw(others, AdamW(weight_decay=self.weight_decay)))
        return optimisers


@dataclass(frozen=True)
class RMSprop:
    """RMSProp, with momentum if it is given."""

    alpha: float = 0.99
    epsilon: float = 1e-8
    momentum: float = 0.0

    def pure(self) -> PureOptimiser:
        """Return the pure form."""
        return rmsprop(self.alpha, self.epsilon, self.momentum)

    def make(self, network: nn.Module, num_outputs: int | None) -> list[Optimizer]:
        """Return torch's RMSprop."""
        parameters = network.parameters()
        return [
            torch.optim.RMSprop(parameters, 0.0, self.alpha, self.epsilon, momentum=self.momentum)
        ]


@dataclass(frozen=True)
class SGD:
    """Plain gradient descent."""

    def pure(self) -> PureOptimiser:
        """Return the pure form."""
        return sgd()

    def make(self, network: nn.Module, num_outputs: int | None) -> list[Optimizer]:
        """Return torch's SGD."""
        return [torch.optim.SGD(network.parameters(), 0.0)]


@dataclass(frozen=True)
class MomentumSGD:
    """Gradient descent with momentum and weight decay."""

    momentum: float = 0.9
    weight_decay: float = 1e-4

    def pure(self) -> None:
        """Return nothing: there is no pure form."""
        return

    def make(self, network: nn.Module, num_outputs: int | None) -> list[Optimizer]:
        """Return torch's SGD."""
        return [
            torch.optim.SGD(
                network.parameters(), 0.0, momentum=self.momentum, weight_decay=self.weight_decay
            )
        ]


def _adamw(parameters: list[nn.Parameter], data: AdamW) -> Optimizer:
    return torch.optim.AdamW(
        parameters, 0.0, (data.beta1, data.beta2), data.epsilon, data.weight_decay, fused=True
    )
