"""Reads formulas that people type: tokens, a tree of ours, SymPy. No text is run as Python.

sum     = product (("+" | "-") product)*
product = sign (("*" | "/") sign)*
sign    = ("+" | "-") sign | power
power   = atom (("**" | "^") sign)?
atom    = number | name | function "(" sum ")" | "(" sum ")"
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from wug.core.errors import UserError

FUNCTIONS = ("exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "asin", "acos", "atan", "Abs")
OTHER_NAMES = {"abs": "Abs", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "ln": "log"}
NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
WORD = re.compile(r"[^\W\d]\w*")
SIGNS = ("**", "+", "-", "*", "/", "^", "(", ")")
DEEPEST = 100
# Largest size of a constant, by its logarithm to the base 10, and most digits of a typed one.
LARGEST, MOST_DIGITS = 300.0, 300
# Letters of a number in a sentence.
SHORT = 30


class NotAFormula(ValueError):
    """The text is no formula; the message says why."""


def read_formula_text(text: str, names: Sequence[str]) -> Any:
    """Return the SymPy expression of a formula.

    Args:
        text: Such as ``x1*x2 + 3``; names may have spaces.
        names: Of the inputs.

    Raises:
        UserError: If the text is no formula or names an unknown input.

    Example:
        >>> read_formula_text("2*drag force [N]^2 - sin(v)", ["drag force [N]", "v"])
        2*drag force [N]**2 - sin(v)
    """
    try:
        return Reader(tuple(tokens(text, names)), tuple(names)).read()
    except NotAFormula as error:
        raise UserError(f"score_formula: {text!r} is not a formula: {error}") from None


def tokens(text: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the tokens of a text: kind and text of each.

    Example:
        >>> tokens("2*a", ["a"])
        [('number', '2'), ('sign', '*'), ('name', 'a')]
    """
    longest = sorted(names, key=len, reverse=True)
    found: list[tuple[str, str]] = []
    start = 0
    while start < len(text):
        if text[start].isspace():
            start += 1
            continue
        name = next((n for n in longest if stands_alone(text, start, n)), None)
        sign = next((s for s in SIGNS if text.startswith(s, start)), None)
        number, word = NUMBER.match(text, start), WORD.match(text, start)
        if name is not None:
            found.append(("name", name))
        elif number is not None:
            found.append(("number", number[0]))
        elif word is not None:
            found.append(("word", word[0]))
        elif sign is not None:
            found.append(("sign", sign))
        else:
            raise NotAFormula(f"there is {text[start]!r}")
        start += len(found[-1][1])
    return found


def stands_alone(text: str, start: int, name: str) -> bool:
    """Say whether a name is at this point of a text and is not the start of a longer word."""
    end = start + len(name)
    if not name or not text.startswith(name, start):
        return False
    return not (name[-1].isalnum() or name[-1] == "_") or not re.match(r"\w", text[end : end + 1])


