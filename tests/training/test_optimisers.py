from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from wug.training.optimisers import OPTIMISERS

STEPS = 30
REFERENCE: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "rmsprop": torch.optim.RMSprop,
    "sgd": torch.optim.SGD,
}


def ours(
    name: str, start: torch.Tensor, gradients: torch.Tensor, rates: np.ndarray
) -> torch.Tensor:
    optimiser = OPTIMISERS[name]()
    parameter = start
    slots = [torch.zeros_like(start) for _ in range(optimiser.num_slots)]
    controls = torch.tensor(np.array(optimiser.controls(np.arange(len(rates)), rates)))
    for gradient, now in zip(gradients, controls.T, strict=True):
        parameter, slots = optimiser.update(parameter, gradient, slots, list(now))
    return parameter


def theirs(
    name: str, start: torch.Tensor, gradients: torch.Tensor, rates: np.ndarray
) -> torch.Tensor:
    parameter = torch.nn.Parameter(start.clone())
    optimiser = REFERENCE[name]([parameter], lr=1.0)
    for gradient, rate in zip(gradients, rates, strict=True):
        parameter.grad = gradient
        optimiser.param_groups[0]["lr"] = float(rate)
        optimiser.step()
    return parameter.detach()


def test_there_is_a_reference_for_each() -> None:
    assert set(OPTIMISERS) == set(REFERENCE)


@pytest.mark.parametrize("name", OPTIMISERS)
@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 99), scale=st.sampled_from([1e-12, 1e-6, 1.0, 1e6]))
def test_it_moves_as_torch_does(name: str, seed: int, scale: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    start = torch.randn(3, generator=generator, dtype=torch.float64)
    gradients = scale * torch.randn(STEPS, 3, generator=generator, dtype=torch.float64)
    rates = np.linspace(1e-2, 1e-3, STEPS)
    torch.testing.assert_close(
        ours(name, start, gradients, rates),
        theirs(name, start, gradients, rates),
        rtol=1e-13,
        atol=1e-15,
    )


@pytest.mark.parametrize("name", OPTIMISERS)
def test_without_a_gradient_nothing_moves(name: str) -> None:
    start = torch.tensor([1.0, -2.0], dtype=torch.float64)
    assert torch.equal(ours(name, start, torch.zeros(5, 2).double(), np.full(5, 0.1)), start)


def test_updates_leave_their_arguments_alone() -> None:
    optimiser = OPTIMISERS["adam"]()
    parameter, gradient = torch.ones(2), torch.ones(2)
    slots = [torch.zeros(2), torch.zeros(2)]
    optimiser.update(parameter, gradient, slots, [torch.tensor(0.1), torch.tensor(1.0)])
    assert all(torch.equal(t, torch.ones(2)) for t in (parameter, gradient))
    assert all(torch.equal(t, torch.zeros(2)) for t in slots)
