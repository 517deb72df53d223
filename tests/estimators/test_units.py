"""Units are read as people write them, and decide which formulas can be true."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from wug.core.errors import UserError
from wug.estimators.candidate import Candidate, Function
from wug.estimators.units import BASES, Measures, dimension, dimension_of


def powers(**given: float) -> tuple[Fraction, ...]:
    """Return a dimension from powers of the bases."""
    return tuple(Fraction(given.get(base, 0)) for base in BASES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kg*m/s^2", powers(kg=1, m=1, s=-2)),
        ("N", powers(kg=1, m=1, s=-2)),
        ("J/(mol*K)", powers(kg=1, m=2, s=-2, mol=-1, K=-1)),
        ("J/mol/K", powers(kg=1, m=2, s=-2, mol=-1, K=-1)),
        ("m s^-1", powers(m=1, s=-1)),
        ("km/h", powers(m=1, s=-1)),
        ("m3", powers(m=3)),
        ("V·A", powers(kg=1, m=2, s=-3)),
        ("Hz**(1/2)", powers(s=Fraction(-1, 2))),
        ("mmol/L", powers(mol=1, m=-3)),
        ("µm", powers(m=1)),
        ("min", powers(s=1)),
        ("1", powers()),
        ("-", powers()),
        ("", powers()),
        ("%", powers()),
        ("°C", powers(K=1)),
    ],
)
def test_units_are_read(text: str, expected: tuple[Fraction, ...]) -> None:
    assert dimension_of(text) == expected


@pytest.mark.parametrize("text", ["foo", "kg*", "kg^x", "(m", "m/)", "m$", "m^0", "kg)", "krad^"])
def test_what_is_no_unit_is_an_error(text: str) -> None:
    with pytest.raises(UserError, match="units: "):
        dimension_of(text)


def test_an_unknown_unit_is_named_with_the_known_ones() -> None:
    with pytest.raises(UserError, match="unknown unit 'furlong' in 'furlong/s'.*Hz"):
        dimension_of("furlong/s")


ENERGY = Measures((powers(kg=1), powers(m=1, s=-1), powers(m=1, s=-1)), powers(kg=1, m=2, s=-2))


def candidate(exponents: list[list[float]], functions: tuple[Function, ...] = ()) -> Candidate:
    """Return a sum of products."""
    return Candidate(
        exponents=np.array(exponents), coefficients=np.ones((1, len(exponents))),
        powers=np.ones(1), functions=functions,
    )  # fmt: skip


def test_sums_need_equal_dimensions() -> None:
    assert ENERGY.allow(candidate([[1, 2, 0], [1, 1, 1]]))
    assert not ENERGY.allow(candidate([[1, 2, 0], [1, 1, 0]]))
    assert not ENERGY.allow(candidate([[1, 1, 0]]))
    assert dimension(candidate([[1, 2, 0], [0, 1, 0]]), ENERGY.matrix) is None


def test_functions_need_arguments_without_a_dimension() -> None:
    ratio, speed = candidate([[0, 1, -1]]), candidate([[0, 1, 0]])
    assert ENERGY.allow(candidate([[1, 2, 0, 1]], (Function("exp", ratio),)))
    assert not ENERGY.allow(candidate([[1, 2, 0, 1]], (Function("exp", speed),)))


def test_a_factor_may_have_a_unit_if_that_is_said() -> None:
    free = Measures(ENERGY.inputs, ENERGY.target, factor=True)
    assert free.allow(candidate([[1, 1, 0]]))
    assert not free.allow(candidate([[1, 1, 0], [1, 0, 0]]))


def test_a_missing_constant_of_nature_is_said() -> None:
    ENERGY.check()
    with pytest.raises(UserError, match="powers of A do not come out"):
        Measures(ENERGY.inputs, powers(kg=1, m=2, s=-2, A=1)).check()
