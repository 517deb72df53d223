"""The suite of benchmarks/formulas.py: 81 formulas with their data, noisy copies of every fourth.

Within reach is arithmetic: plus, minus, times, divided by, and constant powers. Published formulas
keep their expression and their training ranges; where a list prescribes fewer than 64 rows, there
are 64. Of the 100 formulas of Udrescu and Tegmark (2020; ids as in the paper), those that need
more than arithmetic are in OUT_OF_REACH and those that only differ from an earlier one in names
and constants in REPEATED; of the 52 forms that remain, a lot drew those that are here. Of the
lists of Nguyen and Keijzer, everything arithmetic is here, once.

Inputs are independent and uniform. The test range lies far outside the training range. Noise is
Gaussian, on the training targets alone; its standard deviation is a share of theirs.

The suite was fixed before wug was measured on it; CHANGES lists what changed since.
"""

from __future__ import annotations

import hashlib
import random
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import sympy

Array = npt.NDArray[np.float64]
Range = tuple[float, float]

CHANGES: tuple[str, ...] = ()

CATEGORIES = (
    "sum",
    "signed sum",
    "product",
    "quotient",
    "power or root",
    "sum of products",
    "product of sums",
)
TEST_ROWS = 1_000


@dataclass(frozen=True, kw_only=True)
class Input:
    """A variable and where it is drawn from."""

    name: str
    train: Range
    test: Range


@dataclass(frozen=True, kw_only=True)
class Formula:
    """A formula with its data.

    Args:
        key: Its id.
        source: The published list and the id there, or "own".
        category: One of CATEGORIES.
        expression: The formula, as SymPy reads it.
        inputs: The variables in the order of the columns; some may be irrelevant.
        rows: Number of training rows.
        noise: Standard deviation of the noise as a share of the targets' own.
    """

    key: str
    source: str
    category: str
    expression: str
    inputs: tuple[Input, ...]
    rows: int
    noise: float = 0.0

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [one.name for one in self.inputs]

    @property
    def digest(self) -> str:
        """Changes when the definition does: a record of an older one does not count."""
        return hashlib.sha256(repr(asdict(self)).encode()).hexdigest()[:12]

    def truth(self) -> Any:
        """Return the SymPy expression; its symbols know the signs that the ranges allow."""
        return sympy.sympify(self.expression, locals=symbols(self.inputs))

    def train(self) -> tuple[Array, Array]:
        """Return the training rows, the targets with noise."""
        x, y = self._draw("train", self.rows)
        if not self.noise:
            return x, y
        return x, y + self.noise * y.std() * self._generator("noise").standard_normal(self.rows)

    def test(self) -> tuple[Array, Array]:
        """Return rows far outside the training range, and the true targets."""
        return self._draw("test", TEST_ROWS)

    def _draw(self, split: str, rows: int) -> tuple[Array, Array]:
        low, high = np.array([getattr(one, split) for one in self.inputs]).T
        x = self._generator(split).uniform(low, high, (rows, len(self.inputs)))
        return x, evaluate(self.truth(), self.inputs, x)

    def _generator(self, purpose: str) -> np.random.Generator:
        # A noisy copy has the rows of the original.
        return np.random.default_rng(zlib.crc32(f"{self.key} {purpose}".encode()))


@cache
def symbols(inputs: tuple[Input, ...]) -> dict[str, Any]:
    """Return a real symbol per variable; positive or negative where both ranges are."""
    return {
        one.name: sympy.Symbol(
            one.name,
            real=True,
            positive=min(*one.train, *one.test) >= 0 or None,
            negative=max(*one.train, *one.test) <= 0 or None,
        )
        for one in inputs
    }


def evaluate(expression: Any, inputs: tuple[Input, ...], x: Array) -> Array:
    """Evaluate a SymPy expression on rows; what is not a real number is nan."""
    return evaluate_all([expression], inputs, x)[:, 0]