@dataclass
class Reader:
    """Reads tokens from the left to the right.

    Args:
        tokens: Kind and text of each.
        names: Of the inputs.
    """

    tokens: tuple[tuple[str, str], ...]
    names: tuple[str, ...]
    at: int = 0
    depth: int = field(default=0)

    def read(self) -> Any:
        """Return the expression of all tokens."""
        expression = self.sum()
        if self.at < len(self.tokens):
            raise NotAFormula(f"{self.tokens[self.at][1]!r} is too much")
        return expression

    def take(self, *signs: str) -> str | None:
        """Return the next token and go on, if it is one of these signs."""
        if self.at < len(self.tokens) and self.tokens[self.at] in {("sign", s) for s in signs}:
            self.at += 1
            return self.tokens[self.at - 1][1]
        return None

    def sum(self) -> Any:
        """Read a sum."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise NotAFormula("it is nested too deeply")
        value = self.product()
        while sign := self.take("+", "-"):
            other = self.product()
            value = constant_checked(value + other if sign == "+" else value - other)
        self.depth -= 1
        return value

    def product(self) -> Any:
        """Read a product."""
        value = self.signed()
        while sign := self.take("*", "/"):
            other = self.signed()
            if sign == "/" and other == 0:
                raise NotAFormula("it divides by 0")
            value = constant_checked(value * other if sign == "*" else value / other)
        return value

    def signed(self) -> Any:
        """Read a power with signs before it."""
        negative = False
        while sign := self.take("+", "-"):
            negative ^= sign == "-"
        value = self.power()
        return -value if negative else value

    def power(self) -> Any:
        """Read a power; of several the last comes first."""
        base = self.atom()
        if self.take("**", "^"):
            return power_of(base, self.signed())
        return base

    def atom(self) -> Any:
        """Read a number, a name, a function or what is in brackets."""
        import sympy

        if self.take("("):
            return self.closed()
        if self.at >= len(self.tokens):
            raise NotAFormula("it ends too soon")
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            if len(text) > MOST_DIGITS:
                raise NotAFormula(f"the number {text[:20]}... is too long")
            return constant_checked(
                sympy.Float(text) if set(text) & set(".eE") else sympy.Integer(text)
            )
        if kind == "name":
            return sympy.Symbol(text, real=True)
        name = OTHER_NAMES.get(text, text)
        if kind == "word" and name in FUNCTIONS and self.take("("):
            return constant_checked(getattr(sympy, name)(self.closed()))
        if kind == "word" and text == "pi":
            return sympy.pi
        if kind == "word":
            raise UserError(
                f"score_formula: unknown input {text!r}; the inputs are {', '.join(self.names)}."
            )
        raise NotAFormula(f"there is {text!r} where a number or a name should be")

    def closed(self) -> Any:
        """Read what is in brackets, to its end."""
        value = self.sum()
        if not self.take(")"):
            raise NotAFormula("a bracket is not closed")
        return value


def power_of(base: Any, exponent: Any) -> Any:
    """Return a power, if its constants can be computed with.

    Raises:
        NotAFormula: If a constant is too large or not real.
    """
    import math

    import sympy

    if exponent.is_number:
        if abs(float(exponent)) > DEEPEST:
            raise NotAFormula(f"the exponent {short(exponent)} is too large")
        for factor in sympy.Mul.make_args(base):  # (9*x**99)**99, too
            if not factor.is_number:
                inner = factor.exp if factor.is_Pow and factor.exp.is_number else 1
                if abs(float(inner * exponent)) > DEEPEST:
                    raise NotAFormula(f"the exponent {short(inner * exponent)} is too large")
                continue
            size = abs(float(factor))
            if size == 0 and exponent < 0:
                raise NotAFormula(f"it raises 0 to the power {exponent}")
            if size and abs(math.log10(size) * float(exponent)) > LARGEST:
                raise NotAFormula(f"a power of {short(factor)} is too large, or too small")
    return constant_checked(base**exponent)


def short(number: Any) -> str:
    """Return a number for a sentence."""
    text = str(number)
    return text if len(text) <= SHORT else f"{text[:SHORT]}..."


def constant_checked(value: Any) -> Any:
    """Return a part of a formula, if it is no constant that nothing can be computed with.

    Raises:
        NotAFormula: If it is a constant that is not real, or too large.
    """
    if not value.is_number:
        if value.has(*unreal()):
            raise NotAFormula(f"{value} is no real number")
        return value
    if value.is_real is False or value.has(*unreal()):
        raise NotAFormula(f"{value} is no real number")
    try:
        size = abs(float(value))
    except (TypeError, OverflowError):
        raise NotAFormula(f"{value} is no real number, or too large") from None
    if size and not 10.0**-LARGEST < size < 10.0**LARGEST:
        raise NotAFormula("a constant is too large, or too small")
    return value


def unreal() -> tuple[Any, ...]:
    """Return SymPy's names for what is no real number."""
    import sympy

    return sympy.I, sympy.nan, sympy.zoo, sympy.oo, -sympy.oo
