"""The benchmark of the memory network runs at its smoke size, and what it compares is the same."""

import warnings

import dnc_step
import pytest
import torch


@pytest.fixture(autouse=True)
def settings_stay():
    """Undo what a script sets for its process."""
    threads = torch.get_num_threads()
    with warnings.catch_warnings():
        yield
    torch.set_num_threads(threads)
    torch.set_flush_denormal(False)


def test_smoke(capsys):
    found = dnc_step.main(smoke=True)
    for name in ("plain", "one", "stacked"):
        assert found[f"difference of {name}"] < 1e-4
    assert found["one"] > 0 and found["stacked"] > 0 and found["linear"] > 0
    assert "bar 15" in capsys.readouterr().out


@pytest.mark.slow
def test_compiled():
    found = dnc_step.main(num_blocks=1, seeds=2, repeats=1)
    for name in ("one", "stacked"):
        assert found[f"difference of {name}"] < 1e-4
    assert found["memory"] < dnc_step.BARS["memory"]


def test_the_problem_is_that_of_the_bars():
    x, y = dnc_step.repeat_copy(5)
    assert x.shape == y.shape == (16, 150, 9)
    assert dnc_step.repeat_copy(34)[0].shape[1] >= 1_000