def evaluate_all(expressions: Sequence[Any], inputs: tuple[Input, ...], x: Array) -> Array:
    """Evaluate expressions on rows, a column each."""
    function = sympy.lambdify(list(symbols(inputs).values()), list(expressions), "numpy")
    with np.errstate(all="ignore"):
        columns = [np.broadcast_to(column, len(x)) for column in function(*x.T)]
    return np.stack([np.where(np.isreal(one), one.real, np.nan) for one in columns], -1)


def over(names: str, train: Range, test: Range | None = None) -> tuple[Input, ...]:
    """Return variables that share their ranges; by default the test range is ten times as far."""
    far = test or (10 * train[0], 10 * train[1])
    return tuple(Input(name=name, train=train, test=far) for name in names.split())


def numbered(count: int, train: Range, test: Range) -> tuple[Input, ...]:
    """Return x1, x2, ... with shared ranges."""
    return over(" ".join(f"x{i + 1}" for i in range(count)), train, test)


def some(count: int, total: int, seed: int) -> list[str]:
    """Return a subset of x1, x2, ..., drawn by lot."""
    chosen = random.Random(seed).sample(range(1, total + 1), count)
    return [f"x{i}" for i in sorted(chosen)]


def slice_sum(first: int, last: int) -> str:
    """Return the sum of x_first to x_last."""
    return "(" + " + ".join(f"x{i}" for i in range(first, last + 1)) + ")"


def own(category: str, key: str, expression: str, inputs: tuple[Input, ...], rows: int) -> Formula:
    """Return a formula of this suite."""
    return Formula(
        key=key, source="own", category=category, expression=expression, inputs=inputs, rows=rows
    )


def published(
    category: str, source: str, expression: str, inputs: tuple[Input, ...], rows: int
) -> Formula:
    """Return a formula of a published list; its id is its key."""
    key = source.lower().replace(" ", "-")
    return Formula(
        key=key, source=source, category=category, expression=expression, inputs=inputs, rows=rows
    )


# The ranges of the single-module benchmark (mistry2022) that defeat most units.
NARROW, NARROW_TEST = (1.1, 1.2), (1.2, 6.0)
NEGATIVE, NEGATIVE_TEST = (-1.2, -1.1), (-6.0, -1.2)
MIXED, MIXED_TEST = (-2.0, 2.0), (2.0, 6.0)
UNIT, UNIT_TEST = (1.0, 2.0), (2.0, 6.0)
FEYNMAN = (1.0, 5.0)

SUMS = (
    own("sum", "sum-2-of-2-narrow", "x1 + x2", numbered(2, NARROW, NARROW_TEST), 64),
    own("sum", "sum-2-of-10-narrow", "x3 + x8", numbered(10, NARROW, NARROW_TEST), 256),
    own("sum", "sum-4-of-8-mixed", "x1 + x4 + x5 + x7", numbered(8, MIXED, MIXED_TEST), 64),
    own("sum", "sum-25-of-100", " + ".join(some(25, 100, 1)),
        numbered(100, UNIT, UNIT_TEST), 1_000),
    own("sum", "sum-50-of-100-mixed", " + ".join(some(50, 100, 2)),
        numbered(100, MIXED, MIXED_TEST), 500),
    own("sum", "sum-3-of-5-negative", "x1 + x2 + x5", numbered(5, NEGATIVE, NEGATIVE_TEST), 128),
    own("sum", "sum-overlapping", f"{slice_sum(1, 5)} + {slice_sum(4, 8)}",
        numbered(20, UNIT, UNIT_TEST), 200),
    own("sum", "mean-4-of-6", "0.25*(x1 + x2 + x4 + x6)",
        numbered(6, (-20, -10), (-200, -20)), 100),
)  # fmt: skip

