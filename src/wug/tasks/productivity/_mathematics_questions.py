"""Questions of school mathematics and their answers, after modules of Saxton et al. (2019).

A generator makes one question at a level. Levels 1 to 3 (easy, medium, hard) are those of training;
at higher ones something is larger than there: numbers have more digits, or there are more of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from random import Random

LETTERS = "abcdefghjklmnopqrstuvwxyz"  # i looks like an index
PLACES = (
    "units",
    "tens",
    "hundreds",
    "thousands",
    "ten thousands",
    "hundred thousands",
    "millions",
)
CHARACTERS = tuple(sorted({*"abcdefghijklmnopqrstuvwxyz", *"0123456789", *"+-*/=(),.? ", *"ACSW"}))


class Draw:
    """Whole numbers, coins and choices from a generator of one's own.

    Args:
        rng: Where everything comes from; only its `random` is used, which is the same everywhere.
    """

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def below(self, number: int) -> int:
        """Draw from 0 to number, exclusive."""
        return int(self.rng.random() * number)

    def one_of(self, options: Sequence[str]) -> str:
        """Draw one of some words."""
        return options[self.below(len(options))]

    def integer(self, digits: int, signed: bool = True) -> int:
        """Draw a number of exactly so many digits."""
        low = 10 ** (digits - 1) if digits > 1 else 0
        value = low + self.below(10**digits - low)
        return -value if signed and self.below(2) else value

    def up_to(self, digits: int) -> int:
        """Draw a number of at most so many digits, each number of digits as often as another."""
        return self.integer(1 + self.below(digits))

    def decimal(self, digits: int, places: int) -> Decimal:
        """Draw a decimal of exactly so many digits, at most some of them after the point."""
        return Decimal(self.integer(digits)).scaleb(-self.below(min(places, digits - 1) + 1))


def written(number: Decimal | Fraction | int) -> str:
    """Write a number as questions do: no exponent, and no zeros that say nothing.

    Example:
        >>> written(Decimal("10.50")), written(Fraction(-2, 4)), written(Decimal("1E+2"))
        ('10.5', '-1/2', '100')
    """
    if isinstance(number, Decimal):
        text = f"{number:f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return "0" if text in ("-0", "") else text
    return str(number)


def polynomial(coefficients: Sequence[int], variable: str) -> str:
    """Write a polynomial, the highest power first; coefficients start with that of power 0.

    Example:
        >>> polynomial([-3, 0, 1, -4], "x"), polynomial([0], "x")
        ('-4*x**3 + x**2 - 3', '0')
    """
    terms = []
    for power in reversed(range(len(coefficients))):
        if coefficients[power]:
            terms.append(term(coefficients[power], power, variable))
    return signed_sum(terms) if terms else "0"


def term(coefficient: int, power: int, variable: str) -> str:
    """Write a coefficient times a power."""
    if power == 0:
        return str(coefficient)
    letter = variable if power == 1 else f"{variable}**{power}"
    if abs(coefficient) == 1:
        return letter if coefficient > 0 else f"-{letter}"
    return f"{coefficient}*{letter}"


def signed_sum(terms: Sequence[str]) -> str:
    """Join terms, with a minus in place of plus and a sign.

    Example:
        >>> signed_sum(["-2*x", "3", "-x"])
        '-2*x + 3 - x'
    """
    text = terms[0]
    for one in terms[1:]:
        text += f" - {one[1:]}" if one.startswith("-") else f" + {one}"
    return text


def add_or_sub(draw: Draw, level: int) -> tuple[str, str]:
    """Ask for a sum or a difference; a level has three more digits up to 3, then one."""
    digits = 3 * level if level <= 3 else 6 + level
    a, b = draw.decimal(digits, 4), draw.decimal(1 + draw.below(digits), 4)
    if draw.below(2):
        a, b = b, a
    x, y = written(a), written(b)
    if draw.below(2):
        forms = (f"What is {x} + {y}?", f"Add {x} and {y}.", f"What is the sum of {x} and {y}?")
        return draw.one_of(forms), written(a + b)
    distance = abs(a - b)
    choice = draw.below(3)
    if choice == 0:
        return f"What is the distance between {x} and {y}?", written(distance)
    if choice == 1:
        return f"What is {x} - {'(' + y + ')' if y.startswith('-') else y}?", written(a - b)
    return f"Subtract {y} from {x}.", written(a - b)


def place_value(draw: Draw, level: int) -> tuple[str, str]:
    """Ask for a digit of a number; a level has two or three more digits up to 3, then one."""
    digits = (0, 2, 4, 7)[level] if level <= 3 else 4 + level
    number = draw.integer(max(digits - draw.below(2), 1) if level <= 3 else digits, signed=False)
    place = draw.below(min(len(str(number)), len(PLACES)))
    return f"What is the {PLACES[place]} digit of {number}?", str(number)[-1 - place]


def linear_1d(draw: Draw, level: int) -> tuple[str, str]:
    """Ask for the solution of an equation in one variable; a level has more terms and digits."""
    variable = draw.one_of(LETTERS)
    solution, digits = draw.up_to(min(level, 2)), min(level + 1, 4)
    sides: list[list[str]] = [[], []]
    total, constant = 0, 0  # of the left side minus the right one
    for number in range(1 + level):
        coefficient, side = draw.up_to(digits), draw.below(2)
        sides[side].append(term(coefficient, 1, variable) if coefficient else f"0*{variable}")
        total += coefficient if side == 0 else -coefficient
        if number:
            addend, side = draw.up_to(digits), draw.below(2)
            sides[side].append(str(addend))
            constant += addend if side == 0 else -addend
    if total == 0:
        sides[0].append(variable)
        total = 1
    sides[1].append(str(total * solution + constant))
    left, right = (signed_sum(side) if side else "0" for side in sides)
    return f"Solve {left} = {right} for {variable}.", str(solution)


def differentiate(draw: Draw, level: int) -> tuple[str, str]:
    """Ask for the derivative of a polynomial; a level has a higher power and more digits."""
    variable, degree = draw.one_of(LETTERS), level + 1
    coefficients = [draw.up_to(level + 1) for _ in range(degree)]
    coefficients.append(draw.integer(min(level, 4)) or 1)
    derivative = [power * c for power, c in enumerate(coefficients)][1:]
    shown = [term(c, power, variable) for power, c in enumerate(coefficients) if c]
    draw_order(draw, shown)
    question = f"What is the derivative of {signed_sum(shown)} wrt {variable}?"
    return question, polynomial(derivative, variable)


def sort(draw: Draw, level: int) -> tuple[str, str]:
    """Ask for numbers in order; a level has more of them."""
    number = level + 2 if level > 3 else level + 1 + draw.below(2)
    values: list[Decimal | Fraction | int] = []
    while len(values) < number:
        kind = draw.below(3)
        value: Decimal | Fraction | int = draw.up_to(min(level, 3) + 1)
        if kind == 1:
            value = draw.decimal(1 + draw.below(4), 2)
        elif kind == 2:
            value = Fraction(draw.up_to(1) or 1, 2 + draw.below(8))
        if Fraction(value) not in {Fraction(one) for one in values}:
            values.append(value)
    falling = bool(draw.below(2))
    ordered = sorted(values, key=lambda value: Fraction(value), reverse=falling)
    question = ", ".join(map(written, values))
    how = "descending" if falling else "ascending"
    return f"Sort {question} in {how} order.", ", ".join(map(written, ordered))


def collect(draw: Draw, level: int) -> tuple[str, str]:
    """Ask for a sum with like terms collected; a level has more terms."""
    variable, number = draw.one_of(LETTERS), 2 * level + 1
    highest, sums = min(level, 3), [0] * (min(level, 3) + 1)
    shown = []
    for count in range(number):
        power = count % 2 if count < 2 else draw.below(highest + 1)
        coefficient = draw.up_to(2) or 1
        sums[power] += coefficient
        shown.append(term(coefficient, power, variable))
    draw_order(draw, shown)
    return f"Collect the terms in {signed_sum(shown)}.", polynomial(sums, variable)


def draw_order(draw: Draw, words: list[str]) -> None:
    """Shuffle a list in place."""
    for end in range(len(words) - 1, 0, -1):
        other = draw.below(end + 1)
        words[end], words[other] = words[other], words[end]


MODULES: dict[str, Callable[[Draw, int], tuple[str, str]]] = {
    "add_or_sub": add_or_sub,
    "place_value": place_value,
    "linear_1d": linear_1d,
    "differentiate": differentiate,
    "sort": sort,
    "collect": collect,
}


def draw_questions(
    module: str, levels: Sequence[int], number: int, rng: Random
) -> list[tuple[str, str, int]]:
    """Draw different questions, each with its answer and level, of each level equally many.

    Where a level has fewer questions than its share, others have more.

    Args:
        module: One of `MODULES`.
        levels: The levels.
        number: How many questions.
        rng: Where they come from; only its `random` is used, which is the same everywhere.

    Example:
        >>> drawn = draw_questions("place_value", (1, 2), 10, Random(0))
        >>> len({question for question, _, _ in drawn}), {level for _, _, level in drawn}
        (10, {1, 2})
    """
    draw, make = Draw(rng), MODULES[module]
    found: dict[str, tuple[str, str, int]] = {}
    turn = vain = 0
    open_levels = list(levels)
    while len(found) < number:
        level = open_levels[turn % len(open_levels)]
        question, answer = make(draw, level)
        if question in found:
            vain += 1
            if vain > 1_000:  # this level has hardly any others
                if len(open_levels) == 1:
                    break
                open_levels.remove(level)
                vain = 0
            continue
        found[question] = (question, answer, level)
        turn, vain = turn + 1, 0
    return list(found.values())
