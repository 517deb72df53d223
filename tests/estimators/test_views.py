"""Products without a dimension: every formula of them is one of the inputs with the right unit."""

from __future__ import annotations

import numpy as np
import pytest

from wug.core.errors import UserError
from wug.estimators import ArithmeticRegressor
from wug.estimators.candidate import Candidate, Function
from wug.estimators.data import Data
from wug.estimators.units import Measures, dimension_of
from wug.estimators.views import Columns, groups_of

GENERATOR = np.random.default_rng(0)
X = GENERATOR.uniform(1, 4, (150, 4))
MEASURES = Measures(
    tuple(map(dimension_of, ("kg", "m/s", "m/s^2", "m"))), dimension_of("J")
)  # mass, speed, acceleration, height


def test_groups_have_no_dimension_and_the_product_before_has_the_target_s() -> None:
    ways = groups_of(MEASURES, X, 5)
    assert ways
    for way in ways:
        assert way.exponents.shape == (1, 4)
        assert np.allclose(way.exponents @ MEASURES.matrix, 0)
        assert np.allclose(way.before @ MEASURES.matrix, np.array(MEASURES.target, float))


@pytest.mark.parametrize("power", [1.0, -1.0, 0.5, 2.0])
def test_formulas_of_groups_are_formulas_of_the_inputs(power: float) -> None:
    inner = Candidate(
        exponents=np.array([[1.0]]), coefficients=np.array([[0.3]]), powers=np.ones(1)
    )
    formula = Candidate(
        exponents=np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 0.0]]),
        coefficients=np.array([[1.0, 2.0, 3.0], [0.5, 0.0, 1.0]]),
        powers=np.array([power, 1.0]),
        functions=(Function("exp", inner),),
    )
    data = Data(inputs=X, target=GENERATOR.uniform(1, 2, len(X)))
    for way in groups_of(MEASURES, X, 3):
        seen = way.data(data)
        back = way.back(formula, 4)
        assert MEASURES.allow(back)
        assert np.allclose(back.predict(X), formula.predict(seen.inputs) * way.scale(X))
        # Errors count as they do for the target itself.
        assert np.isclose(seen.loss(formula), data.loss(back))


def test_some_columns_go_back_to_all() -> None:
    view = Columns(np.array([2, 0]))
    product = Candidate(
        exponents=np.array([[1.0, -1.0]]), coefficients=np.ones((1, 1)), powers=np.ones(1)
    )
    assert view.data(Data(inputs=X, target=X[:, 0])).num_inputs == 2
    assert np.allclose(view.back(product, 4).predict(X), X[:, 2] / X[:, 0])


@pytest.mark.parametrize(
    ("units", "target_unit", "law", "text"),
    [
        (("kg", "m/s", "m/s^2", "m"), "J",
         lambda m, v, g, h: m * v**2 / 2 + m * g * h, "x1*(x2**2/2 + x3*x4)"),
        (("J s", "Hz", "J/K", "K"), "J",
         lambda h, f, k, t: h * f / np.expm1(h * f / (k * t)),
         "x1*x2/(exp(x1*x2/(x3*x4)) - 1)"),
        (("kg", "m", "1", "%"), "kg/m3", lambda m, d, a, b: 3 * m / d**3, "3*x1/x2**3"),
    ],
    ids=["energy", "Planck", "one product"],
)  # fmt: skip
def test_laws_are_found_with_units(units, target_unit, law, text) -> None:  # type: ignore[no-untyped-def]
    model = ArithmeticRegressor(
        units=units, target_unit=target_unit, time_budget=20, random_state=0
    ).fit(X, law(*X.T))
    assert (str(model.expression_), model.status_) == (text, "exact")
    measures = Measures(tuple(map(dimension_of, units)), dimension_of(target_unit))
    assert all(measures.allow(one.candidate) for one in model.equations_[1:])


def test_what_can_not_be_true_is_not_found() -> None:
    """Two lengths whose sum is right in numbers have no sum with an area."""
    rows = GENERATOR.uniform(1, 4, (60, 2))
    model = ArithmeticRegressor(
        units=("m", "m"), target_unit="m2", time_budget=3, random_state=0
    ).fit(rows, rows[:, 0] + rows[:, 1])
    assert model.status_ != "exact"


def test_a_factor_with_a_unit() -> None:
    y = 6.674 * X[:, 0] ** 2 / X[:, 3] ** 2
    options = {"units": ("kg", "m/s", "m/s^2", "m"), "target_unit": "N", "time_budget": 5}
    model = ArithmeticRegressor(**options, units_factor=True, random_state=0).fit(X, y)
    assert str(model.expression_) == "6.674*x1**2/x4**2"
    with pytest.raises(UserError, match="one for each input"):
        ArithmeticRegressor(units=("kg",), target_unit="N").fit(X, y)
    with pytest.raises(UserError, match="needs units"):
        ArithmeticRegressor(target_unit="N").fit(X, y)