SIGNED_SUMS = (
    own("signed sum", "difference-narrow", "x1 - x2", numbered(2, NARROW, NARROW_TEST), 64),
    own("signed sum", "difference-2-of-10-negative", "x2 - x9",
        numbered(10, NEGATIVE, NEGATIVE_TEST), 256),
    own("signed sum", "balance-8-of-12", "x1 + x2 + x3 + x4 - x5 - x6 - x7 - x8",
        numbered(12, (0, 1), (5, 10)), 128),
    own("signed sum", "affine-mixed", "3*x1 - 0.5*x2 + 2", numbered(2, MIXED, MIXED_TEST), 64),
    own("signed sum", "balance-20-of-100-mixed",
        f"{' + '.join(some(20, 100, 3)[::2])} - {' - '.join(some(20, 100, 3)[1::2])}",
        numbered(100, (-1, 1), (2, 10)), 1_000),
    own("signed sum", "speed-of-fall", "v - 9.81*t",
        over("v", (0, 50), (50, 500)) + over("t", (0, 5), (5, 50)) + over("m", (1, 10)), 100),
    own("signed sum", "fahrenheit", "1.8*celsius + 32",
        over("celsius", (-40, 50), (50, 500)) + over("pressure humidity", (0, 1), (1, 2)), 64),
    published("signed sum", "korns-1", "1.57 + 24.3*v", over("x y z v w", (-50, 50), (50, 500)),
              10_000),
)  # fmt: skip

PRODUCTS = (
    own("product", "product-2-of-2-narrow", "x1*x2", numbered(2, NARROW, NARROW_TEST), 64),
    own("product", "product-2-of-10-narrow", "x4*x6", numbered(10, NARROW, NARROW_TEST), 256),
    own("product", "product-2-of-2-mixed", "x1*x2", numbered(2, MIXED, MIXED_TEST), 64),
    own("product", "product-3-of-6-mixed", "x1*x3*x6", numbered(6, MIXED, MIXED_TEST), 500),
    own("product", "product-5-of-100", "*".join(some(5, 100, 4)), numbered(100, UNIT, UNIT_TEST),
        2_000),
    own("product", "product-4-of-10-negative", "x1*x5*x8*x10",
        numbered(10, NEGATIVE, NEGATIVE_TEST), 256),
    own("product", "product-8-of-8", "x1*x2*x3*x4*x5*x6*x7*x8", numbered(8, (0.5, 2), (2, 6)),
        1_000),
    own("product", "minus-half-triple", "-0.5*x1*x2*x3", numbered(3, (-5, 5), (5, 50)), 128),
    published("product", "feynman I.14.3", "m*g*z", over("m g z", FEYNMAN), 200),
)  # fmt: skip

