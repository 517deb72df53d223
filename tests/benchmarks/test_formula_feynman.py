"""The Feynman benchmark reads the published table as it is."""

from pathlib import Path

import formula_feynman
import numpy as np
import pytest

TABLE = Path(__file__).parents[3] / "shared" / "data" / "feynman" / "FeynmanEquations.csv"


@pytest.mark.skipif(not TABLE.exists(), reason="needs ../shared/data/feynman")
def test_all_equations_are_read_and_defined() -> None:
    equations = list(formula_feynman.read_equations(TABLE))
    assert len(equations) == 100
    assert sum(one.kind == "functions" for one in equations) == 29
    for one in equations:
        x, y = one.train(0.0)
        assert x.shape[0] == 300 and np.isfinite(y).all()
        assert len(one.test()[1]) > 100


def test_rates_count_false_exacts() -> None:
    record = {"method": "wug", "noise": 0.0, "kind": "arithmetic", "equation": "I.1"}
    rows = [
        record | {"recovered": True, "says": "exact"},
        record | {"recovered": False, "says": "exact"},
    ]
    assert "| wug | 0% | 1 of 2 | 0 of 0 | 1 |" in formula_feynman.rates(rows)
