"""Tables that no formula of the class meets, none of which is exact, and laws, all of which are."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, special

from wug.estimators import ArithmeticRegressor
from wug.estimators.candidate import Candidate, Function
from wug.estimators.exactness import (
    arguments_are_seen,
    has_enough_levels,
    has_enough_rows,
    is_exact,
    leaves_rounding,
    meets,
    num_bends,
)

Table = tuple[np.ndarray, np.ndarray]


def drawn(*ranges: tuple[float, float], num: int = 200) -> np.ndarray:
    low, high = np.reshape(ranges, (-1, 2)).T
    return np.random.default_rng(7).uniform(low, high, (num, len(ranges)))


def whole(num: int, *ranges: tuple[int, int]) -> np.ndarray:
    low, high = np.array(ranges).T
    return np.random.default_rng(7).integers(low, high, (num, len(ranges))).astype(float)


def of(function: Callable[..., np.ndarray], x: np.ndarray) -> Table:
    return x, function(*x.T)


def single(function: Callable[..., np.ndarray], x: np.ndarray) -> Table:
    """The table in single precision, rounded from the true values."""
    rounded = x.astype(np.float32)
    return rounded, function(*rounded.T.astype(float)).astype(np.float32)


def written(digits: int, function: Callable[..., np.ndarray], x: np.ndarray) -> Table:
    """The table as it is written with so many digits."""
    short = np.vectorize(lambda value: float(f"{value:.{digits}g}"))
    x = short(x)
    return x, short(function(*x.T))


def categories(values: list[float], num_others: int = 0) -> Table:
    x = np.column_stack((whole(300, (0, len(values))), drawn(*[(1, 2)] * num_others, num=300)))
    return x, np.array(values)[x[:, 0].astype(int)] * x[:, 1:].prod(1)


def counted(num: int) -> np.ndarray:
    return np.arange(1.0, num + 1)[:, None]


def spoiled(x: np.ndarray, y: np.ndarray, rows: list[int], by: float) -> Table:
    y = y.copy()
    y[rows] += by
    return x, y


def anomaly(mean: np.ndarray, eccentricity: np.ndarray) -> np.ndarray:
    """Kepler's equation: E - e sin E = M."""
    pairs = zip(mean, eccentricity, strict=True)
    return np.array(
        [
            optimize.brentq(lambda v, m=m, e=e: v - e * math.sin(v) - m, -1, 5, xtol=1e-15)
            for m, e in pairs
        ]
    )


def fibonacci(num: int) -> np.ndarray:
    found = [1.0, 1.0]
    while len(found) < num:
        found.append(found[-1] + found[-2])
    return np.array(found)


