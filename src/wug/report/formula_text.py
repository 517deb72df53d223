"""A formula for people: few digits, whole names, and a certificate in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from wug.report.oddities import is_number

NUMBER = re.compile(r"(?<![\w.])\d+\.\d{6,}(?:e[+-]?\d+)?(?![\w.])|(?<![\w.])\d+e[+-]\d+(?![\w.])")
DIGITS = 6


def shortened_numbers(text: str) -> str:
    """Return a formula with at most six digits of each number.

    Example:
        >>> shortened_numbers("2.34543302086708*a**2/b + 0.694468390589264 - x12.5")
        '2.34543*a**2/b + 0.694468 - x12.5'
    """
    return NUMBER.sub(lambda match: f"{float(match[0]):.{DIGITS}g}", text)


def readable_latex(latex: str, names: Iterable[str]) -> str:
    r"""Return LaTeX with few digits, and with names of several letters upright and in one piece.

    Example:
        >>> readable_latex(r"1.500000001 distance^{2}", ["distance"])
        '1.5 \\mathrm{distance}^{2}'
    """
    short = shortened_numbers(latex)
    for name in sorted({name for name in names if len(name) > 1}, key=len, reverse=True):
        if name.isalpha() and name.isascii():
            short = re.sub(rf"(?<![\\A-Za-z]){name}(?![A-Za-z])", rf"\\mathrm{{{name}}}", short)
    return short


def number(value: Any, digits: int = DIGITS) -> str:
    """Spell a number in few digits."""
    return f"{float(value):.{digits}g}" if is_number(value) else "unknown"


def constants(given: object) -> str:
    """Return the constants with their standard errors."""
    known = [one for one in given if isinstance(one, Mapping)] if isinstance(given, list) else []
    return ", ".join(
        f"{number(one.get('value'))} ± {number(one['standard_error'], 2)}"
        for one in known
        if is_number(one.get("standard_error"))
    )


def certificate(given: Mapping[str, Any]) -> Iterator[str]:
    """Yield what was proven and measured of a formula, one sentence each."""
    if given.get("exact") is True:
        yield (
            "The network is this formula, symbolically; on the data they differ by at most "
            f"{number(given.get('difference'), 2)}."
        )
    change = given.get("snapping_change")
    if isinstance(change, Mapping) and is_number(change.get("relative")):
        share = number(change["relative"], 2)
        yield f"Rounding its weights changed outputs by at most {share} of themselves."
    for one in listed(given.get("domain")):
        where = [
            words
            for key, words in (("on_data", "holds on the data"), ("on_box", "proven on the box"))
            if one.get(key) is True
        ]
        yield f"It is defined where {one.get('words', '?')} ({', '.join(where) or 'not checked'})."
    box = given.get("box")
    if isinstance(box, Mapping):
        ends = [
            f"{name} from {number(pair[0])} to {number(pair[1])}"
            for name, pair in box.items()
            if isinstance(pair, list) and len(pair) == 2
        ]
        for one in listed(given.get("bounds")):
            yield (
                f"Ten times as far as the data ({', '.join(ends)}) it stays between "
                f"{number(one.get('low'))} and {number(one.get('high'))}"
                f"{', proven' if one.get('proven') is True else ''}."
            )


def listed(value: object) -> list[Mapping[str, Any]]:
    """Return the objects of a list."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
