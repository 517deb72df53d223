import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.func import grad, vmap

from wug.training import programs
from wug.training.programs import can_compile, make_program, use_cache_folder, wants_compile

CPU = torch.device("cpu")


def descend(step: Tensor, state: dict[str, Any]) -> dict[str, Any]:
    """One step down the slope of the sum of squares, as a fleet does it: stacked, on a tree."""
    slopes = vmap(grad(lambda x: x.square().sum()))(state["x"])
    return {"x": state["x"] - 0.25 * slopes, "steps": [state["steps"][0] + step]}


def arguments(*values: float) -> tuple[Tensor, dict[str, Any]]:
    state = {
        "x": torch.tensor(values, dtype=torch.float32).reshape(-1, 2),
        "steps": [torch.tensor(0)],
    }
    return torch.tensor(1), state


@pytest.fixture
def fresh_answer() -> Iterator[None]:
    """The answer is remembered for the life of a process; here it is to be asked anew."""
    can_compile.cache_clear()
    yield
    can_compile.cache_clear()


def check(program: programs.Program) -> None:
    result = program(*arguments(1.0, -2.0, 3.0, 4.0))
    assert result["x"].tolist() == [[0.5, -1.0], [1.5, 2.0]]
    assert result["steps"][0].item() == 1
    x, steps = program.flat(torch.tensor(2), torch.ones(2, 2), torch.tensor(5))
    assert x.tolist() == [[0.5, 0.5], [0.5, 0.5]] and steps.item() == 7


@pytest.mark.parametrize("traced", [True, False])
def test_a_program_computes_what_its_function_does(traced: bool) -> None:
    check(make_program(descend, arguments(0, 0, 0, 0), compiled=False, traced=traced))


def test_a_compiled_program_does_too() -> None:
    if not can_compile("cpu"):
        pytest.skip("needs a C++ compiler")
    check(make_program(descend, arguments(0, 0, 0, 0), compiled=True))


def test_a_traced_function_is_called_once_and_an_untraced_one_each_time() -> None:
    calls = []

    def double(x: Tensor) -> Tensor:
        calls.append(1)
        return 2 * x

    example = (torch.zeros(2),)
    for traced, expected in ((True, 1), (False, 3)):
        calls.clear()
        program = make_program(double, example, compiled=False, traced=traced)
        assert program(torch.ones(2)).tolist() == program(torch.ones(2)).tolist() == [2.0, 2.0]
        assert len(calls) == expected


def test_a_program_leaves_its_arguments_alone() -> None:
    program = make_program(descend, arguments(0, 0), compiled=False)
    step, state = arguments(1.0, 2.0)
    program(step, state)
    assert state["x"].tolist() == [[1.0, 2.0]] and state["steps"][0].item() == 0


@pytest.mark.usefixtures("fresh_answer")
def test_a_broken_compiler_means_no(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Callable[..., Tensor]:
        raise RuntimeError("no g++")

    monkeypatch.setattr(programs, "compile_graph", broken)
    assert not can_compile("cpu")
    assert not wants_compile("auto", CPU)
    assert wants_compile("on", CPU)  # then the person wants to see the error
    assert not wants_compile("off", CPU)


@pytest.mark.usefixtures("fresh_answer")
def test_a_compiler_whose_program_does_not_run_means_no(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "compile_graph", lambda *_: torch.linalg.inv)
    assert not wants_compile("auto", CPU)


@pytest.mark.usefixtures("fresh_answer")
def test_a_working_compiler_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def compile_graph(graph: torch.fx.GraphModule, _: object) -> torch.fx.GraphModule:
        asked.append(graph)
        return graph

    monkeypatch.setattr(programs, "compile_graph", compile_graph)
    assert wants_compile("auto", CPU) and wants_compile("auto", CPU)
    assert len(asked) == 1


def test_compiled_programs_go_to_our_cache_unless_torch_was_told_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WUG_CACHE", str(tmp_path))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "elsewhere")
    use_cache_folder()
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == "elsewhere"
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR")
    use_cache_folder()
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == str(tmp_path / "programs")
