"""Shortest paths."""

import pytest
import torch
from scipy.sparse.csgraph import dijkstra

from wug.core.errors import UserError
from wug.tasks.extrapolation.shortest_paths import ShortestPaths


def test_distances_are_dijkstras():
    task = ShortestPaths(test_nodes=12, times=10)
    for split, nodes in (("train", 5), ("test", 12)):
        x, y = task.batch(split, torch.Generator().manual_seed(0), size=20)
        for weights, distances in zip(x, y, strict=True):
            expected = dijkstra(weights.view(nodes, nodes).numpy(), indices=0)
            assert distances[:, 0].tolist() == expected.tolist()


def test_errors_are_in_edges():
    task = ShortestPaths(times=10)
    assert task.unit == 50
    assert task.error(torch.tensor([100.0]), torch.tensor([50.0])).item() == 1


def test_bad_options():
    for options in ({"num_nodes": 1}, {"density": 2.0}, {"times": 0}):
        with pytest.raises(UserError):
            ShortestPaths(**options)
