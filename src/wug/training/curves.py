"""Learning curves of many replicas, in memory that grows seldom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from wug.training.engine import Floats

MOST_ROWS = 200
FIRST_ROWS = 64


class Curves:
    """Numbers of each evaluation and replica by name, such as step, train, validation and test.

    An array per row would stay on the heap between the large ones of an evaluation, and the heap
    would grow.

    Args:
        rows: The curves so far, (evaluation, replica).

    Example:
        >>> curves = Curves()
        >>> curves.append({"step": 10.0, "test": np.array([1.0, 3.0])}, num_replicas=2)
        >>> len(curves), curves.medians(), curves.of(1)
        (1, {'test': 2.0}, {'step': [10.0], 'test': [3.0]})
    """

    def __init__(self, rows: Mapping[str, Floats] | None = None) -> None:
        self._arrays = {name: np.array(array) for name, array in (rows or {}).items()}
        self._length = len(next(iter(self._arrays.values()))) if self._arrays else 0

    def __len__(self) -> int:
        """Return the number of evaluations."""
        return self._length

    def __getitem__(self, name: str) -> Floats:
        """Return one curve, (evaluation, replica)."""
        return self._arrays[name][: self._length]

    def items(self) -> Iterator[tuple[str, Floats]]:
        """Return all curves by name."""
        return ((name, self[name]) for name in self._arrays)

    def append(self, row: Mapping[str, Any], num_replicas: int) -> None:
        """Add an evaluation: numbers by name, for all replicas or for each."""
        for name, value in row.items():
            array = self._arrays.get(name)
            if array is None:
                array = np.full((FIRST_ROWS, num_replicas), np.nan)
            elif self._length == len(array):
                array = np.concatenate([array, np.full_like(array, np.nan)])
            array[self._length] = value
            self._arrays[name] = array
        self._length += 1

    def add(self, name: str, column: Floats) -> None:
        """Add a curve of all evaluations so far, (evaluation, replica)."""
        array = np.full((len(self._arrays["step"]), column.shape[1]), np.nan)
        array[: self._length] = column
        self._arrays[name] = array

    def medians(self) -> dict[str, float]:
        """Return the last evaluation as medians over the replicas, to four digits."""
        last = {name: rows[-1] for name, rows in self.items() if name != "step"}
        finite = {name: row[~np.isnan(row)] for name, row in last.items()}
        return {
            name: float(f"{np.median(row):.4g}") if len(row) else float("nan")
            for name, row in finite.items()
        }

    def of(self, replica: int, num_rows: int | None = None) -> dict[str, list[float]]:
        """Return the curves of a replica as lists; long ones are thinned."""
        stride = max(-(-(num_rows or self._length) // MOST_ROWS), 1)
        return {name: rows[:num_rows:stride, replica].tolist() for name, rows in self.items()}
