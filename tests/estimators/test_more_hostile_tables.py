"""More tables that no formula of the class meets, and laws: whole numbers, few digits, few rows."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import special

from wug.estimators import ArithmeticRegressor, score_formula

Table = tuple[np.ndarray, np.ndarray]


def drawn(num: int, *ranges: tuple[float, float]) -> np.ndarray:
    low, high = np.array(ranges).T
    return np.random.default_rng(17).uniform(low, high, (num, len(ranges)))


def whole(num: int, *ranges: tuple[int, int]) -> np.ndarray:
    low, high = np.array(ranges).T
    return np.random.default_rng(17).integers(low, high, (num, len(ranges))).astype(float)


def line(low: float, high: float, num: int) -> np.ndarray:
    return np.linspace(low, high, num)[:, None]


def of(function: Callable[..., np.ndarray], x: np.ndarray) -> Table:
    return x, function(*x.T)


def digits(num: int, table: Table) -> Table:
    x, y = (np.vectorize(lambda v: float(f"{v:.{num}g}"))(one) for one in table)
    return x, y


TABLES: dict[str, Table] = {
    # Special functions, on narrow ranges and of few rows.
    "erf, far out": of(special.erf, line(2.5, 3.0, 120)),
    "Dawson": of(special.dawsn, line(0, 0.2, 150)),
    "sine integral": of(lambda x: special.sici(x)[0], line(0.01, 0.4, 150)),
    "digamma": of(special.digamma, line(10, 11, 200)),
    "log gamma": of(special.gammaln, line(50, 60, 200)),
    "zeta, near 1": of(special.zeta, line(1.01, 1.1, 200)),
    "Bessel of order 1": of(special.j1, line(0, 0.3, 80)),
    "modified Bessel": of(special.i0, line(0, 0.4, 100)),
    "Lambert, near -1/e": of(lambda x: special.lambertw(x).real, line(-0.367, -0.3, 150)),
    "elliptic of the second kind": of(special.ellipe, line(0, 0.05, 200)),
    "pendulum": of(lambda a, b: a * special.ellipk(b), drawn(120, (1, 2), (0, 0.02))),
    "beta": of(special.beta, drawn(100, (2, 2.2), (3, 3.2))),
    "Struve": of(lambda x: special.struve(0, x), line(0, 0.3, 100)),
    "binomials": of(lambda n: special.binom(n, n // 2), np.arange(1.0, 26)[:, None]),
    # Pieces, waves and whole numbers.
    "triangle wave": of(lambda x: np.abs(x % 2 - 1), line(0, 9, 200)),
    "ramp": of(lambda x: np.clip(3 * x, 1, 5), line(0, 3, 90)),
    "exclusive or": of(lambda a, b: np.bitwise_xor(a.astype(int), b.astype(int)) + 0.0,
                       whole(200, (0, 9), (0, 9))),
    "digit sums": of(lambda n: n % 10 + n // 10, whole(150, (1, 100))),
    "larger squared": of(lambda a, b: np.maximum(a, b) ** 2, whole(60, (1, 6), (1, 6))),
    "bits": of(lambda n: np.floor(np.log2(n)), np.arange(1.0, 129)[:, None]),
    "primes": (np.arange(1.0, 26)[:, None],
               np.array([n for n in range(2, 98) if all(n % d for d in range(2, n))], float)),
    # Few digits, few levels, few rows.
    "three digits": digits(3, of(lambda a, b: a / b, drawn(200, (1, 9), (1, 9)))),
    "six digits": digits(6, of(lambda x: np.exp(-x), line(0, 2, 120))),
    "four levels": of(lambda a, b: special.j0(a) * b,
                      np.column_stack((np.resize([1.0, 2, 3, 4], 100), drawn(100, (1, 5))))),
    "six rows": of(lambda a, b: special.gamma(a) + b, drawn(6, (1, 3), (1, 3))),
}  # fmt: skip
# Of these the inputs were rounded, too, or what is left is as irregular as noise.
LIKE_NOISE = ("three digits", "six digits", "primes")
LAWS: dict[str, tuple[Table, str]] = {
    "Ohm": (of(lambda u, r: u / r, whole(60, (1, 50), (1, 20))), "x1/x2"),
    "pendulum": (of(lambda g, s: 2 * np.pi * np.sqrt(s / g), drawn(80, (1, 20), (0.1, 3))),
                 "2*pi*sqrt(x2)/sqrt(x1)"),
    "kinetic energy": (of(lambda m, v: m * v**2 / 2, drawn(40, (1, 5), (1, 30))), "x1*x2**2/2"),
    "triangle numbers": (of(lambda n: n * (n + 1) / 2, np.arange(1.0, 51)[:, None]),
                         "x1*(x1 + 1)/2"),
    "Celsius": (of(lambda f: (f - 32) * 5 / 9, whole(50, (-40, 200))), "5*(x1 - 32)/9"),
    "radioactive": (of(lambda n, t: n * np.exp(-0.31 * t), drawn(120, (1, 9), (0, 9))),
                    "x1*exp(-31*x2/100)"),
    "sound": (of(lambda i: 10 * np.log(i), drawn(80, (0.5, 90))), "10*log(x1)"),
    "parallel": (of(lambda a, b: a * b / (a + b), drawn(70, (1, 9), (1, 9))), "x1*x2/(x1 + x2)"),
    "hypotenuse": (of(np.hypot, whole(90, (1, 40), (1, 40))), "sqrt(x1**2 + x2**2)"),
    "range": (of(lambda v, a: v**2 * np.sin(2 * a) / 9.81, drawn(150, (1, 9), (0.1, 1.4))),
              "x1**2*sin(2*x2)/9.81"),
}  # fmt: skip


def fitted(table: Table, seconds: float) -> ArithmeticRegressor:
    return ArithmeticRegressor(time_budget=seconds, random_state=0).fit(*table)


def test_there_are_twenty_five_tables_and_ten_laws() -> None:
    assert len(TABLES) == 25 and len(LAWS) == 10


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_none_is_exact_nor_noisy(name: str) -> None:
    model = fitted(TABLES[name], 2)
    assert not any(one.exact for one in model.equations_)
    assert model.status_ != "exact" and (name in LIKE_NOISE or model.status_ != "noisy")


@pytest.mark.parametrize("name", ["digamma", "four levels", "six rows"])
def test_some_are_neither_exact_nor_noisy(name: str) -> None:
    assert fitted(TABLES[name], 1).status_ not in ("exact", "noisy")


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_laws_are_exact(name: str) -> None:
    table, law = LAWS[name]
    model = fitted(table, 20)
    assert model.status_ == "exact"
    assert score_formula(law, table[0], model.predict(table[0]))["r2"] > 1 - 1e-12


@pytest.mark.parametrize("name", ["Ohm", "Celsius", "parallel"])
def test_some_laws_are_exact(name: str) -> None:
    table, law = LAWS[name]
    model = fitted(table, 10)
    assert model.status_ == "exact"
    outside = 3 * table[0]
    assert score_formula(law, outside, model.predict(outside))["r2"] > 1 - 1e-12