QUOTIENTS = (
    own("quotient", "quotient-2-of-2-narrow", "x1/x2", numbered(2, NARROW, NARROW_TEST), 64),
    own("quotient", "quotient-2-of-10-mixed", "x2/x7", numbered(10, MIXED, MIXED_TEST), 1_000),
    own("quotient", "quotient-4-of-6-negative", "x1*x2/(x3*x6)",
        numbered(6, NEGATIVE, NEGATIVE_TEST), 256),
    own("quotient", "quotient-2-of-100", "x17/x71", numbered(100, UNIT, UNIT_TEST), 1_000),
    own("quotient", "ratio-of-sums", "(x1 + x2)/(x5 + x8)", numbered(8, FEYNMAN, (10, 50)), 512),
    published("quotient", "feynman I.12.4", "q1*r/(4*pi*epsilon*r**3)",
              over("q1 epsilon r", FEYNMAN), 256),
    published("quotient", "feynman I.27.6", "1/(1/d1 + n/d2)", over("d1 d2 n", FEYNMAN), 256),
    published("quotient", "feynman I.32.5", "q**2*a**2/(6*pi*epsilon*c**3)",
              over("q a epsilon c", FEYNMAN), 1_000),
    published("quotient", "feynman I.34.8", "q*v*B/p", over("q v B p", FEYNMAN), 128),
    published("quotient", "feynman I.34.10", "omega_0/(1 - v/c)",
              over("c", (3, 10), (21, 30)) + over("v", (1, 2)) + over("omega_0", FEYNMAN), 512),
    published("quotient", "feynman I.38.12", "4*pi*epsilon*(h/(2*pi))**2/(m*q**2)",
              over("m q h epsilon", FEYNMAN), 1_000),
    published("quotient", "feynman I.39.11", "1/(gamma - 1)*pr*V",
              over("gamma", (2, 5)) + over("pr V", FEYNMAN), 256),
    published("quotient", "feynman I.43.43", "1/(gamma - 1)*kb*v/A",
              over("gamma", (2, 5)) + over("kb A v", FEYNMAN), 512),
    published("quotient", "feynman II.3.24", "Pwr/(4*pi*r**2)", over("Pwr r", FEYNMAN), 64),
    published("quotient", "feynman II.4.23", "q/(4*pi*epsilon*r)",
              over("q epsilon r", FEYNMAN), 64),
    published("quotient", "feynman II.11.27", "n*alpha/(1 - (n*alpha/3))*epsilon*Ef",
              over("n alpha", (0, 1), (1.2, 1.7)) + over("epsilon Ef", UNIT, (10, 20)), 2_000),
    published("quotient", "feynman II.21.32", "q/(4*pi*epsilon*r*(1 - v/c))",
              over("q epsilon r", FEYNMAN) + over("v", (1, 2)) + over("c", (3, 10), (21, 30)),
              2_000),
    published("quotient", "feynman II.34.2a", "q*v/(2*pi*r)", over("q v r", FEYNMAN), 128),
    published("quotient", "feynman II.38.14", "Y/(2*(1 + sigma))", over("Y sigma", FEYNMAN), 128),
    published("quotient", "keijzer-5", "30*x*z/((x - 10)*y**2)",
              over("x", (-1, 1), (12, 20)) + over("y", (1, 2)) + over("z", (-1, 1), (5, 10)),
              1_000),
    published("quotient", "keijzer-14", "8/(2 + x**2 + y**2)", over("x y", (-3, 3), (5, 20)), 64),
)  # fmt: skip

POWERS = (
    own("power or root", "square-1-of-2-narrow", "x1**2", numbered(2, NARROW, NARROW_TEST), 64),
    own("power or root", "root-1-of-10", "sqrt(x4)", numbered(10, (0, 2), (2, 20)), 256),
    own("power or root", "cube-times-mixed", "x1**3*x3", numbered(4, MIXED, MIXED_TEST), 200),
    own("power or root", "kepler", "2*pi*sqrt(a**3/mu)", over("a mu", FEYNMAN), 128),
    own("power or root", "hypotenuse-mixed", "sqrt(x1**2 + x2**2)", numbered(2, (-5, 5), (5, 50)),
        256),
    published("power or root", "feynman I.10.7", "m_0/sqrt(1 - v**2/c**2)",
              over("m_0", FEYNMAN) + over("v", (1, 2)) + over("c", (3, 10), (21, 30)), 1_000),
    published("power or root", "feynman I.15.10", "m_0*v/sqrt(1 - v**2/c**2)",
              over("m_0", FEYNMAN) + over("v", (1, 2)) + over("c", (3, 10), (21, 30)), 1_000),
    published("power or root", "feynman I.34.14", "(1 + v/c)/sqrt(1 - v**2/c**2)*omega_0",
              over("c", (3, 10), (21, 30)) + over("v", (1, 2)) + over("omega_0", FEYNMAN), 2_000),
    published("power or root", "feynman I.47.23", "sqrt(gamma*pr/rho)",
              over("gamma pr rho", FEYNMAN), 64),
    published("power or root", "feynman II.6.15a",
              "p_d/(4*pi*epsilon)*3*z/r**5*sqrt(x**2 + y**2)",
              over("epsilon p_d r x y z", (1, 3)), 5_000),
    published("power or root", "feynman III.10.19", "mom*sqrt(Bx**2 + By**2 + Bz**2)",
              over("mom Bx By Bz", FEYNMAN), 1_000),
    published("power or root", "feynman III.15.14", "(h/(2*pi))**2/(2*E_n*d**2)",
              over("h E_n d", FEYNMAN), 256),
    published("power or root", "nguyen-8", "sqrt(x)", over("x", (0, 4), (4, 40)), 64),
)  # fmt: skip

