"""Weights, relative errors, wrong rows, many columns: what measurements bring."""

import numpy as np
import pytest
import sympy

from wug.core.errors import UserError
from wug.estimators import ArithmeticRegressor
from wug.estimators.data import Data
from wug.estimators.robust import spread_of
from wug.estimators.screening import views

X = np.random.default_rng(0).uniform(1, 5, (200, 3))
LAW = X[:, 0] * X[:, 1] / X[:, 2]


def model(**options: object) -> ArithmeticRegressor:
    return ArithmeticRegressor(random_state=0, functions=(), **options)


def test_five_wrong_rows_are_named() -> None:
    wrong = [3, 50, 77, 120, 199]
    target = LAW.copy()
    target[wrong] *= 10
    found = model(robust=True, time_budget=30).fit(X, target)
    assert str(found.expression_) == "x1*x2/x3" and found.outliers_.tolist() == wrong
    assert found.status_ == "exact"


@pytest.mark.parametrize("level", [0.01, 0.1])
def test_relative_noise_makes_no_outliers(level: float) -> None:
    """Rows of 125 are off by more than rows of 1, and belong for all that."""
    generator = np.random.default_rng(11)
    wrong = np.sort(generator.permutation(200)[:5])
    target = X[:, 0] ** 2 * X[:, 1] * (1 + level * generator.normal(size=200))
    target[wrong] *= 10
    found = model(robust=True, time_budget=5).fit(X, target)
    assert found.outliers_.tolist() == wrong.tolist()
    assert str(found.expression_) == "x1**2*x2" and found.status_ == "noisy"


def test_the_spread_is_a_line_only_where_errors_grow() -> None:
    """Known deviations: 1, and a tenth of the size; an eighth of the rows is wrong by far."""
    generator = np.random.default_rng(12)
    size = generator.uniform(0, 100, 4000)
    noise = np.abs(generator.normal(size=4000))
    wrong = np.where(np.arange(4000) % 8, 0.0, 1e4)
    for scale in (np.ones(4000), 0.1 * size):
        spread = spread_of(scale * noise + wrong, size)
        near = size > 20
        assert np.allclose(spread[near], scale[near], rtol=0.4)
    assert np.ptp(spread_of(noise[:40], size[:40])) == 0


def test_rows_without_weight_do_not_count() -> None:
    target = LAW.copy()
    target[:50] = 7.0
    weight = np.ones(200)
    weight[:50] = 0.0
    found = model(time_budget=20).fit(X, target, sample_weight=weight)
    assert str(found.expression_) == "x1*x2/x3" and found.status_ == "exact"
    with pytest.raises(ValueError, match="non-zero"):
        model().fit(X, target, sample_weight=np.zeros(200))


def test_a_row_without_weight_is_a_row_that_is_not_there() -> None:
    generator = np.random.default_rng(0)
    rows = generator.uniform(1, 5, (60, 2))
    target = 2.3 * rows[:, 0] / rows[:, 1] + 0.05 * generator.normal(size=60)
    weight = np.where(np.arange(60) % 6, 1.0, 0.0)
    used = weight > 0
    weighted = model(time_budget=2).fit(rows, target, sample_weight=weight)
    without = model(time_budget=2).fit(rows[used], target[used])
    assert weighted.expression_ == without.expression_
    assert weighted.constants_ == without.constants_ and weighted.constants_


def test_relative_errors_over_six_decades() -> None:
    generator = np.random.default_rng(1)
    a = 10 ** generator.uniform(-3, 3, (100, 1))
    target = a[:, 0] ** 1.5 * (1 + 0.01 * generator.normal(size=100))
    found = model(loss="relative", time_budget=20).fit(a, target)
    assert str(found.expression_) == "x1**(3/2)" and found.status_ == "noisy"


def test_numbers_have_standard_errors() -> None:
    noise = np.random.default_rng(2).normal(size=200)
    found = model(time_budget=20).fit(X[:, :1], 3.3719 * X[:, 0] ** 2 + 0.5 * noise)
    [constant] = found.constants_
    # The exact standard error of a slope through the origin.
    expected = 0.5 / np.sqrt(np.sum(X[:, 0] ** 4))
    assert constant.standard_error == pytest.approx(expected, rel=0.2)
    assert abs(constant.value - 3.3719) < 4 * expected


def test_three_columns_of_many() -> None:
    x = np.random.default_rng(3).uniform(1, 5, (100, 200))
    found = model(time_budget=20).fit(x, x[:, 3] * x[:, 77] / x[:, 150])
    assert str(found.expression_) == "x4*x78/x151" and found.status_ == "exact"
    sums = np.random.default_rng(4).uniform(1, 5, (300, 150))
    found_sets = views(Data(inputs=sums, target=sums[:, 3] * sums[:, 77] + sums[:, 90] ** 2), 6)
    assert any({3, 77, 90} <= set(indices.tolist()) for indices in found_sets)


def test_the_front_has_the_best_of_each_size() -> None:
    """Kepler's planets, distances in astronomical units and years."""
    a = np.array([0.387, 0.723, 1, 1.524, 5.203, 9.537, 19.191, 30.069, 39.482])
    years = np.array([0.241, 0.615, 1, 1.881, 11.862, 29.457, 84.011, 164.79, 247.68])
    front = model(time_budget=10).fit(a[:, None], years).equations_
    assert "x1**(3/2)" in [str(one) for one in front]
    small = [one for one in front if one.complexity <= 3]
    assert min(one.error for one in small) < 0.2


