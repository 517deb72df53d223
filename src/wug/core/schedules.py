"""Numbers that change with the step, as data: they print, hash and compare."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from wug.core.errors import UserError, require_at_least

Steps = NDArray[np.int64]
Values = NDArray[np.float64]


class Schedule(Protocol):
    """A value for each step."""

    def __call__(self, steps: Steps) -> Values:
        """Return the values at the given steps."""
        ...


@dataclass(frozen=True)
class Constant:
    """The same value at each step."""

    value: float

    def __call__(self, steps: Steps) -> Values:
        """Return the value for each step."""
        return np.full(len(steps), self.value)


@dataclass(frozen=True)
class Ramp:
    """Zero until ``start``, then linear up to ``peak`` at ``end`` (madsen2020, Eq. 16).

    Example:
        >>> Ramp(10.0, 20, 40)(np.array([0, 20, 30, 99])).tolist()
        [0.0, 0.0, 5.0, 10.0]
    """

    peak: float
    start: int
    end: int

    def __post_init__(self) -> None:
        """Check the order of start and end."""
        if not self.start < self.end:
            raise UserError(f"Ramp: start must be below end; got {self.start} and {self.end}.")

    def __call__(self, steps: Steps) -> Values:
        """Return the ramp's height at each step."""
        return self.peak * np.clip((steps - self.start) / (self.end - self.start), 0, 1)


@dataclass(frozen=True)
class Growth:
    """Multiplied by ``factor`` every so many steps until it reaches ``limit`` (heim2020).

    Example:
        >>> Growth(1e-7, 1e-5, 10, 100)(np.array([0, 99, 100, 250, 999])).tolist()
        [1e-07, 1e-07, 1e-06, 1e-05, 1e-05]
    """

    start: float
    limit: float
    factor: float
    every: int

    def __call__(self, steps: Steps) -> Values:
        """Return the grown value at each step."""
        ratio = np.log(self.limit / self.start) / np.log(self.factor)
        highest = np.ceil(ratio - 1e-9)  # the first power that reaches the limit
        powers = np.minimum(steps // self.every, highest)
        # Rounding to 12 digits undoes the noise of repeated multiplication (1e-5, not 9.99...e-6).
        return np.array([float(f"{self.start * self.factor**p:.12g}") for p in powers])


@dataclass(frozen=True)
class Drops:
    """Multiplied by ``factor`` at each of some steps (he2016).

    Example:
        >>> Drops(0.1, 0.1, (10, 20))(np.array([0, 9, 10, 20])).round(6).tolist()
        [0.1, 0.1, 0.01, 0.001]
    """

    start: float
    factor: float
    at: tuple[int, ...]

    def __call__(self, steps: Steps) -> Values:
        """Return the value at each step."""
        powers = (steps[:, None] >= np.array(self.at)).sum(1)
        return np.asarray(self.start * np.power(self.factor, powers))


@dataclass(frozen=True)
class After:
    """Zero up to and including step ``start``, then ``value``."""

    value: float
    start: int

    def __call__(self, steps: Steps) -> Values:
        """Return the value where the step has passed the start."""
        return np.where(steps > self.start, self.value, 0.0)


@dataclass(frozen=True)
class WarmUp:
    """Linear up to ``peak`` over the first steps, then constant or, by a cosine, down to ``final``.

    Args:
        peak: The highest value.
        warm_up: Number of steps up to it.
        steps: Where the way down ends; none means that there is no way down.
        final: The value there.

    Example:
        >>> WarmUp(1.0, 4)(np.array([0, 1, 3, 99])).tolist()
        [0.25, 0.5, 1.0, 1.0]
        >>> WarmUp(1.0, 4, steps=8, final=0.5)(np.array([3, 6, 8, 9])).tolist()
        [1.0, 0.75, 0.5, 0.5]
    """

    peak: float
    warm_up: int = 0
    steps: int | None = None
    final: float = 0.0

    def __call__(self, steps: Steps) -> Values:
        """Return the value at each step; the first one is not zero."""
        up = self.peak * np.minimum((steps + 1) / max(self.warm_up, 1), 1.0)
        if self.steps is None:
            return up
        way = np.clip((steps - self.warm_up) / max(self.steps - self.warm_up, 1), 0, 1)
        down = self.final + (self.peak - self.final) * (1 + np.cos(np.pi * way)) / 2
        return np.where(steps < self.warm_up, up, down)


@dataclass(frozen=True)
class Noam:
    """Linear up over the first steps, then down by the square root of the step (vaswani2017).

    Equation (vaswani2017, Eq. 3): scale d^-0.5 min(t^-0.5, t w^-1.5), with t = 1 at the first step.

    Args:
        scale: What the published rate is multiplied by.
        features: d, the number of features of a network's columns.
        warm_up: w, the number of steps up to the peak.

    Example:
        >>> Noam(2.0, 4, 4)(np.array([0, 3, 15])).tolist()
        [0.125, 0.5, 0.25]
    """

    scale: float
    features: int
    warm_up: int

    def __post_init__(self) -> None:
        """Check the sizes."""
        for name in ("features", "warm_up"):
            require_at_least("Noam", name, getattr(self, name), 1)

    def __call__(self, steps: Steps) -> Values:
        """Return the value at each step."""
        t = steps.astype(np.float64) + 1
        rates: Values = np.minimum(t**-0.5, t * self.warm_up**-1.5)
        return rates * (self.scale / math.sqrt(self.features))


@dataclass(frozen=True)
class Trapezoid:
    """Linear up to ``peak`` over the first steps, constant, and linear down to zero at the end.

    Args:
        peak: The highest value.
        warm_up: Number of steps up to it.
        steps: Where the way down ends.
        falling: Share of the steps that are the way down.

    Example:
        >>> Trapezoid(1.0, 4, steps=100, falling=0.5)(np.array([0, 3, 50, 75, 100])).tolist()
        [0.25, 1.0, 1.0, 0.5, 0.0]
    """

    peak: float
    warm_up: int
    steps: int
    falling: float

    def __post_init__(self) -> None:
        """Check the share."""
        if not 0 < self.falling <= 1:
            raise UserError(f"Trapezoid: falling must be above 0, at most 1; got {self.falling}.")

    def __call__(self, steps: Steps) -> Values:
        """Return the value at each step; the first one is not zero."""
        up = (steps + 1) / max(self.warm_up, 1)
        down = (self.steps - steps) / (self.falling * self.steps)
        return self.peak * np.minimum(up, down).clip(0, 1)
