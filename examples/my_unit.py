"""A unit of your own for `wug run mistry2022.single_module --unit examples/my_unit.py:Powers`.

A product of powers of the inputs' magnitudes: it can multiply and divide, and knows no signs.
Replace it by yours: a class with these two arguments, and a forward that only computes, is all that
the table asks for. With a method `penalty(params)` and `--like nmu` it is penalised as NMU is, with
`project(params)` it is clamped after every step.
"""

import torch
from torch import Tensor, nn


class Powers(nn.Module):
    """Products of powers: exp of a weighted sum of logarithms."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features).uniform_(0, 1))

    def forward(self, x: Tensor) -> Tensor:
        """Return the products.

        Args:
            x: (..., in_features).
        """
        return torch.exp(torch.log(x.abs() + 1e-7) @ self.weight.T)
