"""Shortest paths (Faber and Wattenhofer, 2020): does a network imitate Bellman and Ford?

Distances from the first node of a random graph; tested on larger graphs, with edges of the same
weights or of larger ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.functional.streams import stream_key, uniform
from wug.sources.streams import SPLITS, NumberTask

EVALUATION_SIZE = 200


def shortest(weights: Tensor) -> Tensor:
    """Return the distances from the first node; an edge of weight 0 is none.

    Shape:
        (..., node, node) from source to target -> (..., node).

    Example:
        >>> shortest(torch.tensor([[0.0, 5.0, 1.0], [0.0, 0.0, 0.0], [0.0, 2.0, 0.0]])).tolist()
        [0.0, 3.0, 1.0]
    """
    size = weights.shape[-1]
    far = weights.amax((-1, -2), keepdim=True) * size
    costs = torch.where(weights > 0, weights, far)
    distances = torch.where(torch.arange(size, device=weights.device) == 0, 0.0, far[..., 0])
    for _ in range(size - 1):
        distances = torch.minimum(distances, (distances.unsqueeze(-1) + costs).amin(-2))
    return distances


@register(
    "task",
    name="Shortest paths",
    references=("faber2020", "mistry2022"),
    equation=r"d_v = \min\big(d_v,\; \min_u (d_u + w_{uv})\big), \qquad d_1 = 0",
    claim="extrapolation",
    splits=SPLITS,
)
@dataclass(frozen=True, kw_only=True)
class ShortestPaths(NumberTask):
    """The distances of all nodes of a graph from its first.

    Inputs are the weights of all edges, source by source, as a sequence of numbers; 0 is no edge.
    Every node has an edge to the next, so that all can be reached, and others at random. Targets
    are the distances, one for each node. Weights are whole numbers.

    Departures:
        The primer names the task and one finding. Graphs, weights and sizes are ours.

    Args:
        num_nodes: Of a graph in training.
        test_nodes: Of a graph in the OOD sets.
        largest: Weight of an edge in training.
        times: How many times larger weights are in the OOD sets.
        density: Share of the other edges that there are.
        tolerance: Greatest mean absolute error, in edges of mean weight, that counts as solved.
        dtype: float32 or float64.

    Raises:
        UserError: A graph has less than two nodes, or the density is no share.

    Example:
        >>> x, y = ShortestPaths().batch("train", torch.Generator().manual_seed(0), size=3)
        >>> x.shape, y.shape
        (torch.Size([3, 25, 1]), torch.Size([3, 5, 1]))

    References:
        faber2020, mistry2022
    """

    num_nodes: int = 5
    test_nodes: int = 10
    largest: int = 9
    times: int = 1
    density: float = 0.4
    tolerance: float = 0.1
    dtype: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        for name in ("num_nodes", "test_nodes"):
            require_at_least("ShortestPaths", name, getattr(self, name), 2)
        for name in ("largest", "times"):
            require_at_least("ShortestPaths", name, getattr(self, name), 1)
        if not 0 <= self.density <= 1:
            raise UserError(f"ShortestPaths: density must be a share; got {self.density}.")

    @property
    def in_features(self) -> int:
        """Numbers of an edge."""
        return 1

    @property
    def unit(self) -> float:
        """Mean weight of an edge in the OOD sets, which errors are measured in."""
        return self.times * (self.largest + 1) / 2

    def input_values(self, split: str = "train") -> dict[str, Tensor]:
        """Return the largest weight of training."""
        return {"largest": torch.tensor(float(self.largest), dtype=self.dtype)}

    def inputs(self, values: Mapping[str, Tensor], key: Tensor, step: Tensor, size: int) -> Tensor:
        """Draw a batch of graphs as a pure function of stream key and step."""
        return self.graphs(values["largest"], 1.0, key, step, (size, self.num_nodes))

    def graphs(
        self, largest: Tensor, times: float, key: Tensor, step: Tensor, shape: tuple[int, int]
    ) -> Tensor:
        """Draw graphs: rows and nodes."""
        size, nodes = shape
        draws, _ = uniform(key, step, (2, size, nodes, nodes), self.dtype)
        places = torch.arange(nodes, device=draws.device)
        chain = places.unsqueeze(-1) + 1 == places
        other = (draws[0] < self.density) & (places.unsqueeze(-1) != places)
        weights = times * (1 + (draws[1] * largest).floor())
        return torch.where(chain | other, weights, 0.0).flatten(-2).unsqueeze(-1)

    def targets(self, values: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Return the distances."""
        nodes = round(x.shape[-2] ** 0.5)
        return shortest(x.reshape(*x.shape[:-2], nodes, nodes)).unsqueeze(-1)

    def loss(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Mean absolute error."""
        return (prediction - target).abs().mean()

    def error(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Mean absolute error, in edges of mean weight."""
        return (prediction - target).abs().mean() / self.unit

    def draw(self, split: str, key: Tensor, size: int) -> Tensor:
        """Draw graphs of a split from a stream."""
        far = split in ("ood_validation", "test")
        shape = (size, self.test_nodes if far else self.num_nodes)
        largest = torch.tensor(float(self.largest), dtype=self.dtype, device=key.device)
        return self.graphs(largest, self.times if far else 1, key, torch.zeros_like(key[0]), shape)

    def evaluation_inputs(self, split: str) -> Tensor:
        """Return the fixed inputs of an evaluation split, the same for every seed."""
        require_choice("ShortestPaths", "split", split, SPLITS[1:])
        return self.draw(split, torch.tensor(stream_key("shortest_paths", split)), EVALUATION_SIZE)

    def threshold(self) -> float:
        """Return the largest test error that counts as solved."""
        return self.tolerance
