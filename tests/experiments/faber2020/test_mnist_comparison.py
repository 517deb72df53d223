"""Comparing MNIST digits: what comparable means."""

import pytest

from wug.core import index
from wug.stats.interval import Estimate
from wug.study.claims import Cell, Table
from wug.study.experiment import RunOptions

CLAIMS = index.get("experiment", "faber2020.mnist_comparison")(RunOptions()).claims


@pytest.mark.parametrize(
    ("nsr", "mlp", "cnn", "verdicts"),
    [
        (0.05, 0.045, 0.02, ["held", "held"]),
        (0.05, 0.01, 0.02, ["held", "broken"]),
        (0.01, 0.015, 0.05, ["broken", "held"]),
    ],
)
def test_claims(nsr, mlp, cnn, verdicts):
    cells = {
        (head, "greater"): Cell(None, 5, {"wrong": Estimate.given(v, 0.99 * v, 1.01 * v)})
        for head, v in (("nsr", nsr), ("mlp", mlp), ("cnn", cnn))
    }
    assert [claim.evaluate(Table(cells)).verdict.value for claim in CLAIMS] == verdicts
