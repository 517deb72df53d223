"""What the mass-conserving units share: each input is distributed, whole, over the outputs."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def shares(junction: Tensor, out_features: int) -> Tensor:
    """Return the share of each input that goes to each output (hoedt2021).

    The shares of one input sum to 1; those of spare outputs, the last ones, are left out.

    Shape:
        junction (in, out + spare) -> (out, in).

    Example:
        >>> shares(torch.tensor([[0.0, 0.0], [99.0, 0.0]]), out_features=1)
        tensor([[0.5000, 1.0000]])
    """
    return torch.softmax(junction, -1)[:, :out_features].mT


@torch.no_grad()
def fill_junction_and_gate(
    junction: Tensor, gate_weight: Tensor, generator: torch.Generator | None
) -> None:
    """Draw initial values: a random unit vector for the gate, then the junction.

    A square junction starts as the identity, another one orthogonal.
    """
    gate_weight.normal_(generator=generator)
    gate_weight.div_(gate_weight.norm())
    if junction.shape[0] == junction.shape[1]:
        nn.init.eye_(junction)
    else:
        nn.init.orthogonal_(junction, generator=generator)


def reward_of_size(*parameters: Tensor) -> Tensor:
    """Return minus the sum of the mean squares: large parameters saturate softmax and sigmoid.

    Example:
        >>> reward_of_size(torch.tensor([1.0, 3.0]), torch.tensor([-2.0]))
        tensor(-9.)
    """
    return -torch.stack([theta.square().mean() for theta in parameters]).sum()
