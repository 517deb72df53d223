"""What the relevance gate of a power unit does to its gradients (Heim et al., 2020, figure 3).

A power unit with two inputs is to return the first one. The second is irrelevant and near 0, so
that its power is huge or next to nothing unless its weight is 0: away from the solution the loss is
a cliff or a plain without a gradient. A gate that is half open mixes the input with 1, and the
plain gets a slope.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.func import functional_call, grad, vmap

from wug.core.errors import UserError, require_at_least
from wug.units.real_npu import RealNPU

# Largest magnitudes of the two inputs; the first is positive.
LIMITS = (2.0, 0.05)


def example_inputs(generator: torch.Generator, batch_size: int = 32) -> Tensor:
    """Draw the inputs of the figure: one relevant number, one irrelevant number near 0.

    Args:
        generator: Source of randomness.
        batch_size: Number of rows.

    Returns:
        (batch, 2): the first column from U(0, 2), the second from U(-0.05, 0.05).

    Example:
        >>> x = example_inputs(torch.Generator().manual_seed(0))
        >>> x.shape, bool((x[:, 0] >= 0).all()), bool((x[:, 1].abs() <= 0.05).all())
        (torch.Size([32, 2]), True, True)
    """
    require_at_least("example_inputs", "batch_size", batch_size, 1)
    numbers = torch.rand(batch_size, 2, generator=generator, dtype=torch.float64)
    first, second = LIMITS
    return torch.stack([first * numbers[:, 0], second * (2 * numbers[:, 1] - 1)], -1)


def gradient_norms(
    x: Tensor, first: Tensor, second: Tensor, *, gate: tuple[float, float] | None = None
) -> Tensor:
    """Return the size of the loss's gradient by both weights, on a grid of weights.

    Equation (heim2020, figure 3): |dL/dw| for L = mean((y - x1)^2) and y a RealNPU's output.

    Args:
        x: Inputs, (batch, 2), of which the first is the target.
        first: Values of w1; the solution is 1.
        second: Values of w2; the solution is 0.
        gate: Of the two inputs; None is the NaiveNPU, which has no gate.

    Returns:
        The norms, (second, first).

    Raises:
        UserError: If there are not two inputs.

    Example:
        >>> x = example_inputs(torch.Generator().manual_seed(0))
        >>> solution = gradient_norms(x, torch.tensor([1.0]), torch.tensor([0.0]), gate=(1.0, 0.0))
        >>> solution.item() < 1e-6
        True
    """
    if x.shape[-1] != 2:
        raise UserError(f"gradient_norms: x must have two columns; got {x.shape[-1]}.")
    unit = RealNPU(2, 1, relevance_gate=gate is not None, dtype=x.dtype)
    fixed = {} if gate is None else {"gate": torch.tensor(gate, dtype=x.dtype)}

    def loss(weights: Tensor) -> Tensor:
        output: Tensor = functional_call(unit, {**fixed, "weight": weights.unsqueeze(0)}, (x,))
        return (output - x[:, :1]).square().mean()

    grid = torch.cartesian_prod(second.to(x.dtype), first.to(x.dtype)).flip(-1)
    norms: Tensor = vmap(grad(loss))(grid).norm(dim=-1)
    return norms.view(len(second), len(first))


def flat_share(norms: Tensor, smallest: float = 1e-2) -> float:
    """Return the share of a grid on which the gradient is too small to tell where to go.

    Args:
        norms: From `gradient_norms`.
        smallest: A gradient below this counts as none; the bound is ours.

    Example:
        >>> flat_share(torch.tensor([[0.0, 1.0], [2.0, 0.001]]))
        0.5
    """
    return (norms < smallest).double().mean().item()
