"""A fit as JSON: what is read predicts what was written."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wug.core.errors import UserError
from wug.estimators.candidate import Candidate
from wug.estimators.saved import (
    FILE_NAME,
    MEANINGS,
    NamedRegressor,
    SavedFit,
    read_fit,
    sample,
    to_json,
)

ROWS = np.random.default_rng(0).uniform(1, 5, (80, 3))
COLUMNS = ("mass [kg]", "b", "c")


@pytest.fixture(scope="module")
def model() -> NamedRegressor:
    """A fit of a noisy 3 a / b."""
    noise = np.random.default_rng(1).normal(size=80)
    target = 3 * ROWS[:, 0] / ROWS[:, 1] + 0.01 * noise
    names = ("mass_kg", "b", "c")
    return NamedRegressor(names, time_budget=20, random_state=0).fit(ROWS, target)


def test_round_trip(model: NamedRegressor, tmp_path: Path) -> None:
    data = to_json(model, COLUMNS, "y", ROWS, ROWS[:, 0])
    (tmp_path / FILE_NAME).write_text(json.dumps(data), encoding="utf-8")
    fit = read_fit(tmp_path)
    assert (fit.target, fit.columns, fit.expression) == ("y", COLUMNS, str(model.expression_))
    far = np.random.default_rng(2).uniform(-1e6, 1e6, (50, 3))
    np.testing.assert_array_equal(fit.predict(far), model.equation_.candidate.predict(far))


def test_some_rows_are_kept(model: NamedRegressor) -> None:
    kept = to_json(model, COLUMNS, "y", ROWS, ROWS[:, 0])["sample"]
    assert list(kept["inputs"]) == list(COLUMNS)
    assert kept["measured"] == ROWS[:, 0].tolist()
    np.testing.assert_array_equal(kept["predicted"], model.equation_.candidate.predict(ROWS))


def test_kept_rows_are_few_finite_and_spread_over_all() -> None:
    inverse = Candidate(
        exponents=np.array([[-1.0]]), coefficients=np.array([[1.0]]), powers=np.ones(1)
    )
    x = np.arange(1001.0)[:, None]
    kept = sample(inverse, ["x"], x, x[:, 0], most=201)
    # The first row is undefined: 1 / 0.
    assert kept["inputs"]["x"] == kept["measured"] == [5.0 * i for i in range(1, 201)]
    assert kept["predicted"] == [1 / value for value in kept["measured"]]
    nothing = sample(inverse, ["x"], np.zeros((3, 1)), np.ones(3), most=2)
    assert nothing == {"inputs": {"x": []}, "measured": [], "predicted": []}


def test_names_are_those_of_the_columns(model: NamedRegressor) -> None:
    assert {str(symbol) for symbol in model.expression_.free_symbols} == {"mass_kg", "b"}
    assert model.status_ in MEANINGS


def test_predictions_are_finite_or_nan() -> None:
    inverse = Candidate(
        exponents=np.array([[-1.0, 0.0]]), coefficients=np.array([[1.0]]), powers=np.array([0.5])
    )
    fit = SavedFit(target="y", columns=("a", "b"), expression="a**(-1/2)", candidate=inverse)
    assert fit.needed == [0]
    rows = np.array([[4.0, np.nan], [0.0, 1.0], [-1.0, 1.0]])
    np.testing.assert_array_equal(fit.predict(rows), [0.5, np.nan, np.nan])


@pytest.mark.parametrize("missing", ["target", "columns", "expression", "weights"])
def test_damage_is_said(model: NamedRegressor, missing: str, tmp_path: Path) -> None:
    data = to_json(model, COLUMNS, "y", ROWS, ROWS[:, 0])
    del data[missing]
    (tmp_path / FILE_NAME).write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(UserError, match=f"is damaged: KeyError\\('{missing}'\\)"):
        read_fit(tmp_path)


GOOD: dict[str, Any] = {
    "format": 1, "target": "y", "columns": ["a", "b"], "expression": "2*a*b",
    "weights": {"exponents": [[1, 1]], "coefficients": [[2]], "powers": [1]},
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"columns": [1, 2]},
        {"columns": [None, []]},
        {"columns": "ab", "target": 5},
        {"columns": ["a"]},
        {"columns": ["a", "b", "c"]},
        {"expression": {}},
        {"weights": {**GOOD["weights"], "powers": [10**400]}},
        {"weights": {**GOOD["weights"], "powers": [[1]]}},
        {"weights": {**GOOD["weights"], "exponents": [10**400]}},
        {"weights": {**GOOD["weights"], "exponents": 1}},
        {"weights": {**GOOD["weights"], "coefficients": [[2, 3]]}},
        {"weights": []},
    ],
)
def test_fits_of_others_are_one_sentence(change: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text(json.dumps(GOOD))
    assert read_fit(tmp_path).predict(np.array([[3.0, 4.0]])) == [24]
    (tmp_path / FILE_NAME).write_text(json.dumps({**GOOD, **change}))
    with pytest.raises(UserError, match="is damaged: .* Fit again"):
        read_fit(tmp_path)


@pytest.mark.parametrize(
    "data", [b"[" * 100_000, b'{"a":' * 300 + b"1" + b"}" * 300, b"9" * 10_000, b"\xff", b""]
)
def test_json_of_others_is_one_sentence(data: bytes, tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(data)
    with pytest.raises(UserError, match="is damaged"):
        read_fit(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes have no names there")
def test_a_pipe_is_no_fit(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / FILE_NAME)
    with pytest.raises(UserError, match="holds no fit: .* not a plain file"):
        read_fit(tmp_path)
