"""A formula as the weights of three small layers: powers, sums, powers.

y = prod_j (sum_k C_jk prod_i x_i^E_ki)^Q_j covers sums, products, quotients, powers, sums of
products, products of sums and quotients of such sums.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# A fraction with a larger denominator reads better as a decimal number.
SIMPLEST = 12


def is_whole(value: float) -> bool:
    """Say whether a number is an integer."""
    return float(value).is_integer()


def as_fraction(value: float, largest: int = SIMPLEST) -> Fraction | None:
    """Return the fraction that a float stands for, if it is a simple one.

    Example:
        >>> as_fraction(1 / 3), as_fraction(3.14159)
        (Fraction(1, 3), None)
    """
    fraction = Fraction(float(value)).limit_denominator(largest)
    return fraction if abs(float(fraction) - value) <= 1e-12 * abs(value) else None


def real_power(base: Array, exponent: float) -> Array:
    """Return a power in the reals: NaN for a negative base below a fractional exponent."""
    if is_whole(exponent):
        return np.asarray(base ** int(exponent))
    return np.where(base < 0, np.nan, np.abs(base) ** exponent)


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidate:
    """One formula.

    Args:
        exponents: Of the inputs in each term, (term, in).
        coefficients: Of the terms in each sum, (sum, term).
        powers: Of the sums, (sum,).
        unrounded: The formula as it was fitted, if numbers were rounded since.
    """

    exponents: Array
    coefficients: Array
    powers: Array
    unrounded: Candidate | None = None

    def predict(self, inputs: Array) -> Array:
        """Evaluate the formula; NaN or infinite outside its domain.

        Args:
            inputs: (row, in).
        """
        terms = self.terms(inputs)
        with np.errstate(all="ignore"):
            result = np.ones(len(inputs))
            for row, power in zip(self.coefficients, self.powers, strict=True):
                used = row != 0  # or a pole of an unused term would spoil the sum
                result = result * real_power(terms[:, used] @ row[used], power)
            return result

    def terms(self, inputs: Array) -> Array:
        """Return the products of powers, (row, term)."""
        terms = np.ones((len(inputs), len(self.exponents)))
        with np.errstate(all="ignore"):
            for term, place in zip(*np.nonzero(self.exponents), strict=True):
                terms[:, term] *= real_power(inputs[:, place], self.exponents[term, place])
        return terms

    def used_terms(self) -> Candidate:
        """Return the same formula without terms that no sum uses."""
        used = (self.coefficients != 0).any(0)
        return replace(
            self, exponents=self.exponents[used], coefficients=self.coefficients[:, used]
        )

    @property
    def num_numbers(self) -> int:
        """How many numbers it holds: coefficients, and exponents other than 0."""
        return int(np.count_nonzero(self.coefficients) + np.count_nonzero(self.exponents))

    @property
    def is_weighted_sum(self) -> bool:
        """Whether it is a sum of inputs with coefficients."""
        whole = len(self.powers) == 1 and self.powers[0] == 1
        return bool(whole and (self.exponents.sum(1) <= 1).all() and (self.exponents >= 0).all())

    @property
    def complexity(self) -> int:
        """Number of nodes of the printed formula, plus a charge for numbers that are not simple."""
        total = 0
        for row, power in zip(self.coefficients, self.powers, strict=True):
            for coefficient, exponents in zip(row, self.exponents, strict=True):
                if coefficient:
                    factors = exponents[exponents != 0]
                    total += sum(1 + number_cost(e) for e in np.abs(factors))
                    total += 1 + number_cost(abs(coefficient))
            total += number_cost(abs(power)) + 1
        return int(total) - 1

    def expression(self, names: list[str]) -> Any:
        """Return the formula in SymPy.

        Args:
            names: Of the inputs.
        """
        import sympy

        symbols = [sympy.Symbol(name, real=True) for name in names]
        terms = [
            sympy.prod(
                symbol ** exact_number(e) for symbol, e in zip(symbols, row, strict=True) if e
            )
            for row in self.exponents
        ]
        sums = (
            sympy.Add(*(exact_number(c) * t for c, t in zip(row, terms, strict=True) if c))
            for row in self.coefficients
        )
        return sympy.prod(
            s ** exact_number(power) for s, power in zip(sums, self.powers, strict=True)
        )


def number_cost(value: float) -> int:
    """Return what a number adds to the complexity: 0 for 1, 1 if it is simple, else 2."""
    if value == 1:
        return 0
    return 1 if as_fraction(value, SIMPLEST) is not None else 2


def exact_number(value: float) -> Any:
    """Return a float as a SymPy Rational if it is a simple fraction, else as a Float."""
    import sympy

    fraction = as_fraction(value, SIMPLEST)
    if fraction is None:
        return sympy.Float(float(value))
    return sympy.Rational(fraction.numerator, fraction.denominator)