def test_the_front_as_people_know_it() -> None:
    noise = np.random.default_rng(5).normal(size=200)
    found = model(time_budget=5).fit(X, LAW + 0.05 * noise)
    front = found.equations_
    for index, equation in enumerate(front):
        np.testing.assert_array_equal(found.predict(X, index=index), equation.candidate.predict(X))
    with pytest.raises(UserError, match="index must be below"):
        found.predict(X, index=99)
    for wrong in (1.5, "1", True):
        with pytest.raises(UserError, match="index must be a whole number"):
            found.predict(X, index=wrong)
    np.testing.assert_array_equal(found.predict(X, index=np.int64(0)), found.predict(X, index=0))
    lines = repr(front).splitlines()
    assert lines[0].split() == ["size", "error", "formula"] and len(lines) == len(front) + 1
    assert [line[0] for line in lines].index(">") == front.chosen + 1
    rows = front.rows()
    assert [row["complexity"] for row in rows] == sorted(row["complexity"] for row in rows)
    assert sum(row["chosen"] for row in rows) == 1
    assert found.latex_table().startswith(r"\begin{tabular}")
    assert "<table>" in found._repr_html_()
    accurate = model(time_budget=5, model_selection="accuracy").fit(X, LAW + 0.05 * noise)
    assert accurate.equations_.chosen == len(accurate.equations_) - 1


def test_a_second_fit_starts_warm_and_forgets_the_certificate() -> None:
    found = model(time_budget=20, warm_start=True).fit(X, LAW)
    first = str(found.certificate_)
    found.fit(X, 2 * X[:, 0])
    assert str(found.certificate_) != first and "2*x1" in str(found.certificate_)


def test_an_interrupt_keeps_the_front(monkeypatch: pytest.MonkeyPatch) -> None:
    from wug.estimators.sums import Sums

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Sums, "solve", interrupt)
    found = model(time_budget=20).fit(X, np.sin(3 * X[:, 0]) * X[:, 1])
    assert found.interrupted_ and len(found.equations_) > 1
    assert np.isfinite(found.predict(X)).all()


def test_certificates_know_only_the_inputs_of_the_formula() -> None:
    x = np.column_stack((np.arange(40.0), np.random.default_rng(6).uniform(5, 50, 40)))
    found = model(time_budget=20).fit(x, 1406 / x[:, 1])
    assert str(found.expression_) == "1406/x2" and found.status_ == "exact"
    assert "nan" not in str(found.certificate_) and "x1" not in str(found.certificate_)
    assert not found.certificate_.bounds[0].reason


def test_certificates_and_standard_errors_are_of_all_rows() -> None:
    generator = np.random.default_rng(7)
    x = np.sort(generator.uniform(1, 23, 10_000))
    wrong = [9_990, 9_995]
    target = 3.37 * x + generator.normal(size=10_000)
    x[wrong] = 500.0
    found = model(time_budget=3, robust=True).fit(x[:, None], target)
    assert set(wrong) <= set(found.outliers_)
    low, high = found.certificate_.box["x1"]
    assert low == pytest.approx(0.1, rel=1e-2) and high == pytest.approx(12 + 110, rel=1e-2)
    slope = max(found.constants_, key=lambda one: abs(one.value))
    expected = 1 / np.sqrt(np.sum(np.delete(x, wrong) ** 2))
    assert slope.standard_error == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("selection", ["best", "accuracy", "score"])
def test_the_status_is_that_of_the_chosen_formula(selection: str) -> None:
    a, b, c = X.T
    target = 7.3 * a * (1 + 1e-6 * b * c)
    found = model(model_selection=selection, time_budget=6).fit(X, target)
    chosen = found.equations_[found.equations_.chosen]
    assert (found.status_ == "exact") == chosen.exact
    assert found.status_ == ("approximate" if selection == "score" else "exact")


def test_a_warm_start_with_other_inputs_begins_anew() -> None:
    found = model(time_budget=20, warm_start=True).fit(X, LAW)
    found.fit(X[:, :2], X[:, 0] * X[:, 1])
    assert str(found.expression_) == "x1*x2" and found.status_ == "exact"


def test_one_term_is_no_sum_anywhere() -> None:
    for target in (X[:, 0] + X[:, 1], X[:, 0] / (np.exp(X[:, 1]) - 1)):
        options = {"time_budget": 4, "max_terms": 1, "random_state": 0}
        found = ArithmeticRegressor(functions=("exp", "tanh"), **options).fit(X, target)
        for one in found.equations_:
            assert not one.expression.has(sympy.Add), str(one)


@pytest.mark.parametrize("most", [2, 3])
def test_no_sum_has_more_terms_than_allowed(most: int) -> None:
    """Not the polynomial of the sum of four inputs either, nor what is below a root."""
    x = np.random.default_rng(8).uniform(1, 3, (150, 4))
    inside = np.sqrt(x[:, 0] + x[:, 1] + x[:, 2] + 1) * np.exp(x[:, 3])
    for target in (x.sum(1), (x[:, 0] - 1) ** 4 * x[:, 1], inside):
        options = {"time_budget": 3, "max_terms": most, "random_state": 0}
        found = ArithmeticRegressor(functions=("exp", "sin"), **options).fit(x, target)
        for one in found.equations_:
            sums = one.expression.atoms(sympy.Add)
            assert all(len(added.args) <= most for added in sums), str(one)
    fourth = ArithmeticRegressor(max_terms=4, time_budget=5, random_state=0).fit(x, x.sum(1))
    assert str(fourth.expression_) == "x1 + x2 + x3 + x4" and fourth.status_ == "exact"
