"""What every structure gets: rows to fit, limits to keep to, and how hard to try."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray

from wug.estimators.candidate import Array, Candidate, Function

Mask = NDArray[np.bool_]

MOST_ROWS = 5_000
# Products of any powers in the longest sum that is searched, unless told otherwise.
MOST_POWERS = 6
# Numbers in the largest Jacobian: it bounds time and memory of an iteration.
LARGEST_JACOBIAN = 3_000_000
# Loss of a solution, relative to the target's norm, that ends a search.
TOLERANCE = 1e-13


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a formula may contain.

    Args:
        operations: Of add, sub, mul, div, pow and root.
        functions: Of those of :data:`wug.estimators.candidate.FUNCTIONS`.
        always_functions: Whether functions are tried even if arithmetic alone leaves only noise.
        max_terms: Of any sum, those inside of functions and below powers included; a constant is a
            term. Any number if not given.
        max_exponent: Largest magnitude of an exponent.
    """

    operations: frozenset[str] = frozenset(("add", "sub", "mul", "div", "pow", "root"))
    functions: tuple[str, ...] = ()
    always_functions: bool = False
    max_terms: int | None = None
    max_exponent: float = 6.0

    @property
    def has_sums(self) -> bool:
        """Whether a sum may have two terms."""
        return self.max_terms is None or self.max_terms > 1

    @property
    def most_powers(self) -> int:
        """How many products of any powers are searched together at most."""
        return MOST_POWERS if self.max_terms is None else self.max_terms

    def allow(self, candidate: Candidate) -> bool:
        """Say whether a candidate keeps to the limits."""
        outer = np.minimum(np.abs(candidate.powers).max(), 1.0)
        exponents = np.concatenate((outer * candidate.exponents.ravel(), candidate.powers))
        sizes = np.abs(exponents)
        has = self.operations.__contains__
        return bool(
            sizes.max(initial=0) <= self.max_exponent
            and (has("div") or (exponents >= 0).all())
            and (has("root") or (exponents % 1 == 0).all())
            and (has("pow") or (sizes[sizes % 1 == 0] <= 1).all())
            and (has("sub") or (candidate.coefficients >= 0).all())
            and (has("add") or ((candidate.coefficients > 0).sum(1) <= 1).all())
            and (self.max_terms or np.inf) >= (candidate.coefficients != 0).sum(1).max(initial=0)
            and (has("mul") or self._is_linear(candidate))
            and all(self.allow(one.inner) for one in candidate.functions)
        )

    @staticmethod
    def _is_linear(candidate: Candidate) -> bool:
        return len(candidate.powers) == 1 and bool(((candidate.exponents != 0).sum(1) <= 1).all())


@dataclass(frozen=True, kw_only=True)
class Data:
    """Training rows, and what the structures ask of them again and again.

    Args:
        inputs: (row, in).
        target: (row,).
        limits: What a formula may contain.
        weight: Of each row's error, (row,).
        functions: Whose values are the last of the inputs.
        unit: Relative rounding of the numbers.
    """

    inputs: Array
    target: Array
    limits: Limits = field(default_factory=Limits)
    weight: Array = field(default_factory=lambda: np.ones(0))
    functions: tuple[Function, ...] = ()
    unit: float = float(np.finfo(np.float64).eps)

    def __post_init__(self) -> None:
        """Give every row the same weight unless told otherwise."""
        if not len(self.weight):
            object.__setattr__(self, "weight", np.ones(len(self.target)))

    @property
    def num_inputs(self) -> int:
        """Number of inputs."""
        return int(self.inputs.shape[1])

    @property
    def signs(self) -> Array:
        """-1 for inputs without positive values, 0 for both signs, 1 for none negative."""
        negative, positive = (self.inputs < 0).any(0), (self.inputs > 0).any(0)
        return np.where(negative & positive, 0.0, np.where(negative, -1.0, 1.0))

    def rows(self, chosen: Mask, limit: int = MOST_ROWS) -> Data:
        """Return the first of the chosen rows."""
        rows = np.flatnonzero(chosen)[:limit]
        return replace(
            self, inputs=self.inputs[rows], target=self.target[rows], weight=self.weight[rows]
        )

    def of_inputs(self, indices: NDArray[np.intp]) -> Data:
        """Return the same rows with some of the inputs alone."""
        return replace(self, inputs=np.ascontiguousarray(self.inputs[:, indices]))

    def with_functions(self, functions: tuple[Function, ...]) -> Data:
        """Return the same rows with the values of functions as further inputs."""
        values = [one.values(self.inputs) for one in functions]
        return replace(self, inputs=np.column_stack((self.inputs, *values)), functions=functions)

    def loss(self, candidate: Candidate) -> float:
        """Return the weighted sum of squared errors; infinite outside the formula's domain.

        Args:
            candidate: Of these inputs, those that are functions included.
        """
        error = self.weight * (candidate.predict(self.inputs) - self.target)
        total = float(error @ error)
        return total if np.isfinite(total) else np.inf


@dataclass(frozen=True)
class Effort:
    """How hard to try.

    Args:
        generator: Source of the starts.
        restarts: Replicas at most.
        out_of_time: Asked all the time.
    """

    generator: torch.Generator
    restarts: int
    out_of_time: Callable[[], bool]


def raisable(target: Array, power: float) -> Mask:
    """Return which targets can be raised to a power and taken back."""
    mask: Mask = (target != 0) & np.bool_(abs(power) == 1 or (target >= 0).all())
    return mask


def deviation(target: Array, weight: Array) -> float:
    """Return the weighted standard deviation; the largest size of a target that never varies."""
    mean = float(np.average(target, weights=weight**2)) if weight.any() else 0.0
    spread = float(np.sqrt(np.mean((weight * (target - mean)) ** 2)))
    return spread or float(np.abs(weight * target).max(initial=0)) or 1.0


def constant(data: Data) -> Candidate:
    """Return the mean as a formula."""
    mean = float(np.average(data.target, weights=data.weight**2))
    return Candidate(
        exponents=np.zeros((1, data.num_inputs)), coefficients=np.array([[mean]]),
        powers=np.ones(1),
    )  # fmt: skip
