"""Minimum, maximum, median and sum modulo 10, of many lists of digits at once.

An answer does not depend on every operand: a minimum is one of them, whatever the others are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# Tokens; those below are digits.
MIN, MAX, MED, SM, CLOSE = range(10, 15)
# Stands for an operand that is not there: larger than any digit.
MISSING = 10


def apply(operator: int, digits: Sequence[int]) -> int:
    """Apply an operator to a list of digits.

    Example:
        >>> apply(MED, [4, 8, 5, 9]), apply(SM, [4, 8, 5, 9])
        (6, 6)
    """
    ordered = sorted(digits)
    if operator == SM:
        return sum(ordered) % 10
    if operator == MED:
        return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) // 2
    return ordered[-1] if operator == MAX else ordered[0]


def evaluate(
    operations: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
    operators: NDArray[np.int8],
    digits: NDArray[np.int8],
) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return the value of each node of some trees and the depth of what it depends on.

    Equation (csordas2023, Sec. D.3.2): depth = 1 + max over the selected operands, 0 of a digit.

    Operands are sorted, the first of equal ones first, from the largest down for a maximum. Minimum
    and maximum select the first, the median the one or two in the middle, the sum all.

    Args:
        operations: From the roots down, those of a level and a row of operands of each, filled up
            with -1: `wug.sources.forests.Forest.operations`.
        operators: Operator of each node that is an operation.
        digits: Value of each node that is a leaf.

    Shape:
        operators and digits (node,) -> (node,), (node,).

    Example:
        >>> tree = [(np.array([0]), np.array([[1, 2, 3]]))]
        >>> evaluate(tree, np.array([MAX, 0, 0, 0], np.int8), np.array([0, 2, 7, 7], np.int8))
        (array([7, 2, 7, 7], dtype=int8), array([1, 0, 0, 0], dtype=int8))
    """
    values = np.append(digits, np.int8(MISSING))
    depths = np.zeros(len(values), dtype=np.int8)
    for nodes, operands in reversed(operations):
        operator, present, rows = operators[nodes], operands >= 0, np.arange(len(nodes))
        value, depth, arity = values[operands], depths[operands], present.sum(1)
        from_largest = (operator == MAX)[:, None] & present
        order = np.argsort(np.where(from_largest, 9 - value, value), axis=1, kind="stable")
        low = order[rows, np.where(operator == MED, (arity - 1) // 2, 0)]
        high = order[rows, np.where(operator == MED, arity // 2, 0)]
        selected = (value[rows, low] + value[rows, high]) // 2
        total = np.where(present, value, 0).sum(1) % 10
        values[nodes] = np.where(operator == SM, total, selected)
        needed = np.maximum(depth[rows, low], depth[rows, high])
        depths[nodes] = 1 + np.where(operator == SM, depth.max(1), needed)
    return values[:-1], depths[:-1]
