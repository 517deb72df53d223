"""What benchmarks/formulas.py measures: whether a formula was recovered, and how far it carries."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
import sympy
from formula_suite import Array, Input, evaluate, evaluate_all

# Constants agree to 3 significant digits without noise, within 2 % with it.
EXACT_TOLERANCE, NOISY_TOLERANCE = 5e-4, 2e-2
# A term that adds less than this share to the sum it stands in is rounding error: single-precision
# programs and least squares leave such terms behind. Every true term adds more.
DUST = 1e-5
# Far more than constants within their tolerance can do; who differs more is not worth expanding.
FAR = 0.1
# Equal formulas differ by the rounding of their values alone.
EQUAL = 1e-9
SAMPLE = 256

Terms = dict[Any, float]


def relative_error(predicted: Array, true: Array) -> float:
    """Return the root mean squared error as a share of the targets' root mean square."""
    with np.errstate(all="ignore"):
        return float(np.sqrt(np.mean((predicted - true) ** 2) / np.mean(true**2)))


def same_formula(
    found: Any, truth: Any, inputs: tuple[Input, ...], x: Array, tolerance: float = EXACT_TOLERANCE
) -> bool:
    """Say whether two SymPy expressions are the same formula, up to rounding of the constants.

    Both are written as a quotient of two sums of monomials, the first coefficient below the line
    being 1; of a formula with a root of a sum, its square is. The same monomials with constants
    within the tolerance are the same formula. What only cancels to the same quotient counts too,
    if SymPy sees it once the constants are rounded to 3 digits. A constant that is added to the
    whole and should be zero may be off by as large a share of the targets as others of themselves:
    some programs add one to every formula.

    Args:
        found: An expression in the symbols of the inputs.
        truth: The other one.
        inputs: The variables.
        x: Training rows; they tell rounding errors from terms, and which root was meant.
        tolerance: Relative error of a constant or exponent that is allowed.
    """
    x = x[:SAMPLE]
    found, truth = (tidy(one, tolerance) for one in (found, truth))
    if found.has(sympy.nan, sympy.zoo, sympy.oo, -sympy.oo):
        return False
    targets = evaluate(truth, inputs, x)
    if not relative_error(evaluate(found, inputs, x), targets) < FAR:
        return False
    offset, rest = found.as_coeff_Add()
    is_small = abs(offset) <= tolerance * np.sqrt(np.mean(targets**2))
    if is_small and sympy.expand(truth).as_coeff_Add()[0] == 0:
        found = rest
    degree = 2 if has_roots(found) or has_roots(truth) else 1
    found, truth = found**degree, truth**degree
    if all(
        agree(*pair, degree * tolerance)
        for pair in zip(quotient(found, inputs, x), quotient(truth, inputs, x), strict=True)
    ):
        return True
    found, truth = rounded(found), rounded(truth)
    if not relative_error(evaluate(found, inputs, x), evaluate(truth, inputs, x)) < EQUAL:
        return False
    return bool(sympy.cancel(sympy.together(found - truth)) == 0)


def tidy(expression: Any, tolerance: float) -> Any:
    """Evaluate constants, and take exponents within the tolerance of a small fraction for it."""

    def fraction(exponent: Any) -> Any:
        near = Fraction(float(exponent)).limit_denominator(4)
        is_near = abs(float(exponent) - near) <= tolerance * max(1.0, abs(float(near)))
        return sympy.Rational(near.numerator, near.denominator) if is_near else exponent

    return sympy.N(expression).replace(
        lambda one: one.is_Pow and one.exp.is_Float, lambda one: one.base ** fraction(one.exp)
    )


def has_roots(expression: Any) -> bool:
    """Say whether a root or the magnitude of something that is not a variable occurs."""
    powers = (one for one in expression.atoms(sympy.Pow) if one.exp.is_number)
    roots = (one for one in powers if not one.exp.is_Integer and not one.base.is_Symbol)
    return expression.has(sympy.Abs) or any(roots)


def quotient(expression: Any, inputs: tuple[Input, ...], x: Array) -> tuple[Terms, Terms]:
    """Return the terms above and below the line, without rounding errors, in a normal form."""
    above, below = (
        significant(terms(part), inputs, x) for part in sympy.fraction(sympy.together(expression))
    )
    powers = [dict(monomial) for monomial in (*above, *below)]
    shared = {base: min(one.get(base, 0) for one in powers) for one in powers for base in one}

    def without(monomial: Any) -> Any:
        rest = {base: dict(monomial).get(base, 0) - power for base, power in shared.items()}
        return frozenset((base, power) for base, power in rest.items() if power)

    first = below[min(below, key=lambda one: sorted(map(str, one)))]
    return (
        {without(one): value / first for one, value in above.items()},
        {without(one): value / first for one, value in below.items()},
    )


def terms(expression: Any) -> Terms:
    """Return the coefficient of each monomial of a sum, a monomial being its factors' powers."""
    found: Terms = {}
    for term in sympy.Add.make_args(sympy.expand(expression)):
        coefficient, factors = term.as_coeff_Mul()
        monomial = frozenset(factors.as_powers_dict().items() if factors != 1 else ())
        found[monomial] = found.get(monomial, 0.0) + float(coefficient)
    return found


def significant(sum_: Terms, inputs: tuple[Input, ...], x: Array) -> Terms:
    """Return the terms that are more than rounding error of their sum."""
    monomials = [sympy.Mul(*(base**power for base, power in one)) for one in sum_]
    columns = evaluate_all(monomials, inputs, x) * list(sum_.values())
    sizes = np.sqrt(np.mean(columns**2, 0)) / np.sqrt(np.mean(columns.sum(-1) ** 2))
    return {one: sum_[one] for one, size in zip(sum_, sizes, strict=True) if size >= DUST}


def agree(found: Terms, truth: Terms, tolerance: float) -> bool:
    """Say whether two sums have the same monomials, with coefficients within the tolerance."""
    return found.keys() == truth.keys() and all(
        abs(found[one] - value) <= tolerance * abs(value) for one, value in truth.items()
    )


def rounded(expression: Any) -> Any:
    """Round every constant to 3 significant digits."""
    return expression.replace(
        lambda one: one.is_Float, lambda one: sympy.Rational(f"{float(one):.3g}")
    )


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the block after so many seconds: SymPy may never come back."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"no answer within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