SUMS_OF_PRODUCTS = (
    own("sum of products", "two-products-mixed", "x1*x2 + x5*x9", numbered(10, (-1, 1), (2, 10)),
        256),
    own("sum of products", "two-products-narrow", "x1*x2 + x3*x4",
        numbered(4, NARROW, NARROW_TEST), 1_000),
    own("sum of products", "product-plus-quotient", "x1*x2 + x3/x4",
        numbered(5, FEYNMAN, (10, 50)), 512),
    own("sum of products", "dot-product-5-mixed", "x1*x6 + x2*x7 + x3*x8 + x4*x9 + x5*x10",
        numbered(10, MIXED, MIXED_TEST), 1_000),
    own("sum of products", "projectile", "h + v*t - 0.5*9.81*t**2",
        over("h", (0, 100), (100, 1000)) + over("v", (0, 30), (30, 100))
        + over("t", (0, 5), (5, 20)), 200),
    published("sum of products", "feynman I.11.19", "x1*y1 + x2*y2 + x3*y3",
              over("x1 x2 x3 y1 y2 y3", FEYNMAN), 1_000),
    published("sum of products", "feynman I.13.12", "G*m1*m2*(1/r2 - 1/r1)",
              over("m1 m2 r1 r2 G", FEYNMAN), 2_000),
    published("sum of products", "nguyen-1", "x**3 + x**2 + x", over("x", (-1, 1), (2, 10)), 64),
    published("sum of products", "nguyen-2", "x**4 + x**3 + x**2 + x",
              over("x", (-1, 1), (2, 10)), 64),
    published("sum of products", "nguyen-3", "x**5 + x**4 + x**3 + x**2 + x",
              over("x", (-1, 1), (2, 10)), 64),
    published("sum of products", "nguyen-4", "x**6 + x**5 + x**4 + x**3 + x**2 + x",
              over("x", (-1, 1), (2, 10)), 64),
    published("sum of products", "keijzer-12", "x**4 - x**3 + y**2/2 - y",
              over("x y", (-3, 3), (5, 20)), 64),
    published("sum of products", "keijzer-15", "x**3/5 + y**3/2 - y - x",
              over("x y", (-3, 3), (5, 20)), 64),
    published("sum of products", "jin-1", "2.5*x**4 - 1.3*x**3 + 0.5*y**2 - 1.7*y",
              over("x y", (-3, 3), (5, 20)), 100),
)  # fmt: skip

PRODUCTS_OF_SUMS = (
    own("product of sums", "overlapping-sums-of-10", "(x1 + x2 + x3 + x4)*(x3 + x4 + x5 + x6)",
        numbered(10, UNIT, UNIT_TEST), 512),
    own("product of sums", "sum-times-difference-mixed", "(x1 + x2)*(x3 - x4)",
        numbered(4, MIXED, MIXED_TEST), 128),
    own("product of sums", "shifted-product-mixed", "(x1 + 0.5)*(x2 - 3)",
        numbered(3, (-5, 5), (5, 50)), 64),
    own("product of sums", "three-sums", "(x1 + x2)*(x3 + x4)*(x5 + x6)",
        numbered(6, (1, 3), (10, 30)), 1_000),
    own("product of sums", "trapezoid-over-depth", "0.5*(x1 + x2)*x3/x6",
        numbered(6, FEYNMAN, (10, 50)), 256),
    published("product of sums", "madsen2020 two-layer", f"{slice_sum(1, 25)}*{slice_sum(14, 38)}",
              numbered(100, UNIT, UNIT_TEST), 10_000),
    published("product of sums", "feynman I.24.6", "1/2*m*(omega**2 + omega_0**2)*1/2*x**2",
              over("m omega omega_0 x", (1, 3)), 512),
    published("product of sums", "feynman II.37.1", "mom*(1 + chi)*B", over("mom B chi", FEYNMAN),
              128),
)  # fmt: skip

