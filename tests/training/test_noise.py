"""Noise of a replica: its own, the same at the same step, of the right shape and law."""

import pytest
import torch
from torch.func import vmap

from wug.functional.streams import stream_key
from wug.training.noise import KeyedNoise, seeded

KEYS = torch.tensor([stream_key("noise", number) for number in range(3)])
ZERO = torch.tensor(0)


def drawn(key: torch.Tensor, step: int, draw: object = torch.rand_like) -> list[torch.Tensor]:
    with KeyedNoise(key, torch.tensor(step)):
        return [draw(torch.zeros(40, 50)) for _ in range(2)]  # type: ignore[operator]


@pytest.mark.parametrize("draw", [torch.rand_like, torch.randn_like])
def test_key_step_and_turn_decide(draw: object) -> None:
    first, second = drawn(KEYS[0], 3, draw)
    again, _ = drawn(KEYS[0], 3, draw)
    assert torch.equal(first, again)
    for other in (second, drawn(KEYS[1], 3, draw)[0], drawn(KEYS[0], 4, draw)[0]):
        assert abs(torch.corrcoef(torch.stack((first.flatten(), other.flatten())))[0, 1]) < 0.1


def test_laws() -> None:
    uniform, normal = drawn(KEYS[0], 0)[0], drawn(KEYS[0], 0, torch.randn_like)[0]
    assert uniform.min() >= 0 and uniform.max() < 1
    assert uniform.mean() == pytest.approx(0.5, abs=0.03)
    assert uniform.var() == pytest.approx(1 / 12, abs=0.01)
    assert normal.isfinite().all() and normal.mean() == pytest.approx(0, abs=0.1)
    assert normal.var() == pytest.approx(1, abs=0.1)
    assert ((normal.abs() < 1).double().mean()) == pytest.approx(0.6827, abs=0.05)


def test_stacked_replicas_have_the_noise_that_each_has_alone() -> None:
    def draw(key: torch.Tensor) -> torch.Tensor:
        with KeyedNoise(key, ZERO):
            return torch.rand_like(torch.zeros(4, dtype=torch.float64))

    stacked = vmap(draw)(KEYS)
    assert torch.equal(stacked, torch.stack([draw(key) for key in KEYS]))
    assert stacked.dtype == torch.float64 and stacked.unique().numel() == 12


def test_other_functions_are_left_as_they_are() -> None:
    with KeyedNoise(KEYS[0], ZERO):
        assert torch.equal(torch.ones_like(ZERO) + 1, torch.tensor(2))


def test_seeded_draws_repeat_and_leave_the_state_as_it_was() -> None:
    before = torch.get_rng_state()
    drawn = []
    for seed in (1, 1, 2):
        with seeded(torch.device("cpu"), seed):
            drawn.append(torch.nn.functional.dropout(torch.ones(100)))
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[0], drawn[2])
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(1)
    assert torch.equal(torch.nn.functional.dropout(torch.ones(100)), drawn[0])
    torch.set_rng_state(before)
