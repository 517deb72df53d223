"""Where a differentiable neural computer reads and writes (Graves et al., 2016; csordas2023).

Pure functions of cells' contents, of how much they are used and in which order they were written.
Nothing is sorted: who comes before whom is compared pairwise, and products are sums of logarithms.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

# Of csordas2023's equations 2.4 and A.10, as in its code.
EPSILON = 1e-6
# Far below EPSILON: keeps the gradients of roots and logarithms finite where their argument is 0.
TINY = 1e-30


def oneplus(x: Tensor) -> Tensor:
    """Return 1 + log(1 + e^x): strengths and sharpnesses are at least 1.

    Example:
        >>> oneplus(torch.tensor([-1e4, 0.0, 1e4])).tolist()
        [1.0, 1.6931471824645996, 10001.0]
    """
    return 1 + F.softplus(x)


def weigh(weights: Tensor, rows: Tensor) -> Tensor:
    """Return the sums of rows by weights: a matrix product, written out where there is one head.

    Compilers fuse such a product of a vector with what comes before and after it, and a small
    matrix product of its own for each row of the batch takes longer than all of that.

    Shape:
        weights (..., head, row), rows (..., row, column) -> (..., head, column).

    Example:
        >>> weigh(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0], [5.0, 6.0]]))
        tensor([[13., 16.]])
    """
    if weights.shape[-2] == 1:
        return (weights.mT * rows).sum(-2, keepdim=True)
    return weights @ rows


def similarities(memory: Tensor, keys: Tensor, masks: Tensor | None = None) -> Tensor:
    """Compare each key with each cell: the cosine of what the mask leaves of both.

    Equation (csordas2023, Eqs. A.3, A.4): D = u v / (|u| |v| + epsilon) with u = k m, v = M m.

    Shape:
        memory (..., cell, word), keys and masks (..., head, word) -> (..., head, cell).

    Example:
        >>> memory = torch.tensor([[1.0, 5.0], [-1.0, 5.0]])
        >>> key, mask = torch.tensor([[2.0, 0.0]]), torch.tensor([[1.0, 0.0]])
        >>> similarities(memory, key, mask)
        tensor([[ 1.0000, -1.0000]])
    """
    if masks is None:
        dots = weigh(keys, memory.mT)
        squares = memory.square().sum(-1).unsqueeze(-2)
    else:
        # The mask of a head is the same for all cells: products instead of masked copies of them.
        squared = masks.square()
        dots = weigh(keys * squared, memory.mT)
        squares = weigh(squared, memory.square().mT)
        keys = keys * masks
    norms = (keys.square().sum(-1, keepdim=True) * squares + TINY).sqrt()
    return dots / (norms + EPSILON)


def content_weights(
    memory: Tensor, keys: Tensor, strengths: Tensor, masks: Tensor | None = None
) -> Tensor:
    """Return for each head how much it addresses each cell by its content.

    Equation (csordas2023, Eq. 2.1): C = softmax(beta D(k m, M m)).

    Shape:
        memory (..., cell, word), keys and masks (..., head, word), strengths (..., head)
        -> (..., head, cell).
    """
    return (strengths.unsqueeze(-1) * similarities(memory, keys, masks)).softmax(-1)


def retention(read_weights: Tensor, free_gates: Tensor) -> Tensor:
    """Return how much of each cell is kept after it was read.

    Equation (csordas2023, Eq. A.5): psi = prod_i (1 - f^i w^{r,i}).

    Shape:
        read_weights (..., head, cell), free_gates (..., head) -> (..., cell).

    Example:
        >>> retention(torch.tensor([[0.0, 1.0], [0.5, 0.5]]), torch.tensor([1.0, 0.5]))
        tensor([0.7500, 0.0000])
    """
    kept = 1 - free_gates.unsqueeze(-1) * read_weights
    heads = kept.unbind(-2)
    product = heads[0]
    for head in heads[1:]:  # torch's own product has a slow gradient
        product = product * head
    return product


def allocation_weights(usage: Tensor, floor: float = 0.0) -> Tensor:
    """Return how much each cell is offered for writing: the least used one first.

    Equation (csordas2023, appendix A.1): a_i = (1 - u_i) prod_j u_j over the cells j that are used
    less than i; of cells that are used alike, the first one comes first.

    Args:
        usage: How much each cell is used, from 0 to 1.
        floor: The usage is shrunk to [floor, 1] before.

    Shape:
        (..., cell) -> (..., cell).

    Example:
        >>> allocation_weights(torch.tensor([0.5, 0.25, 1.0]))
        tensor([0.1250, 0.7500, 0.0000])
    """
    if floor:
        usage = usage * (1 - floor) + floor
    own, other = usage.unsqueeze(-1), usage.unsqueeze(-2)
    index = torch.arange(usage.shape[-1], device=usage.device)
    earlier = index < index.unsqueeze(-1)
    before = (other < own) | ((other == own) & earlier)
    # Rounding may leave a usage or a link just below 0.
    logs = (usage.clamp(min=0) + TINY).log().unsqueeze(-2)
    return (1 - usage) * torch.where(before, logs, 0.0).sum(-1).exp()


def updated_links(links: Tensor, precedence: Tensor, write_weights: Tensor) -> Tensor:
    """Return which cell was written after which, from what was written just now.

    Equation (csordas2023, Eq. A.9): L_ij = (1 - w_i - w_j) L_ij + w_i p_j, and L_ii = 0.

    Shape:
        links (..., cell, cell), precedence and write_weights (..., cell) -> as links.

    Example:
        >>> nothing, first, second = torch.zeros(2, 2), torch.eye(2)[0], torch.eye(2)[1]
        >>> updated_links(nothing, first, second)  # cell 1 was written after cell 0
        tensor([[0., 0.],
                [1., 0.]])
    """
    target, source = write_weights.unsqueeze(-1), write_weights.unsqueeze(-2)
    new = (1 - target - source) * links + target * precedence.unsqueeze(-2)
    index = torch.arange(links.shape[-1], device=links.device)
    return torch.where(index == index.unsqueeze(-1), 0.0, new)


def sharpened(weights: Tensor, sharpness: Tensor) -> Tensor:
    """Raise weights to a power and normalise them.

    Equation (csordas2023, Eq. A.10): S(d, s)_i = (d_i + epsilon)^s / sum_j (d_j + epsilon)^s; the
    maximum that it divides by cancels out, and a softmax of logarithms has the same care inside.

    Shape:
        weights (..., head, cell), sharpness (..., head) -> as weights.

    Example:
        >>> sharpened(torch.tensor([[0.2, 0.4]]), torch.tensor([2.0]))
        tensor([[0.2000, 0.8000]])
    """
    return (sharpness.unsqueeze(-1) * (weights.clamp(min=0) + EPSILON).log()).softmax(-1)
