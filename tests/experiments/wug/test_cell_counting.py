"""Counting cells: what its claims ask for."""

import pytest

from wug.core import index
from wug.stats.interval import Estimate
from wug.study.claims import Cell, Table
from wug.study.experiment import RunOptions

EXPERIMENT = index.get("experiment", "wug.cell_counting")(RunOptions())


@pytest.mark.parametrize(
    ("errors", "verdicts"),
    [
        ({"plain": 4, "nac_add": 2, "nalu": 1, "nau": 4, "dense": 90}, ["held", "held"]),
        ({"plain": 4, "nac_add": 2, "nalu": 9, "nau": 4, "dense": 1}, ["broken", "broken"]),
    ],
)
def test_claims(errors, verdicts):
    cells = {
        (name, "few to many"): Cell(None, 5, {"mse_21-30": Estimate.given(v, 0.9 * v, 1.1 * v)})
        for name, v in errors.items()
    }
    found = [claim.evaluate(Table(cells)).verdict.value for claim in EXPERIMENT.claims]
    assert found == verdicts
