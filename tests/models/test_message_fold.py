"""Message passing that keeps the least message."""

import torch
from torch.testing import assert_close

from wug.models.message_fold import MessageFold
from wug.tasks.extrapolation.shortest_paths import ShortestPaths


def decided():
    """Return a network whose NSR has decided: it keeps the smaller number."""
    network = MessageFold(1, 1, redundancy=1, scale=10.0)
    values = {"first": [[[99.0, -99.0]]], "second": [[[-99.0, 99.0]]], "sign": [[-99.0]],
              "zero": [[0.0]], "shift": [[0.0]]}  # fmt: skip
    network.load_state_dict({f"cell.unit.{n}": torch.tensor(v) for n, v in values.items()})
    return network


def test_a_decided_network_is_bellman_and_ford():
    for task in (ShortestPaths(), ShortestPaths(times=100, test_nodes=7)):
        for split in ("train", "test"):
            x, y = task.batch(split, torch.Generator().manual_seed(0), size=16)
            assert_close(decided()(x), y, rtol=1e-4, atol=1e-3)


def test_rounds_and_the_start():
    x, y = ShortestPaths().batch("train", torch.Generator().manual_seed(0), size=3)
    rounds = decided().trace(x)["rounds"]
    assert rounds.shape == (3, 5, 5) and not rounds[:, 0, 0].any()
    assert_close(rounds[:, 0, 1:], x.sum((1, 2))[:, None].expand(3, 4))
    assert_close(rounds[:, -1], y[..., 0])
    assert (rounds.diff(dim=1) <= 1e-4).all()


def test_weights_come_from_the_generator():
    first, again = (MessageFold(1, 1, generator=torch.Generator().manual_seed(5)) for _ in "ab")
    again.reset_parameters(torch.Generator().manual_seed(5))
    assert_close(dict(first.named_parameters()), dict(again.named_parameters()))
