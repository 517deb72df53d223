"""Functions are found, and so are the arguments inside of them."""

from collections.abc import Callable

import numpy as np
import pytest
import sympy
import torch

from wug.estimators import ArithmeticRegressor
from wug.estimators.arguments import Argument, arguments, factors
from wug.estimators.data import Data, Effort, Limits
from wug.estimators.polynomial import Polynomial
from wug.estimators.rational import Rational
from wug.estimators.unary import UnaryProducts

EFFORT = Effort(torch.Generator().manual_seed(0), 64, lambda: False)
ALL = Limits(functions=("exp", "log", "sin", "cos", "tanh"))

PRODUCTS: dict[str, tuple[Callable[..., np.ndarray], int]] = {
    "3*exp(-x1/2)": (lambda a: 3 * np.exp(-a / 2), 1),
    "x1*exp(-x2*x3/x4)": (lambda a, b, c, d: a * np.exp(-b * c / d), 4),
    "x1*log(x2/x3)": (lambda a, b, c: a * np.log(b / c), 3),
    "x1*sin(x2)/x3**2": (lambda a, b, c: a * np.sin(b) / c**2, 3),
    "x1*tanh(x2/x3)": (lambda a, b, c: a * np.tanh(b / c), 3),
    "x1/(exp(x2/x3) - 1)": (lambda a, b, c: a / (np.exp(b / c) - 1), 3),
    "exp(-(x1 - x2)**2/2)": (lambda a, b: np.exp(-((a - b) ** 2) / 2), 2),
}


@pytest.mark.parametrize("text", PRODUCTS)
def test_products_with_functions(text: str) -> None:
    function, count = PRODUCTS[text]
    x = np.random.default_rng(0).uniform(1, 3, (120, count))
    data = Data(inputs=x, target=function(*x.T), limits=ALL)
    whole = float(data.target @ data.target)
    best = min(UnaryProducts().solve(data, EFFORT), key=lambda one: data.loss(one))
    assert data.loss(best) < 1e-24 * whole
    far = np.random.default_rng(1).uniform(3, 5, (50, count))
    np.testing.assert_allclose(best.predict(far), function(*far.T), rtol=1e-9)


def test_the_default_grows_only_where_arithmetic_is_refused() -> None:
    x = np.random.default_rng(0).uniform(1, 3, (100, 2))
    plain = ArithmeticRegressor(random_state=0, time_budget=20).fit(x, x[:, 0] / x[:, 1])
    assert not plain.expression_.has(sympy.Function)
    grown = ArithmeticRegressor(random_state=0, time_budget=60).fit(x, x[:, 0] * np.sin(x[:, 1]))
    names = sympy.symbols("x1 x2", real=True)
    assert sympy.simplify(grown.expression_ - names[0] * sympy.sin(names[1])) == 0
    assert grown.status_ == "exact"
    far = torch.tensor([[7.0, 8.0]], dtype=torch.float64)
    assert grown.to_torch()(far).item() == pytest.approx(7 * np.sin(8))
    assert grown.certificate_.exact


@pytest.mark.parametrize(("above", "below"), [([1, 2, 3], [1, -0.3, 0.5]), ([2, 1], [1, 1, 0, 4])])
def test_quotients_of_polynomials(above: list[float], below: list[float]) -> None:
    x = np.linspace(-1, 2, 60)
    target = np.polyval(above[::-1], x) / np.polyval(below[::-1], x)
    data = Data(inputs=x[:, None], target=target)
    found = [c for degree in (1, 2, 3) for c in Rational(degree).solve(data, EFFORT)]
    best = min(data.loss(one) for one in found)
    assert best < 1e-22 * float(target @ target)


def test_arguments_have_no_doubles() -> None:
    found = arguments(3)
    assert len(found) == len(set(found))
    assert Argument((1.0, -1.0, 0.0)) in found and Argument((0.0, 0.0, 1.0), (0, 1)) in found
    values = Argument((0.0, 0.0, -1.0), (0, 1)).formula(2.0).predict(np.array([[5.0, 3.0, 4.0]]))
    assert values.tolist() == [1.0]
    assert 1.0 in factors("sin", np.array([1.0, 2.0]))


def test_interference_of_two_waves_is_found() -> None:
    """Roots beside a function: a + b + 2 sqrt(a b) cos(c), Feynman I.37.4."""
    x = np.random.default_rng(0).uniform(1, 5, (200, 3))
    y = x[:, 0] + x[:, 1] + 2 * np.sqrt(x[:, 0] * x[:, 1]) * np.cos(x[:, 2])
    columns = np.column_stack((x, np.cos(x[:, 2])))
    effort = Effort(torch.Generator(), 8, lambda: False)
    (found,) = Polynomial(3, roots=True).solve(Data(inputs=columns, target=y), effort)
    assert np.allclose(found.predict(columns), y, rtol=1e-12)
    assert np.count_nonzero(found.coefficients) == 3
