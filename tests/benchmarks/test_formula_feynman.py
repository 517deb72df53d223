"""The Feynman benchmark reads the published table as it is."""

import os
import signal
from pathlib import Path

import formula_feynman
import formula_methods
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


def equation(key: str, text: str = "a*b") -> formula_feynman.Equation:
    return formula_feynman.Equation(key, text, ("a", "b"), (1.0, 1.0), (5.0, 5.0))


def test_any_beginning_has_both_kinds_in_proportion() -> None:
    plain = [equation(f"I.{i}") for i in range(71)]
    ordered = formula_feynman.in_fair_order(
        [*plain, *(equation(f"II.{i}", "exp(a)*b") for i in range(29))]
    )
    assert len({one.key for one in ordered}) == 100
    assert [one for one in ordered if one.kind == "arithmetic"] != plain
    for end in range(1, 101):
        with_functions = sum(one.kind == "functions" for one in ordered[:end])
        assert abs(with_functions - 0.29 * end) <= 1


def test_a_peer_that_crashes_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    crash = signal.SIGXCPU
    monkeypatch.setattr(formula_feynman, "measure", lambda *_: os.kill(os.getpid(), crash))
    record = formula_feynman.measure_apart("pyoperon", equation("I.1"), 0.0, 1.0, 0)
    assert not record["recovered"] and str(crash.value) in record["remark"]


def test_a_peer_that_somebody_killed_is_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    kill = signal.SIGKILL
    monkeypatch.setattr(formula_feynman, "measure", lambda *_: os.kill(os.getpid(), kill))
    with pytest.raises(SystemExit, match=r"killed on I\.1"):
        formula_feynman.measure_apart("pyoperon", equation("I.1"), 0.0, 1.0, 0)


@pytest.mark.parametrize("method", ["pyoperon", "gplearn"])
def test_peers_stop_when_the_rows_are_met(method: str) -> None:
    pytest.importorskip(method)
    record = formula_feynman.measure_apart(method, equation("I.1"), 0.0, 20.0, 0)
    assert record["recovered"] and record["seconds"] < 5 and record["version"]


def test_peers_end_with_their_processor_time() -> None:
    pytest.importorskip("pyoperon")
    generator = np.random.default_rng(0)
    x, y = generator.uniform(1, 5, (300, 2)), generator.standard_normal(300)
    began = formula_methods.CLOCKS["processor"]()
    formula_methods.search_with_pyoperon(x, y, "add,mul,constant,variable", 2.0, 0, 1, "processor")
    assert 1.9 < formula_methods.CLOCKS["processor"]() - began < 5
