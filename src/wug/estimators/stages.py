"""The structures of formulas in the order in which a search tries them, the simple ones first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from wug.estimators.candidate import Candidate
from wug.estimators.curves import Curves
from wug.estimators.data import Data, Effort, Limits
from wug.estimators.monomials import Monomials
from wug.estimators.polynomial import Polynomial
from wug.estimators.rational import Rational
from wug.estimators.root_factors import RootFactors
from wug.estimators.shifted import Shifted, ShiftedTimes
from wug.estimators.sums import Sums
from wug.estimators.unary import UnaryProducts
from wug.estimators.unary_sums import UnarySums

POWERS = (-1.0, 2.0, -2.0, 0.5)
SUM_POWERS = ((1.0, 1.0), (1.0, -1.0), (2.0,), (0.5,), (-1.0,))
# Up to this many inputs all monomials of a low degree are tried.
FEW_INPUTS = 20


class Structure(Protocol):
    """A form of formulas, whose numbers are searched."""

    def solve(self, data: Data, effort: Effort) -> Iterator[Candidate]:
        """Yield formulas of this form."""
        ...


@dataclass(frozen=True)
class Stage:
    """Structures that are tried together.

    Args:
        structures: In their order.
        may_end: Whether the search may end after them.
        if_refused: Whether they are tried only if what was found so far leaves more than noise,
            or if they were asked for.
        once: Whether more restarts would find the same.
    """

    structures: list[Structure]
    may_end: bool = True
    if_refused: bool = False
    once: bool = False


def first_stages(limits: Limits) -> Iterator[Stage]:
    """Yield what is tried on all inputs, however many."""
    if limits.has_sums:
        yield Stage([Polynomial(1)], may_end=False)
    if limits.operations & {"mul", "div", "pow", "root"}:
        yield Stage([Monomials(1)], may_end=False)


def quick_stages(limits: Limits) -> Iterator[Stage]:
    """Yield what takes no time on a few of many inputs, and decides nothing."""
    yield from first_stages(limits)
    if limits.has_sums and limits.operations & {"mul", "pow"}:
        yield Stage([Polynomial(2), Polynomial(3)], may_end=False)


def sum_stage() -> Stage:
    """Return the products of powers of sums over all inputs."""
    return Stage([Sums(powers) for powers in SUM_POWERS])


def later_stages(limits: Limits, num_inputs: int, *, curves: bool = False) -> Iterator[Stage]:
    """Yield what is tried on few inputs, or on those that matter.

    Args:
        limits: Of the formulas.
        num_inputs: How many there are.
        curves: Whether one input's curves are tried before a polynomial may end the search, which
            follows any of them through noise.
    """
    operations, most = limits.operations, limits.most_powers
    curves = curves and num_inputs == 1 and bool(limits.functions)
    if not operations & {"mul", "div", "pow", "root"}:
        return
    products = Stage([UnaryProducts(), Curves()], if_refused=True, once=True)
    if curves:
        products = Stage([UnaryProducts(), Curves(), Shifted()], once=True)
    if not operations & {"add", "sub"} or not limits.has_sums:
        yield Stage([UnaryProducts()], if_refused=True, once=True)
        return
    if num_inputs <= FEW_INPUTS:
        yield Stage([
            *(Polynomial(degree) for degree in (2, 3, 4, 6)),
            *(Polynomial(2, power=power) for power in POWERS),
            Polynomial(3, inverse=True),
        ], may_end=not curves)  # fmt: skip
    if num_inputs == 1:
        yield Stage([Rational(degree) for degree in (1, 2, 3)], once=True, may_end=not curves)
    if curves:
        yield products
    yield sum_stage()
    if not curves:
        yield products
    yield Stage([Monomials(num_terms) for num_terms in range(2, min(most, 3) + 1)])
    yield Stage([
        *(Monomials(1, power=power, constant=True) for power in POWERS),
        *(Monomials(2, power=power) for power in (*POWERS, -0.5)),
    ])  # fmt: skip
    yield Stage([Monomials(1, num_below=1), Monomials(2, num_below=1)])
    if "root" in operations:
        yield Stage([RootFactors()], once=True)
    yield Stage([UnarySums()], if_refused=True)
    yield Stage([ShiftedTimes()], if_refused=True, once=True)
    yield Stage([Sums((1.0, 1.0), constant=True), Sums((1.0, -1.0), constant=True)])
    yield Stage([
        Monomials(num_terms, num_below=1, power=power)
        for num_terms in (1, 2)
        for power in (2.0, -2.0)
    ])  # fmt: skip
    for num_terms in range(2, most + 1):
        yield Stage([
            Monomials(num_terms, constant=True),
            *([Monomials(num_terms)] if num_terms > 3 else []),
            *(Monomials(num_terms, power=power) for power in (-1.0, 2.0) if num_terms > 2),
        ])  # fmt: skip
    yield Stage([Sums((1.0, 1.0, 1.0)), Sums((1.0, 1.0, -1.0), constant=True)])
    yield Stage([Sums((1.0, -0.5), constant=True)])