SUITE = (
    *SUMS, *SIGNED_SUMS, *PRODUCTS, *QUOTIENTS, *POWERS, *SUMS_OF_PRODUCTS, *PRODUCTS_OF_SUMS,
)  # fmt: skip
NOISY = {share: tuple(replace(one, noise=share) for one in SUITE[::4]) for share in (0.01, 0.05)}

# One id per form, in the order of the list. The lot draws from these.
FEYNMAN_FORMS = (
    "I.8.14", "I.9.18", "I.10.7", "I.11.19", "I.12.1", "I.12.2", "I.12.4", "I.13.4", "I.13.12",
    "I.14.3", "I.14.4", "I.15.3x", "I.15.3t", "I.15.10", "I.16.6", "I.18.4", "I.24.6", "I.25.13",
    "I.27.6", "I.32.5", "I.32.17", "I.34.8", "I.34.10", "I.34.14", "I.38.12", "I.39.11", "I.43.43",
    "I.47.23", "I.48.20", "II.2.42", "II.3.24", "II.4.23", "II.6.15a", "II.8.7", "II.10.9",
    "II.11.3", "II.11.20", "II.11.27", "II.11.28", "II.13.17", "II.21.32", "II.24.17", "II.27.16",
    "II.34.2a", "II.34.29b", "II.36.38", "II.37.1", "II.38.14", "III.10.19", "III.13.18",
    "III.15.14", "III.19.51",
)  # fmt: skip
DRAWN = tuple(random.Random(0).sample(FEYNMAN_FORMS, 26))
REPEATED = {
    "I.12.5": "I.12.1", "I.29.4": "I.25.13", "I.34.27": "I.12.1", "I.39.10": "I.12.1",
    "I.39.22": "I.34.8", "I.43.16": "I.34.8", "I.43.31": "I.14.3", "II.8.31": "I.14.4",
    "II.13.23": "I.10.7", "II.13.34": "I.15.10", "II.27.18": "I.14.4", "II.34.2": "I.14.3",
    "II.34.11": "I.34.8", "II.34.29a": "II.34.2a", "II.38.3": "I.34.8", "III.7.38": "II.34.2a",
    "III.12.43": "I.12.1", "III.15.27": "II.4.23", "III.21.20": "I.34.8",
}  # fmt: skip
OUT_OF_REACH = {
    **dict.fromkeys(
        (f"feynman {key}" for key in (
            "I.6.20", "I.6.20a", "I.6.20b", "I.40.1", "I.41.16", "II.35.18", "III.4.32",
            "III.4.33", "III.14.14",
        )), "exp"),
    **dict.fromkeys(
        (f"feynman {key}" for key in (
            "I.12.11", "I.18.12", "I.18.14", "I.29.16", "I.30.3", "I.37.4", "I.50.26", "II.6.11",
            "II.6.15b", "II.11.17", "II.15.4", "II.15.5", "III.8.54", "III.9.52", "III.15.12",
            "III.17.37",
        )), "sin or cos"),
    **dict.fromkeys(("feynman I.26.2", "feynman I.30.5"), "arcsin"),
    "feynman I.44.4": "log",
    "feynman II.35.21": "tanh",
    **dict.fromkeys((f"nguyen-{i}" for i in (5, 6, 9, 10)), "sin or cos"),
    "nguyen-7": "log",
    **dict.fromkeys(("nguyen-11", "keijzer-10"), "a variable as exponent"),
    **dict.fromkeys((f"keijzer-{i}" for i in (1, 2, 3, 11, 13)), "sin or cos"),
    "keijzer-4": "exp, sin and cos",
    "keijzer-6": "a sum whose length is the input",
    "keijzer-7": "log",
    "keijzer-9": "arsinh",
}  # fmt: skip
# The same formula as another one that is here.
TWICE = {"nguyen-12": "keijzer-12", "keijzer-8": "nguyen-8"}