x1, x2 = drawn((1, 2)), drawn((1, 2), (1, 2))
TABLES: dict[str, Table] = {
    # Narrow ranges, on which short series come close.
    "error function": of(special.erf, drawn((-0.2, 0.2))),
    "gamma": of(special.gamma, drawn((2, 2.1))),
    "Bessel": of(special.j0, drawn((0, 1))),
    "zeta": of(special.zeta, drawn((5, 6))),
    "arctan": of(np.arctan, drawn((0, 0.1))),
    "Lambert": of(lambda x: special.lambertw(x).real, drawn((1, 1.5))),
    "elliptic": of(special.ellipk, drawn((0, 0.1))),
    "Airy": of(lambda x: special.airy(x)[0], drawn((0, 0.3))),
    "angle": of(np.arctan2, drawn((1, 1.05), (1, 1.05))),
    "anomaly": of(anomaly, drawn((0, 3), (0.01, 0.02))),
    "a tail": of(special.ndtr, drawn((6, 8))),
    # Steps and pieces.
    "sign": of(lambda x: np.where(x > 0, 1.0, -1.0), drawn((-1, 1))),
    "sign, far from 0": of(lambda x: 2 + 3.0 * (x > 0), np.sign(drawn((-1, 1))) * x1),
    "rectifier": of(lambda x: np.maximum(x, 0), drawn((-1, 2))),
    "clip": of(lambda x: np.clip(x, -1, 1), drawn((-2, 2))),
    "sign times": of(lambda a, b: np.sign(a) * b, drawn((-1, 1), (-1, 1), num=300)),
    "pieces": of(lambda x: np.where(x < 3, x**2, 9 + 2 * (x - 3)), drawn((0, 6))),
    "another piece": of(lambda x: x + 1e-9 * np.maximum(x - 0.95, 0), drawn((0, 1), num=400)),
    "fraction": of(lambda x: x % 1, drawn((0, 5))),
    "two rows": spoiled(x2, x2.prod(1), [17, 150], 1e-6),
    # Levels and categories.
    "three categories": categories([2.1, -7.3, 0.9]),
    "categories times": categories([1.3, 2.2, 2.7, 9.1, 4.4], 1),
    "four levels": categories([1, 8, 27, 64.001], 1),
    "smaller": of(np.minimum, whole(400, (1, 9), (1, 9))),
    "three phases": (counted(300) / 3, np.resize([2.6, 9.1, 0.0], 300)),
    "square wave": of(lambda x: np.sign(np.sin(0.7 * x)), counted(300)),
    # Whole numbers.
    "divisors": of(lambda a, b: np.gcd(a.astype(int), b.astype(int)) + 0.0,
                   whole(400, (1, 60), (1, 60))),
    "modulo": of(lambda x: x % 7, counted(400)),
    "whole root": of(lambda x: np.floor(np.sqrt(x)), counted(300)),
    "whole quotient": of(lambda a, b: a // b, whole(300, (1, 100), (1, 100))),
    "Fibonacci": (counted(40), fibonacci(40)),
    "factorial": of(special.factorial, counted(20)),
    "harmonic": (counted(100), np.cumsum(1 / counted(100)[:, 0])),
    # Rounded, and in single precision.
    "three decimals": of(lambda x: np.round(x**1.5, 3), drawn((1, 5))),
    "five digits": (drawn((1, 9), (1, 9)).round(4),
                    written(5, lambda a, b: a**2 / b, drawn((1, 9), (1, 9)))[1]),
    "cents": of(lambda x: np.round(0.1975 * x, 2), whole(300, (1, 500))),
    "twelve digits": written(12, special.j0, drawn((1, 1.1))),
    "thirteen digits": written(13, special.erf, drawn((0, 0.3))),
    "single": single(special.erf, drawn((-0.5, 0.5))),
    "single gamma": single(special.gamma, drawn((3, 3.2))),
    # Offsets, scales and duplicates.
    "offset inside": (drawn((0, 1)) + 1e9, special.erf(drawn((0, 1))[:, 0])),
    "offset": of(lambda x: 1e12 + 0.01 * special.j0(x), drawn((0, 3))),
    "scales": of(lambda a, b: 1e-3 * special.erf(a) + 1e9 * b, drawn((0, 1), (0, 1))),
    "duplicates": of(special.erf, np.repeat(drawn((0, 0.5), num=20), 50, 0)),
    "repeated measurements": (np.repeat(x1, 2, 0),
                              np.repeat(3 * x1[:, 0] ** 2, 2) * np.resize([1, 1 + 1e-12], 400)),
}  # fmt: skip
THROUGH = np.array([[a, b, c] for a in (1, 2, 3) for b in (1, 2, 4) for c in (1, 3, 5)], float)
flag = np.column_stack((whole(100, (0, 2)), drawn((1, 5), num=100)))
LAWS: dict[str, tuple[Table, str]] = {
    "gas": (of(lambda n, t, v: 8.314462618 * n * t / v, drawn((1, 5), (200, 400), (1, 9))),
            "8.314462618*x1*x2/x3"),
    "planets": (of(lambda a: a**1.5, drawn((0.1, 40), num=30)), "x1**(3/2)"),
    "saturation": (of(lambda s: 3.7 * s / (1.31 + s), drawn((0.1, 9), num=60)),
                   "37*x1/(10*(x1 + 1.31))"),
    "growth": (of(lambda t: 5.5 / (1 + 7 * np.exp(-0.8 * t)), drawn((-4, 9))),
               "11/(2*(1 + 7*exp(-4*x1/5)))"),
    "damped": (of(lambda t: 2.5 * np.exp(-0.3 * t) * np.cos(4 * t), drawn((0, 9))),
               "5*exp(-3*x1/10)*cos(4*x1)/2"),
    "moving mass": (of(lambda m, v, c: m / np.sqrt(1 - v**2 / c**2), drawn((1, 2), (1, 3), (5, 9))),
                    "x1/sqrt(-x2**2/x3**2 + 1)"),
    "Arrhenius": (of(lambda a, t: a * np.exp(-5000 / t), drawn((1, 9), (280, 400))),
                  "x1*exp(-5000/x2)"),
    "Planck": (of(lambda f, t: f**3 / (np.exp(f / t) - 1), drawn((1, 5), (1, 5))),
               "x1**3/(exp(x1/x2) - 1)"),
    "lens": (of(lambda f, g: f * g / (g - f), drawn((1, 4), (5, 9))), "x1*x2/(-x1 + x2)"),
    "offset": (of(lambda x: 1e9 + 2 * x, drawn((0, 100))), "2*x1 + 1000000000"),
    "far from 0": (of(lambda x: 2 * x**3 - x + 5, drawn((1000, 1010))), "2*x1**3 - x1 + 5"),
    "single": (single(lambda a, b: a**2 / b, drawn((1, 4), (1, 9))), "x1**2/x2"),
    "fourteen digits": (written(14, lambda a, b: 0.7 * a / np.sqrt(b), drawn((1, 4), (1, 9))),
                        "7*x1/(10*sqrt(x2))"),
    "whole numbers": (of(lambda a, b: a * b / 2 + a, whole(200, (1, 90), (1, 90))),
                      "x1*(x2 + 2)/2"),
    "three levels each": (of(lambda a, b, c: a * b**2 / c, THROUGH), "x1*x2**2/x3"),
    "a switch": (of(lambda d, b: 3 * b + 2.1 * d, flag), "21*x1/10 + 3*x2"),
    "duplicates": (of(lambda a, b: a * b**2 + b, np.repeat(drawn((1, 4), (1, 9), num=40), 10, 0)),
                   "x1*x2**2 + x2"),
    "alternating": (of(lambda n: 3 + 2 * (-1.0) ** n, counted(100)), "2*cos(pi*x1) + 3"),
}  # fmt: skip


def fitted(table: Table, seconds: float) -> ArithmeticRegressor:
    return ArithmeticRegressor(time_budget=seconds, random_state=0).fit(*table)


def test_there_are_forty_tables_and_fifteen_laws() -> None:
    assert len(TABLES) >= 40 and len(LAWS) >= 15


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_none_is_exact(name: str) -> None:
    model = fitted(TABLES[name], 3)
    assert model.status_ != "exact" and not any(one.exact for one in model.equations_)


@pytest.mark.parametrize("name", ["sign", "three phases", "cents"])
def test_some_are_not_exact(name: str) -> None:
    assert fitted(TABLES[name], 1).status_ != "exact"


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_laws_are_exact(name: str) -> None:
    table, law = LAWS[name]
    model = fitted(table, 20)
    assert (str(model.expression_), model.status_) == (law, "exact")


@pytest.mark.parametrize("name", ["Arrhenius", "a switch", "three levels each", "alternating"])
def test_some_laws_are_exact(name: str) -> None:
    table, law = LAWS[name]
    model = fitted(table, 20)
    assert (str(model.expression_), model.status_) == (law, "exact")


def plain(exponents: list[list[float]], coefficients: list[float]) -> Candidate:
    return Candidate(
        exponents=np.array(exponents), coefficients=np.array([coefficients]), powers=np.ones(1)
    )


def function(name: str, exponent: float, factor: float) -> Candidate:
    """A function of factor x^exponent."""
    inner = plain([[exponent]], [factor])
    return Candidate(
        exponents=np.array([[0.0, 1.0]]), coefficients=np.ones((1, 1)), powers=np.ones(1),
        functions=(Function(name, inner),),
    )  # fmt: skip


def test_a_saturated_function_is_a_step() -> None:
    x, y = TABLES["sign"]
    step = function("tanh", -1.0, 19.0)
    assert meets(step, x, y) and not arguments_are_seen(step, x, y) and not is_exact(step, x, y)
    bend = function("tanh", 1.0, 5.0)
    x = np.linspace(-10, 10, 200)[:, None]  # saturated for the most part
    assert is_exact(bend, x, np.tanh(5 * x[:, 0]))


def test_inner_functions_have_to_be_seen_as_well() -> None:
    step = function("tanh", -1.0, 19.0)
    outer = Candidate(
        exponents=np.array([[0.0, 1.0]]), coefficients=np.ones((1, 1)), powers=np.ones(1),
        functions=(Function("exp", step),),
    )  # fmt: skip
    x, y = TABLES["sign"]
    assert meets(outer, x, np.exp(y)) and not arguments_are_seen(outer, x, np.exp(y))


def test_errors_of_a_few_roundings_are_no_rounding() -> None:
    """Half of the rows are off by three units: none by eight, and all together by too much."""
    x = drawn((1, 2))
    double = plain([[1.0]], [2.0])
    y = 2 * x[:, 0]
    assert leaves_rounding(double, x, y)
    wrong = y * (1 + 12 * np.finfo(float).eps * np.sign(np.sin(40 * x[:, 0])))
    assert meets(double, x, wrong) and not leaves_rounding(double, x, wrong)


def test_a_curve_through_all_levels_is_no_law() -> None:
    x, y = categories([2.1, -7.3, 0.9], 1)
    through = plain([[0, 1], [1, 1], [2, 1]], [2.1, -18.2, 8.8])
    assert meets(through, x, y) and num_bends(through, 0) == 2
    assert not has_enough_levels(through, x) and not has_enough_rows(through, x)
    more = np.column_stack((whole(300, (0, 4)), x[:, 1]))
    assert has_enough_levels(through, more)


def test_two_levels_are_a_switch_and_no_square() -> None:
    x = np.column_stack((whole(100, (1, 3)), drawn((1, 2), num=100)))
    assert has_enough_levels(plain([[1, 0], [0, 1]], [2.0, 1.0]), x)
    assert not has_enough_levels(plain([[2, 1]], [1.0]), x)
    assert not has_enough_levels(plain([[-1, 1]], [1.0]), x)
    assert has_enough_levels(plain([[1, 1]], [1.0]), np.column_stack((np.full(100, 9.81), x[:, 1])))


def test_three_phases_of_a_wave_are_no_wave() -> None:
    x = counted(300) / 3
    wave, parity = function("sin", 1.0, 2 * np.pi), function("cos", 1.0, np.pi)
    assert not has_enough_levels(wave, x) and has_enough_levels(wave, x / 2.1)
    assert has_enough_levels(parity, counted(100))
    root = replace(parity, powers=np.array([0.5]))
    assert not has_enough_levels(root, counted(100))
