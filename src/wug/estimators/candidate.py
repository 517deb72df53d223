"""A formula as the weights of three small layers: powers, sums, powers.

y = prod_j (sum_k C_jk prod_i x_i^E_ki)^Q_j covers sums, products, quotients, powers, sums of
products, products of sums and quotients of such sums. Functions such as exp and sin enter as
further inputs: each is a function of a formula of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# A fraction with a larger denominator reads better as a decimal number.
SIMPLEST = 12
# A whole number with more digits before its zeros is no simpler than a decimal one.
SHORT = 2
# A numerator of so many digits reads better as a decimal number.
LONG = 4
# Each function and its derivative.
FUNCTIONS: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "exp": (np.exp, np.exp),
    "log": (np.log, lambda x: 1 / x),
    "sin": (np.sin, np.cos),
    "cos": (np.cos, lambda x: -np.sin(x)),
    "tanh": (np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    "arcsin": (np.arcsin, lambda x: 1 / np.sqrt(1 - x**2)),
    # Passes on its argument: powers of it are powers of sums, inside of sums.
    "positive": (np.positive, np.ones_like),
}
# How SymPy calls those that it calls otherwise.
SYMPY_NAMES = {"arcsin": "asin", "positive": "sympify"}


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


@dataclass(frozen=True)
class Function:
    """A function of a formula.

    Args:
        name: One of FUNCTIONS.
        inner: What it is a function of.
    """

    name: str
    inner: Candidate

    def values(self, inputs: Array) -> Array:
        """Evaluate it; NaN outside its domain."""
        with np.errstate(all="ignore"):
            return np.asarray(FUNCTIONS[self.name][0](self.inner.predict(inputs)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidate:
    """One formula.

    Args:
        exponents: Of the inputs and then of the functions in each term, (term, in + function).
        coefficients: Of the terms in each sum, (sum, term).
        powers: Of the sums, (sum,).
        functions: Which are inputs beside the others.
        unrounded: The formula as it was fitted, if numbers were rounded since.
    """

    exponents: Array
    coefficients: Array
    powers: Array
    functions: tuple[Function, ...] = field(default=())
    unrounded: Candidate | None = None

    @property
    def num_inputs(self) -> int:
        """Number of inputs, without the functions."""
        return int(self.exponents.shape[1]) - len(self.functions)

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

    def columns(self, inputs: Array) -> Array:
        """Return the inputs and the values of the functions, (row, in + function)."""
        if not self.functions:
            return inputs
        return np.column_stack((inputs, *(one.values(inputs) for one in self.functions)))

    def terms(self, inputs: Array) -> Array:
        """Return the products of powers, (row, term)."""
        columns = self.columns(inputs)
        terms = np.ones((len(inputs), len(self.exponents)))
        with np.errstate(all="ignore"):
            for term, index in zip(*np.nonzero(self.exponents), strict=True):
                terms[:, term] *= real_power(columns[:, index], self.exponents[term, index])
        return terms

    def used_terms(self) -> Candidate:
        """Return the same formula without terms that no sum uses and functions of no term."""
        used = (self.coefficients != 0).any(0)
        exponents = self.exponents[used]
        kept = np.full(exponents.shape[1], True)
        kept[self.num_inputs :] = exponents[:, self.num_inputs :].any(0)
        functions = zip(self.functions, kept[self.num_inputs :], strict=True)
        return replace(
            self, exponents=exponents[:, kept], coefficients=self.coefficients[:, used],
            functions=tuple(one for one, keep in functions if keep),
        )  # fmt: skip

    def used_inputs(self) -> NDArray[np.bool_]:
        """Return which inputs the formula uses, (in,)."""
        plain = self.used_terms()
        used: NDArray[np.bool_] = np.asarray(plain.exponents[:, : self.num_inputs].any(0))
        for one in plain.functions:
            used = used | one.inner.used_inputs()
        return used

    def among(self, indices: NDArray[np.intp], num_inputs: int) -> Candidate:
        """Return the same formula of more inputs, among which the present ones are some.

        Args:
            indices: Where the present inputs are among the new ones.
            num_inputs: How many there are.
        """
        exponents = np.zeros((len(self.exponents), num_inputs + len(self.functions)))
        exponents[:, indices] = self.exponents[:, : self.num_inputs]
        exponents[:, num_inputs:] = self.exponents[:, self.num_inputs :]
        functions = (replace(f, inner=f.inner.among(indices, num_inputs)) for f in self.functions)
        unrounded = self.unrounded and self.unrounded.among(indices, num_inputs)
        return replace(
            self, exponents=exponents, functions=tuple(functions), unrounded=unrounded
        )  # fmt: skip

    def of_inputs(self, indices: NDArray[np.intp]) -> Candidate:
        """Return the formula of these inputs alone; it must use no other."""
        functions = (replace(f, inner=f.inner.of_inputs(indices)) for f in self.functions)
        own, others = np.split(self.exponents, [self.num_inputs], axis=1)
        return replace(
            self, exponents=np.concatenate((own[:, indices], others), 1),
            functions=tuple(functions), unrounded=None,
        )  # fmt: skip

    @property
    def num_constants(self) -> int:
        """How many numbers were fitted: coefficients, and exponents other than those of a sum."""
        plain = self.used_terms()
        in_sum = (plain.exponents.sum(1) == 1) & ((plain.exponents != 0).sum(1) == 1)
        exponents = np.count_nonzero(plain.exponents[~in_sum])
        inner = sum(one.inner.num_constants for one in plain.functions)
        outer = np.count_nonzero(plain.powers != 1)
        return int(np.count_nonzero(plain.coefficients) + exponents + outer) + inner

    @property
    def is_weighted_sum(self) -> bool:
        """Whether it is a sum of inputs with coefficients."""
        whole = len(self.powers) == 1 and self.powers[0] == 1 and not self.functions
        return bool(whole and (self.exponents.sum(1) <= 1).all() and (self.exponents >= 0).all())

    @property
    def complexity(self) -> int:
        """Number of nodes of the printed formula, plus a charge for numbers that are not simple."""
        inside = np.array([0] * self.num_inputs + [f.inner.complexity for f in self.functions])
        total = 0
        for row, power in zip(self.coefficients, self.powers, strict=True):
            for coefficient, exponents in zip(row, self.exponents, strict=True):
                if coefficient:
                    factors = exponents[exponents != 0]
                    total += sum(1 + number_cost(e) for e in np.abs(factors))
                    total += 1 + number_cost(abs(coefficient))
                    total += inside[exponents != 0].sum()
            total += number_cost(abs(power)) + 1
        return int(total) - 1

    def expression(self, names: list[str]) -> Any:
        """Return the formula in SymPy.

        Args:
            names: Of the inputs.
        """
        import sympy

        columns = [sympy.Symbol(name, real=True) for name in names]
        for one in self.functions:
            function = getattr(sympy, SYMPY_NAMES.get(one.name, one.name))
            columns.append(function(one.inner.expression(names)))
        terms = [
            sympy.prod(c ** exact_number(e) for c, e in zip(columns, row, strict=True) if e)
            for row in self.exponents
        ]
        sums = (
            sympy.Add(*(exact_number(c) * t for c, t in zip(row, terms, strict=True) if c))
            for row in self.coefficients
        )
        return sympy.prod(
            s ** exact_number(power) for s, power in zip(sums, self.powers, strict=True)
        )


def in_pi(value: float) -> tuple[Fraction, int] | None:
    """Return the fraction and the power of pi whose product a float is, if it is a simple one.

    Example:
        >>> in_pi(1 / (4 * np.pi)), in_pi(2.0), in_pi(3.1416)
        ((Fraction(1, 4), -1), None, None)
    """
    for power in (1, -1, 2, -2):
        fraction = as_fraction(value / np.pi**power)
        if fraction is not None and abs(fraction.numerator) <= SIMPLEST:
            return fraction, power
    return None


def as_printed(value: float) -> float:
    """Return the simple number that a float is printed as, or the float itself.

    Example:
        >>> as_printed(160 / 9 - 4e-15) == 160 / 9, as_printed(3.1234567)
        (True, 3.1234567)
    """
    fraction = as_fraction(value)
    if fraction is not None:
        return float(fraction)
    found = in_pi(value)
    return float(value) if found is None else float(found[0]) * math.pi ** found[1]


def is_simple(value: float) -> bool:
    """Say whether a number is a simple fraction, perhaps times a power of pi."""
    return as_fraction(value) is not None or in_pi(value) is not None


def number_cost(value: float) -> int:
    """Return what a number adds to the complexity: 0 for 1, 1 if it is simple and short, else 2.

    Example:
        >>> [number_cost(value) for value in (1.0, 3.5, 4000.0, np.pi, 1406.0, 0.123)]
        [0, 1, 1, 1, 2, 2]
    """
    if value == 1:
        return 0
    fraction = as_fraction(value)
    if fraction is None:
        return 1 if in_pi(value) else 2
    return 1 if len(str(fraction.numerator).strip("-").rstrip("0")) <= SHORT else 2


def exact_number(value: float) -> Any:
    """Return a float as a SymPy Rational if it is a short and simple fraction, else as a Float."""
    import sympy

    fraction = as_fraction(value, SIMPLEST)
    if fraction is not None:
        if fraction.denominator > 1 and abs(fraction.numerator) >= 10**LONG:
            return sympy.Float(float(value))
        return sympy.Rational(fraction.numerator, fraction.denominator)
    found = in_pi(value)
    if found is not None:
        return sympy.Rational(found[0].numerator, found[0].denominator) * sympy.pi ** found[1]
    return sympy.Float(float(value))
