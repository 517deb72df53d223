"""The certified model is told from others, by its form and by its numbers."""

from pathlib import Path

import formula_nist
import numpy as np
import pytest
from formula_nist import Certified, is_certified, parameters_of

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "nist"


def decay(b: np.ndarray, x: np.ndarray) -> np.ndarray:
    return b[0] * np.exp(-b[1] * x[:, 0])


@pytest.fixture
def data() -> Certified:
    inputs = np.linspace(1, 5, 20)[:, None]
    parameters = np.array([2.0, 0.5])
    return Certified(
        inputs=inputs, target=decay(parameters, inputs), squares=1.0, parameters=parameters,
        deviations=np.array([0.1, 0.02]), deviation=0.1, model=decay,
    )  # fmt: skip


def test_the_form_is_found_with_its_parameters(data: Certified) -> None:
    found = parameters_of(lambda x: 3.0 * np.exp(-0.7 * x[:, 0]), data)
    assert found is not None and np.allclose(found, [3.0, 0.7])
    assert parameters_of(lambda x: 2.0 / (1 + x[:, 0]), data) is None
    assert parameters_of(lambda x: np.full(len(x), np.nan), data) is None


def test_numbers_must_be_the_certified_ones(data: Certified) -> None:
    assert is_certified(lambda x: 2.09 * np.exp(-0.515 * x[:, 0]), data)
    assert not is_certified(lambda x: 2.2 * np.exp(-0.5 * x[:, 0]), data)
    # As good on the rows is not enough.
    assert not is_certified(lambda x: decay(data.parameters, x) + 1e-4 * x[:, 0], data)


@pytest.mark.skipif(not FOLDER.exists(), reason="needs ../shared/data/nist")
def test_models_have_the_certified_sums_of_squares() -> None:
    paths = sorted(FOLDER.glob("*.dat"))
    assert {path.stem for path in paths} == set(formula_nist.MODELS) and len(paths) == 12
    for path in paths:
        one = formula_nist.read(path)
        missed = one.model(one.parameters, one.inputs) - one.target
        assert np.isclose(missed @ missed, one.squares, rtol=1e-6), path.stem
        assert is_certified(lambda x, one=one: one.model(one.parameters, x), one), path.stem
