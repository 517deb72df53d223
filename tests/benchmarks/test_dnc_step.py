"""The benchmark of the memory network runs at its smoke size, and what it compares is the same."""

import dnc_step
import pytest
import torch


@pytest.fixture(autouse=True)
def settings_stay(monkeypatch):
    monkeypatch.setattr(dnc_step.warnings, "simplefilter", lambda action: None)
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)
    torch.set_flush_denormal(False)


def test_smoke(capsys):
    found = dnc_step.main(smoke=True)
    for name in ("plain", "one", "stacked"):
        assert found[f"difference of {name}"] < 1e-4
    assert found["one"] > 0 and found["stacked"] > 0 and found["linear"] > 0
    assert "bar 15" in capsys.readouterr().out


def test_the_problem_is_that_of_the_bars():
    x, y = dnc_step.repeat_copy(5)
    assert x.shape == y.shape == (16, 150, 9)
    assert dnc_step.repeat_copy(34)[0].shape[1] >= 1_000
