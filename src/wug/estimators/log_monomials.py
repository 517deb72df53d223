"""Products of powers with the sign kept apart: the magnitude is linear in logarithms.

A power of a negative number is real for whole exponents alone, and then its sign is the parity of
the exponent. So a monomial is exp(E ln|x|) times the product of the signs of its odd factors.
"""

from __future__ import annotations

from torch import Tensor

# exp of this is within the range of float64, its square too.
LARGEST_LOG = 300.0


def log_monomials(log_size: Tensor, exponents: Tensor) -> Tensor:
    """Return the logarithms of the magnitudes of monomials.

    Shape:
        log_size (row, in), exponents (..., term, in) -> (..., row, term).
    """
    return (log_size @ exponents.mT).clamp(-LARGEST_LOG, LARGEST_LOG)


def signs(negative: Tensor, odd: Tensor) -> Tensor:
    """Return the sign of each monomial: -1 to the number of its odd factors that are negative.

    Args:
        negative: 1 where an input is below zero, else 0, (row, in).
        odd: 1 where a term's exponent is odd, else 0, (..., term, in).

    Shape:
        (..., row, term).

    Example:
        >>> import torch
        >>> signs(torch.tensor([[1.0, 1.0], [1.0, 0.0]]), torch.tensor([[1.0, 1.0], [0.0, 1.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    return 1 - 2 * ((negative @ odd.mT) % 2)
