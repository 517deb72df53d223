"""The regressor as its users meet it."""

import pickle
from typing import Any

import numpy as np
import pytest
import sympy
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from wug.core.errors import UserError
from wug.estimators import ArithmeticRegressor, score_formula


def rows(num: int = 200, inputs: int = 3, low: float = 1.0, high: float = 4.0) -> Any:
    return np.random.default_rng(0).uniform(low, high, (num, inputs))


def model(**options: Any) -> ArithmeticRegressor:
    return ArithmeticRegressor(random_state=0, **options)


@pytest.mark.parametrize(
    ("formula", "low", "high"),
    [
        ("x1 - 2*x3 + 1/2", -3, 3),
        ("x1*x2", 1.1, 1.2),
        ("x1/x2", -2, 2),
        ("x1*x2*x3", -1.2, -1.1),
        ("2*x1**3/sqrt(x2)", 1, 4),
        ("x1*x2 - 3*x3", -2, 2),
        ("(x1 + x2)/(x1 + x3)", 1, 4),
        ("x1/(1 + x2)", 1, 4),
        ("sqrt(x1**2 + x2**2)", 1, 4),
        ("5", 1, 4),
    ],
)
def test_it_finds_the_rule(formula: str, low: float, high: float) -> None:
    x = rows(low=low, high=high)
    names = sympy.symbols("x1 x2 x3", real=True)
    truth = sympy.sympify(formula, locals={str(name): name for name in names})
    y = np.broadcast_to(sympy.lambdify(names, truth)(*x.T), len(x))
    found = model().fit(x, y)
    assert found.status_ == "exact"
    assert sympy.simplify(found.expression_ - truth) == 0
    outside = rows(50, low=5, high=50)
    expected = np.broadcast_to(sympy.lambdify(names, truth)(*outside.T), 50)
    np.testing.assert_allclose(found.predict(outside), expected, rtol=1e-9)


def test_the_overlapping_product_of_a_hundred_inputs() -> None:
    x = rows(1000, 100, 1, 2)
    found = model().fit(x, x[:, 10:35].sum(1) * x[:, 23:48].sum(1))
    far = rows(20, 100, 2, 6)
    np.testing.assert_allclose(
        found.predict(far), far[:, 10:35].sum(1) * far[:, 23:48].sum(1), rtol=1e-12
    )


def test_noise_leaves_the_rule() -> None:
    x = rows(300)
    noise = np.random.default_rng(1).normal(size=300)
    y = x[:, 0] * x[:, 1] / x[:, 2]
    found = model().fit(x, y + 0.01 * y.std() * noise)
    assert found.status_ == "noisy"
    assert str(sympy.nsimplify(found.expression_, rational=True, tolerance=0.02)) == "x1*x2/x3"


def test_no_formula_is_said_to_be_none() -> None:
    x = rows(150)
    noise = np.random.default_rng(1).normal(size=150)
    assert model(time_budget=5).fit(x, noise).status_ == "none"
    forest = RandomForestRegressor(20, max_depth=4, random_state=0).fit(x, noise + 3 * x[:, 0])
    found = model(time_budget=5).fit(x, forest.predict(x))
    assert found.status_ in ("incomplete", "noisy") and found.status_ != "exact"


def test_the_front_gets_better_as_it_gets_larger() -> None:
    x = rows()
    front = model().fit(x, x[:, 0] * x[:, 1] + 0.1 * x[:, 2] ** 2).equations_
    sizes, errors = [e.complexity for e in front], [e.error for e in front]
    assert sizes == sorted(set(sizes)) and errors == sorted(errors, reverse=True)


def test_operations_are_kept_to() -> None:
    x = rows()
    y = x[:, 0] / x[:, 1]
    for equation in (
        model(operations=("add", "sub", "mul", "pow"), time_budget=3).fit(x, y).equations_
    ):
        assert (equation.candidate.exponents >= 0).all()
    linear = model(operations=("add", "sub"), time_budget=3).fit(x, y).expression_
    assert sympy.Poly(linear, *linear.free_symbols).total_degree() == 1
    small = model(max_exponent=1, operations=("mul", "div"), time_budget=3).fit(x, x[:, 0] ** 3)
    assert abs(small.equations_[-1].candidate.exponents).max() <= 1
    with pytest.raises(UserError, match="operations must be among add, sub"):
        model(operations=("sin",)).fit(x, y)


def test_it_lives_among_scikit_learns_tools() -> None:
    x = rows(80)
    y = x[:, 0] * x[:, 1]
    piped = make_pipeline(FunctionTransformer(), model()).fit(x, y)
    assert piped.score(x, y) == 1.0
    grid = GridSearchCV(model(time_budget=3), {"max_terms": [1, 2]}, cv=2).fit(x, y)
    assert grid.best_score_ == 1.0
    fitted = model().fit(x, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.expression_ == fitted.expression_
    assert clone(fitted).get_params() == fitted.get_params()


def test_several_outputs() -> None:
    x = rows(80)
    found = model().fit(x, np.stack((x[:, 0] * x[:, 1], x[:, 2] - 1), 1))
    assert [str(e) for e in found.expression_] == ["x1*x2", "x3 - 1"]
    assert found.predict(x).shape == (80, 2)
    assert found.status_ == ["exact", "exact"] and len(found.latex_) == 2


def test_better_formulas_are_reported_as_they_come(capsys: pytest.CaptureFixture[str]) -> None:
    x = rows(80)
    seen: list[Any] = []
    model(verbose=1).fit(x, x[:, 0] / x[:, 1], on_better=seen.append)
    assert str(seen[-1]) == "x1/x2"
    assert "x1/x2" in capsys.readouterr().out


def test_scores_of_your_own_formula() -> None:
    x = rows()
    score = score_formula("a*b + 3", x[:, :2], x[:, 0] * x[:, 1] + 3, names=["a", "b"])
    assert score["r2"] == 1.0 and score["largest_error"] == 0.0
    assert score_formula("sqrt(1 - x1)", x, x[:, 0])["undefined"] == 1.0
    with pytest.raises(UserError, match="unknown input 'x9'; the inputs are x1, x2, x3"):
        score_formula("x9", x, x[:, 0])
    with pytest.raises(UserError, match="is not a formula"):
        score_formula("x1 +* 2", x, x[:, 0])
