"""Units: what a text such as kg*m/s^2 measures, and which formulas can be true of it.

A sum has terms of one dimension, a function an argument without one. Numbers are pure: a constant
of nature is a column of its own, even if it is the same in every row. Prefixes and names only say
what is measured; a factor between kilometres and metres is left to the formula's numbers.

text   = part (("*" | "/" | " ") part)*
part   = "(" text ")" | unit, perhaps with a power such as ^2, **-1, ^(1/2) or 2
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from wug.core.errors import UserError
from wug.estimators.candidate import Array, Candidate

BASES = ("kg", "m", "s", "A", "K", "mol", "cd")
Dimension = tuple[Fraction, ...]

# What each unit measures, in powers of the bases.
UNITS: dict[str, dict[str, int]] = {
    "g": {"kg": 1}, "m": {"m": 1}, "s": {"s": 1}, "A": {"A": 1}, "K": {"K": 1},
    "mol": {"mol": 1}, "cd": {"cd": 1}, "t": {"kg": 1}, "u": {"kg": 1}, "L": {"m": 3},
    "l": {"m": 3}, "min": {"s": 1}, "h": {"s": 1}, "d": {"s": 1}, "day": {"s": 1},
    "yr": {"s": 1}, "au": {"m": 1}, "pc": {"m": 1}, "ly": {"m": 1}, "degC": {"K": 1},
    "°C": {"K": 1}, "Hz": {"s": -1}, "Bq": {"s": -1}, "N": {"kg": 1, "m": 1, "s": -2},
    "Pa": {"kg": 1, "m": -1, "s": -2}, "bar": {"kg": 1, "m": -1, "s": -2},
    "atm": {"kg": 1, "m": -1, "s": -2}, "J": {"kg": 1, "m": 2, "s": -2},
    "eV": {"kg": 1, "m": 2, "s": -2}, "cal": {"kg": 1, "m": 2, "s": -2},
    "Wh": {"kg": 1, "m": 2, "s": -2}, "W": {"kg": 1, "m": 2, "s": -3}, "C": {"A": 1, "s": 1},
    "V": {"kg": 1, "m": 2, "s": -3, "A": -1}, "Ohm": {"kg": 1, "m": 2, "s": -3, "A": -2},
    "Ω": {"kg": 1, "m": 2, "s": -3, "A": -2}, "S": {"kg": -1, "m": -2, "s": 3, "A": 2},
    "F": {"kg": -1, "m": -2, "s": 4, "A": 2}, "Wb": {"kg": 1, "m": 2, "s": -2, "A": -1},
    "T": {"kg": 1, "s": -2, "A": -1}, "H": {"kg": 1, "m": 2, "s": -2, "A": -2},
    "lm": {"cd": 1}, "lx": {"cd": 1, "m": -2}, "Gy": {"m": 2, "s": -2}, "Sv": {"m": 2, "s": -2},
    "M": {"mol": 1, "m": -3}, "kat": {"mol": 1, "s": -1}, "rad": {}, "sr": {}, "deg": {},
    "°": {}, "%": {}, "ppm": {}, "1": {}, "-": {},
}  # fmt: skip
PREFIXES = ("da", *"QRYZEPTGMkhdcmµμunpfazyrq")
TOKEN = re.compile(r"\*\*|[*/·^()]|[+-]?\d+(?:\.\d+)?|[^\W\d]+|[%°Ω]C?|-")
TOLERANCE = 1e-9


def dimension_of(text: str) -> Dimension:
    """Return the dimension of a unit as powers of kg, m, s, A, K, mol and cd.

    Raises:
        UserError: If the text is no unit.

    Example:
        >>> dimension_of("km/h") == dimension_of("m s^-1"), dimension_of("J/(mol*K)")[-3:-1]
        (True, (Fraction(-1, 1), Fraction(-1, 1)))
    """
    plain = text.strip()
    if plain in ("", "-"):
        return dimensionless()
    tokens = TOKEN.findall(plain)
    if "".join(tokens) != re.sub(r"\s+", "", plain):
        raise UserError(f"units: {text!r} is not a unit; write it as kg*m/s^2.")
    reader = UnitReader(text, tokens)
    found = reader.product()
    if reader.tokens:
        raise UserError(f"units: {text!r} is not a unit: {reader.tokens[0]!r} is too much.")
    return found


def dimensionless() -> Dimension:
    """Return the dimension of a pure number."""
    return (Fraction(0),) * len(BASES)


class UnitReader:
    """Reads the tokens of a unit from the left to the right.

    Args:
        text: The whole, for errors.
        tokens: What is left.
    """

    def __init__(self, text: str, tokens: Sequence[str]) -> None:
        self.text, self.tokens = text, list(tokens)

    def product(self) -> Dimension:
        """Read factors up to a closing bracket or the end; a line divides by the next one alone."""
        total = self.part()
        while self.tokens and self.tokens[0] != ")":
            sign = self.tokens.pop(0) if self.tokens[0] in ("*", "/", "·") else "*"
            factor = -1 if sign == "/" else 1
            total = tuple(a + factor * b for a, b in zip(total, self.part(), strict=True))
        return total

    def part(self) -> Dimension:
        """Read a unit or a bracket, and its power."""
        if not self.tokens:
            raise UserError(f"units: {self.text!r} ends too soon.")
        token = self.tokens.pop(0)
        if token == "(":
            base = self.product()
            self.close()
        else:
            base = named_dimension(token, self.text)
        power = self.power()
        return tuple(power * one for one in base)

    def power(self) -> Fraction:
        """Read a power; 1 if there is none."""
        if self.tokens and self.tokens[0] in ("^", "**"):
            self.tokens.pop(0)
            if self.tokens and self.tokens[0] == "(":
                self.tokens.pop(0)
                power = self.number()
                if self.tokens and self.tokens[0] == "/":
                    self.tokens.pop(0)
                    power /= self.number()
                self.close()
                return power
            return self.number()
        if self.tokens and re.fullmatch(r"[+-]?\d+", self.tokens[0]):
            return self.number()
        return Fraction(1)

    def number(self) -> Fraction:
        """Read a number other than 0."""
        try:
            value = Fraction(self.tokens.pop(0))
        except (IndexError, ValueError):
            raise UserError(f"units: {self.text!r} has a power that is no number.") from None
        if not value:
            raise UserError(f"units: {self.text!r} has the power 0.")
        return value

    def close(self) -> None:
        """Read a closing bracket."""
        if not self.tokens or self.tokens.pop(0) != ")":
            raise UserError(f"units: {self.text!r} has a bracket that is not closed.")


def named_dimension(name: str, text: str) -> Dimension:
    """Return the dimension of a named unit, perhaps with a prefix.

    Raises:
        UserError: If there is no such unit.
    """
    known = UNITS.get(name)
    for prefix in PREFIXES:
        rest = UNITS.get(name.removeprefix(prefix)) if name.startswith(prefix) else None
        if known is None and rest:
            known = rest
    if known is None:
        where = "" if name == text.strip() else f" in {text!r}"
        raise UserError(
            f"units: unknown unit {name!r}{where}; there are {', '.join(sorted(UNITS))}, with "
            "prefixes such as k and m, and products such as kg*m/s^2."
        )
    return tuple(Fraction(known.get(base, 0)) for base in BASES)


@dataclass(frozen=True)
class Measures:
    """What the columns of a table measure.

    Args:
        inputs: Dimension of each input.
        target: Dimension of the target.
        factor: Whether one factor before the whole formula may have a dimension.
    """

    inputs: tuple[Dimension, ...]
    target: Dimension
    factor: bool = False

    @property
    def matrix(self) -> Array:
        """The powers of the bases, (in, base)."""
        return np.array(self.inputs, dtype=np.float64).reshape(len(self.inputs), len(BASES))

    def allow(self, candidate: Candidate) -> bool:
        """Say whether a formula can be true: equal dimensions in sums, none inside of functions."""
        found = dimension(candidate, self.matrix)
        if found is None:
            return False
        goal = np.array(self.target, dtype=np.float64)
        return self.factor or bool(np.abs(found - goal).max() < TOLERANCE)

    def check(self) -> None:
        """Raise if no product of powers of the inputs measures what the target does."""
        if self.factor:
            return
        goal = np.array(self.target, dtype=np.float64)
        solved = np.linalg.lstsq(self.matrix.T, goal, rcond=None)[0]
        left = np.abs(self.matrix.T @ solved - goal)
        if left.max() > TOLERANCE:
            missing = ", ".join(base for base, size in zip(BASES, left, strict=True)
                                if size > TOLERANCE)  # fmt: skip
            raise UserError(
                "units: no formula of the inputs has the unit of the target: the powers of "
                f"{missing} do not come out. A constant of nature needs a column of its own, or "
                "allow one factor with a unit (units_factor, --units-factor)."
            )


def dimension(candidate: Candidate, matrix: Array) -> Array | None:
    """Return the dimension of a formula, (base,); None if it adds what can't be added.

    Args:
        candidate: The formula.
        matrix: Dimension of each input, (in, base).
    """
    for function in candidate.functions:
        inner = dimension(function.inner, matrix)
        if inner is None or np.abs(inner).max() > TOLERANCE:
            return None
    terms = candidate.exponents[:, : candidate.num_inputs] @ matrix
    total = np.zeros(matrix.shape[1])
    for row, power in zip(candidate.coefficients, candidate.powers, strict=True):
        own = terms[row != 0]
        if not len(own) or np.ptp(own, axis=0).max() > TOLERANCE:
            return None
        total = total + power * own[0]
    return total
