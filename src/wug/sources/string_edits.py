"""The string edits of PCFG SET (Hupkes et al., 2020): what they do, and random expressions of them.

Six functions take one string and four take two, which a comma parts; strings are symbols such as
``A12``. Expressions are written without brackets: "append reverse A1 B2 , C3".
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from random import Random

from wug.core.errors import UserError

Words = list[str]

UNARY: dict[str, Callable[[Words], Words]] = {
    "copy": lambda x: x,
    "reverse": lambda x: x[::-1],
    "shift": lambda x: x[1:] + x[:1],
    "echo": lambda x: x + x[-1:],
    "swap_first_last": lambda x: x[-1:] + x[1:-1] + x[:1] if len(x) > 1 else x,
    "repeat": lambda x: x + x,
}
BINARY: dict[str, Callable[[Words, Words], Words]] = {
    "append": lambda x, y: x + y,
    "prepend": lambda x, y: y + x,
    "remove_first": lambda x, y: y,
    "remove_second": lambda x, y: x,
}
SYMBOLS = tuple(
    f"{letter}{number}" for letter in map(chr, range(65, 91)) for number in range(1, 21)
)
# Synonyms that one of the data set's tests introduces; the published vocabulary has them.
TWINS = tuple(f"{name}_twin" for name in ("append", "remove_second", "repeat", "swap_first_last"))
TOKENS = (*UNARY, *BINARY, *TWINS, ",", *SYMBOLS)
LONGEST = 71

# Shares in the official random test set, 9,721 expressions. How often the argument of a function of
# one or two strings, so many functions deep, is a function itself; what share of functions take one
# string, as the first function and below it; how long strings are.
NESTED = ((0.97, 0.74, 0.59, 0.51, 0.49), (0.65, 0.57, 0.48, 0.44, 0.41))
SINGLE = (0.505, 0.627)
STRING_LENGTHS = (2, 3, 4, 5)
LENGTH_SHARES = (0.161, 0.297, 0.273, 0.269)


def evaluate(expression: str) -> str:
    """Return the string that an expression stands for.

    Raises:
        UserError: It is not well formed.

    Example:
        >>> evaluate("append reverse A1 B2 , shift C3 D4")
        'B2 A1 D4 C3'
    """
    words = expression.split()
    value, end = _evaluate(words, 0)
    if end != len(words) or not value:
        raise UserError(f"string edits: {expression!r} is not well formed.")
    return " ".join(value)


def _evaluate(words: Sequence[str], start: int) -> tuple[Words, int]:
    name = words[start] if start < len(words) else ""
    if name in UNARY:
        value, end = _evaluate(words, start + 1)
        return UNARY[name](value), end
    if name in BINARY:
        first, comma = _evaluate(words, start + 1)
        if comma >= len(words) or words[comma] != ",":
            raise UserError(f"string edits: {name} needs two strings with a comma between them.")
        second, end = _evaluate(words, comma + 1)
        return BINARY[name](first, second), end
    end = start
    while end < len(words) and words[end] in _SYMBOLS:
        end += 1
    if end == start:
        raise UserError(f"string edits: a string or a function must stand where {name!r} is.")
    return list(words[start:end]), end


_SYMBOLS = frozenset(SYMBOLS)


def num_functions(expression: str) -> int:
    """Count the functions of an expression.

    Example:
        >>> num_functions("append reverse A1 B2 , C3")
        2
    """
    return sum(word in UNARY or word in BINARY for word in expression.split())


def has_pair(expression: str, pairs: frozenset[tuple[str, str]]) -> bool:
    """Say whether one of these pairs of words stand next to each other.

    Example:
        >>> has_pair("append reverse A1 B2 , C3", frozenset({("append", "reverse")}))
        True
    """
    return not pairs.isdisjoint(pairwise(expression.split()))


class ExpressionSampler:
    """Draws random expressions, with the shares of the official random test set.

    Args:
        rng: Where they come from; only its `random` is used, which is the same everywhere.
    """

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.lengths = list(accumulate(LENGTH_SHARES))
        self.names = tuple(UNARY), tuple(BINARY)

    def draw(self) -> list[str]:
        """Draw an expression of any length."""
        return self._function(0)

    def _one_of(self, options: Sequence[str]) -> str:
        return options[int(self.rng.random() * len(options))]

    def _function(self, depth: int) -> list[str]:
        binary = self.rng.random() >= SINGLE[min(depth, 1)]
        words = [self._one_of(self.names[binary])]
        words += self._argument(binary, depth)
        return [*words, ",", *self._argument(binary, depth)] if binary else words

    def _argument(self, binary: bool, depth: int) -> list[str]:
        shares = NESTED[binary]
        if self.rng.random() < shares[min(depth, len(shares) - 1)]:
            return self._function(depth + 1)
        place = bisect_right(self.lengths, self.rng.random() * self.lengths[-1])
        return [self._one_of(SYMBOLS) for _ in range(STRING_LENGTHS[min(place, 3)])]


def draw_expressions(
    number: int, accept: Callable[[str], bool], rng: Random, *, longest: int = LONGEST
) -> list[str]:
    """Draw different expressions that are accepted and not too long.

    Args:
        number: How many.
        accept: Says which ones may be drawn.
        rng: Where they come from.
        longest: Most words of an expression.

    Example:
        >>> drawn = draw_expressions(3, lambda text: num_functions(text) < 3, Random(0))
        >>> len(set(drawn)), all(num_functions(text) in (1, 2) for text in drawn)
        (3, True)
    """
    sampler, found = ExpressionSampler(rng), dict[str, None]()
    while len(found) < number:
        words = sampler.draw()
        text = " ".join(words)
        if len(words) <= longest and accept(text):
            found[text] = None
    return list(found)
