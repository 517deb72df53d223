"""How a formula is printed: the shortest of a few equal forms, its numbers as people write them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from wug.estimators.candidate import exact_number

SHOWN_DIGITS = 6
# A number that equals one of so many digits up to this share is printed as that one.
TIDY_DIGITS, TIDY = 10, 1e-13
# Larger expressions are printed as they are: SymPy would take too long.
MOST_SYMBOLS, MOST_OPERATIONS = 12, 60
# Size of numbers beyond which quotients are printed as they are.
MODERATE = 1e45


def few_digits(expression: Any) -> Any:
    """Return an expression whose numbers are rounded for the eye."""
    import sympy

    numbers = expression.atoms(sympy.Float)
    return expression.xreplace({n: sympy.Float(n, SHOWN_DIGITS) for n in numbers})


def tidy(expression: Any) -> Any:
    """Return an expression without the last digits that dividing numbers left in it.

    Example:
        >>> import sympy
        >>> x = sympy.Symbol("x")
        >>> tidy(0.30000000000000004 * x + 273.149999999998), tidy(1.4142135623731 * x)
        (3*x/10 + 273.15, 1.4142135623731*x)
    """
    import sympy

    short = {n: float(f"{float(n):.{TIDY_DIGITS}g}") for n in expression.atoms(sympy.Float)}
    near = {n: s for n, s in short.items() if abs(s - float(n)) <= TIDY * abs(float(n))}
    return expression.xreplace({n: exact_number(s) for n, s in near.items()})


def readable(expression: Any, positive: Sequence[str] = ()) -> Any:
    """Return the shortest of a few equal forms of an expression.

    Args:
        expression: In real symbols.
        positive: Names of the inputs that are never 0 or below.
    """
    import sympy
    from sympy.simplify.fu import TRpower

    forth = {s: sympy.Symbol(str(s), positive=True) for s in expression.free_symbols
             if str(s) in set(positive)}  # fmt: skip
    back = {new: old for old, new in forth.items()}
    expression = expression.xreplace(forth)
    forms = [expression]
    small = len(expression.free_symbols) <= MOST_SYMBOLS
    if small and sympy.count_ops(expression) <= MOST_OPERATIONS:
        forms += [sympy.factor_terms(expression), sympy.together(expression)]
        moderate = is_moderate(expression)
        if moderate and expression.is_rational_function(*expression.free_symbols):
            forms += [sympy.cancel(expression), sympy.factor(expression)]
        elif moderate and not expression.has(sympy.Float):
            forms.append(sympy.powsimp(sympy.factor(sympy.together(expression))))
        if expression.has(sympy.sin, sympy.cos):
            forms.append(sympy.expand(TRpower(expression)))
        forms += [other for form in forms for other in with_plain_terms(form)]
    return min(map(tidy, forms), key=effort_to_read).xreplace(back)


def is_moderate(expression: Any) -> bool:
    """Say whether no number is so large or small that SymPy's polynomials take minutes over it.

    Example:
        >>> import sympy
        >>> [is_moderate(number * sympy.Symbol("x")) for number in (6.6e-34, 1.5e99, 10**50)]
        [True, False, False]
    """
    import sympy

    sizes = [abs(float(number)) for number in expression.atoms(sympy.Number)]
    return all(not size or 1 / MODERATE <= size <= MODERATE for size in sizes)


def effort_to_read(expression: Any) -> tuple[int, bool, bool, int]:
    """Return how many operations an expression has, and what people avoid of equally long ones.

    That is one over a sum with quotients in it, one over a sum of an exponential and a number other
    than 1, and factors of terms.
    """
    import sympy

    below = [
        (one.base, one.exp.is_Integer)
        for one in expression.atoms(sympy.Pow)
        if one.base.is_Add and one.exp.could_extract_minus_sign()
    ]
    double = any(
        one.exp.is_negative for base, whole in below if whole for one in base.atoms(sympy.Pow)
    )
    growth = any(saturates(base) and base.as_coeff_Add()[0] != 1 for base, _ in below)
    terms = (term for one in expression.atoms(sympy.Add) for term in one.args)
    scaled = sum(not term.is_number and abs(term.as_coeff_Mul()[0]) != 1 for term in terms)
    return int(sympy.count_ops(expression)), double, growth, scaled


def saturates(base: Any) -> bool:
    """Say whether a sum is a number and a multiple of an exponential, as in 2 + 3 exp(-x)."""
    import sympy

    number, rest = base.as_coeff_Add()
    return bool(number > 0 and isinstance(rest.as_coeff_Mul()[1], sympy.exp))


def with_plain_terms(expression: Any) -> Iterator[Any]:
    """Yield a product with a power of a sum scaled so that one of its terms has no factor.

    So 0.5 S / (1 + 0.2 S) becomes 2.5 S / (5 + S), and 1 / (0.1 + 2 exp(-S)) becomes
    10 / (1 + 20 exp(-S)), as people write it.

    Example:
        >>> import sympy
        >>> S = sympy.Symbol("S")
        >>> list(with_plain_terms(0.5 * S / (1 + 0.25 * S)))
        [2.0*S/(S + 4.0)]
    """
    import sympy

    coefficient, rest = expression.as_coeff_Mul()
    factors = sympy.Mul.make_args(rest)
    if sum(factor.as_base_exp()[0].is_Add for factor in factors) > 1:
        return
    for index, factor in enumerate(factors):
        base, power = factor.as_base_exp()
        if not (base.is_Add and power.is_number):
            continue
        scales = dict.fromkeys(term.as_coeff_Mul()[0] for term in base.args)
        if factor == expression:
            scales = dict.fromkeys([base.as_coeff_Add()[0]] if saturates(base) else [])
        for scale in scales:
            if scale in (1, -1) or not (scale > 0 or power.is_Integer):
                continue
            pairs = (term.as_coeff_Mul() for term in base.args)
            terms = (1 * r if c == scale else (c / scale) * r for c, r in pairs)
            others = (*factors[:index], *factors[index + 1 :])
            yield sympy.Mul(coefficient * scale**power, *others, sympy.Add(*terms) ** power)
