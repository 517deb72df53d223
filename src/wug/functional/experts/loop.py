"""One expert after the other in plain torch: the slow, obvious way, and the oracle of the others.

Autograd differentiates it as often as one likes, in any precision, on any device.
"""

from __future__ import annotations

import torch
from torch import Tensor

from wug.functional.experts.assignment import block_sizes


def product(rows: Tensor, weight: Tensor, ends: Tensor) -> Tensor:
    """Multiply every row by the matrix of its expert.

    Shape:
        rows (row, in), weight (expert, in, out), ends (expert,) -> (row, out).

    Example:
        >>> product(torch.ones(2, 1), torch.tensor([[[3.0]], [[4.0]]]), torch.tensor([1, 2]))
        tensor([[3.],
                [4.]])
    """
    blocks = rows.split(block_sizes(ends))
    return torch.cat([block @ matrix for block, matrix in zip(blocks, weight, strict=True)])
