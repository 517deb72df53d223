"""What functions are functions of: simple products of inputs, and their differences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from wug.estimators.candidate import FUNCTIONS, Array, Candidate, Function

# Factors that are natural before the argument of a function.
NATURAL = (1.0, 0.5, 2.0, 1 / (2 * math.pi), 2 * math.pi, math.pi)
# Sizes of a typical argument: for exp, log and tanh, and for sin and cos.
SIZES = (0.05, 0.15, 0.4, 0.8, 1.5, 3.0, 6.0)
MOST_ARGUMENTS = 1_500
MOST_FACTORS = 5
WAVES = 32
# Up to so many inputs, one below a line is an argument by itself, as in exp(-c / T).
FEW_INPUTS = 4


@dataclass(frozen=True)
class Argument:
    """A product of powers of inputs, perhaps times the difference of two inputs.

    Args:
        exponents: Of the inputs.
        pair: The two inputs whose difference is a factor.
    """

    exponents: tuple[float, ...]
    pair: tuple[int, int] | None = None

    def formula(self, factor: float = 1.0, power: int = 1) -> Candidate:
        """Return the argument as a formula, raised to a whole power and times a factor."""
        num_inputs = len(self.exponents)
        rows, coefficients, powers = [np.array(self.exponents) * power], [[factor]], [1.0]
        if self.pair is not None:
            rows += [np.eye(num_inputs)[index] for index in self.pair]
            coefficients = [[factor, 0.0, 0.0], [0.0, 1.0, -1.0]]
            powers.append(float(power))
            if not any(self.exponents) and power == 1:
                rows, powers = rows[1:], [1.0]
                coefficients = [[factor, -factor]]
        return Candidate(
            exponents=np.array(rows), coefficients=np.array(coefficients), powers=np.array(powers)
        )

    def values(self, inputs: Array) -> Array:
        """Evaluate the argument."""
        return self.formula().predict(inputs)

    @property
    def num_factors(self) -> int:
        """How many inputs it has."""
        return sum(map(bool, self.exponents)) + 2 * (self.pair is not None)


def arguments(num_inputs: int, *, divide: bool = True) -> list[Argument]:
    """Return arguments, those of few inputs first.

    Args:
        num_inputs: Number of inputs.
        divide: Whether inputs may stand below a line.
    """
    found: list[Argument] = []
    signs = (1.0, -1.0) if divide else (1.0,)
    for size in range(1, min(num_inputs, MOST_FACTORS) + 1):
        for indices in combinations(range(num_inputs), size):
            for chosen in product(signs, repeat=size):
                exponents = np.zeros(num_inputs)
                exponents[list(indices)] = chosen
                if size > 1 or chosen[0] > 0 or num_inputs <= FEW_INPUTS:
                    found.append(Argument(tuple(exponents)))
        if size <= 2:
            found += differences(num_inputs, size - 1, signs)
        if len(found) > MOST_ARGUMENTS:
            break
    return found[:MOST_ARGUMENTS]


def differences(num_inputs: int, others: int, signs: tuple[float, ...]) -> Iterator[Argument]:
    """Yield differences of two inputs, times so many other inputs."""
    for pair in combinations(range(num_inputs), 2):
        rest = [index for index in range(num_inputs) if index not in pair]
        for indices in combinations(rest, others):
            for chosen in product(signs, repeat=others):
                exponents = np.zeros(num_inputs)
                exponents[list(indices)] = chosen
                yield Argument(tuple(exponents), pair)


def factors(name: str, values: Array) -> list[float]:
    """Return the factors to try before an argument, given its values on the rows."""
    size = float(np.median(np.abs(values)))
    if not (np.isfinite(size) and size > 0):
        return []
    if name == "log":
        return [1.0, *(s / size for s in (0.05, 0.3, 3.0))]
    found = [*NATURAL, *(s / size for s in SIZES)]
    if name in ("sin", "cos"):
        spread = float(np.ptp(values)) or size
        found += [math.pi * wave / (2 * spread) for wave in range(1, WAVES + 1)]
    if name == "exp":
        found += [-factor for factor in found]
    largest = 600.0 if name == "exp" else 1e4
    biggest = float(np.abs(values).max())
    return [factor for factor in dict.fromkeys(found) if abs(factor) * biggest < largest]


def function_values(name: str, values: Array) -> Array:
    """Return a function of values; NaN outside its domain."""
    with np.errstate(all="ignore"):
        return np.asarray(FUNCTIONS[name][0](values))


def function_of(name: str, argument: Argument, factor: float) -> Function:
    """Return the function of an argument."""
    return Function(name, argument.formula(factor))
