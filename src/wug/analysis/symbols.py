"""Does a network write a symbol in one way, whichever function it comes from?

Csordás et al., 2022 (csordas2022ctl; csordas2023, Secs. 6.3.1 and E.2). Each function of CTL++
writes each symbol once. Where two of them write it differently, what reads the one need not
understand the other: their similarities fall into clusters, and pairs across clusters fail.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.metrics import adjusted_rand_score
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from wug.core.errors import UserError, require_at_least
from wug.core.registry import register
from wug.sources.table_lookup import write_problems
from wug.tasks.systematicity.ctlpp import CTLpp

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class LastLinear(TorchFunctionMode):
    """Remembers what went into the last linear map, and what came out."""

    read: Tensor | None = None
    made: Tensor | None = None

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Call a function of torch."""
        made = func(*args, **(kwargs or {}))
        if func is F.linear:
            self.read, self.made = args[0], made
        return made


@torch.no_grad()
def classifier_inputs(network: nn.Module, tokens: Tensor, lengths: Tensor) -> Tensor:
    """Return what the classifier of a network reads: the input of the linear map to its logits.

    Args:
        network: Takes tokens and lengths and returns logits; it is not changed.
        tokens: Problems.
        lengths: Number of tokens of each.

    Shape:
        tokens (batch, seq), lengths (batch,) -> (batch, features).

    Raises:
        UserError: The logits don't come straight from a linear map.
    """
    network = copy.deepcopy(network).eval()
    device = next(network.parameters(), tokens).device
    last = LastLinear()
    with last:
        logits = network(tokens.to(device, torch.int64), lengths.to(device))
    if last.read is None or last.made is not logits:
        raise UserError(
            "symbols: the logits must be what nn.Linear or F.linear returns, so that there is a "
            f"layer beneath the classifier; those of {type(network).__name__} are not."
        )
    return last.read


def representations(network: nn.Module, task: CTLpp) -> Tensor:
    """Return how each function writes each symbol.

    For a symbol s' and a function f there is one s with f(s) = s'. How f writes s' is what the
    classifier reads when the network is given ``f s``.

    Args:
        network: Trained on the task; it is not changed.
        task: Has the functions.

    Shape:
        (symbol, function, features).
    """
    num_functions, num_symbols = task.tables.shape
    symbol, function = np.indices((num_symbols, num_functions)).reshape(2, -1)
    problems = np.stack((task.tables.argsort(1)[function, symbol], function), 1)
    examples = write_problems(task.tables, [problems], symbol_first=False)
    vectors = classifier_inputs(network, examples.tokens, examples.lengths)
    return vectors.view(num_symbols, num_functions, -1)


def cosine_similarities(vectors: Tensor) -> Tensor:
    """Return the cosines of the angles between vectors.

    Shape:
        (..., function, features) -> (..., function, function).

    Example:
        >>> cosine_similarities(torch.tensor([[2.0, 0.0], [0.0, 1.0], [-3.0, 0.0]])).int().tolist()
        [[1, 0, -1], [0, 1, 0], [-1, 0, 1]]
    """
    directions = F.normalize(vectors, dim=-1)
    return directions @ directions.mT


def cluster(
    similarities: ArrayLike, num_clusters: int = 2, *, least: float | None = None
) -> Integers:
    """Put functions that write a symbol alike together: average linkage on 1 - similarity.

    Args:
        similarities: Between the functions.
        num_clusters: Into at most so many clusters; with equal similarities into fewer.
        least: In its place, into clusters that are merged as long as the mean similarity of two is
            at least this; one cluster if all functions are that similar.

    Shape:
        (function, function) -> (function,): numbers from 0, in the order of the first members.

    Raises:
        UserError: Fewer than two functions, or fewer than one cluster.

    Example:
        >>> similarities = np.kron(np.eye(2), np.ones((2, 2)))
        >>> cluster(similarities).tolist(), cluster(similarities, least=0.0).tolist()
        ([0, 0, 1, 1], [0, 0, 0, 0])
    """
    distances = np.maximum(1 - np.asarray(similarities, np.float64), 0.0)  # rounding goes below 0
    require_at_least("cluster", "number of functions", len(distances), 2)
    require_at_least("cluster", "num_clusters", num_clusters, 1)
    tree = linkage(squareform(distances, checks=False), "average")
    if least is None:
        found = fcluster(tree, num_clusters, "maxclust").tolist()
    else:
        found = fcluster(tree, 1 - least, "distance").tolist()
    names = list(dict.fromkeys(found))
    return np.array([names.index(name) for name in found])


def group_numbers(groups: Mapping[str, Sequence[int]]) -> Integers:
    """Return the number of the group that each function is in.

    Example:
        >>> group_numbers({"a": (0, 2), "b": (1, 3)}).tolist()
        [0, 1, 0, 1]
    """
    numbers = np.zeros(sum(map(len, groups.values())), dtype=np.int64)
    for number, functions in enumerate(groups.values()):
        numbers[list(functions)] = number
    return numbers


def compatibility(right: ArrayLike, first: ArrayLike, second: ArrayLike) -> Floats:
    """Return the share of right answers for each cluster or group of first and second functions.

    Equation (csordas2023, Sec. E.2.1): the mean over all f of a cluster (or group) and g of a group
    of whether g(f(s)) is answered rightly, for the s with f(s) = s'.

    Args:
        right: Of each pair of functions, for one symbol s' in between: one slice of what
            `wug.analysis.accuracy.function_pairs` returns.
        first: Cluster or group of each function where it comes first.
        second: The same where it comes second.

    Shape:
        right (function, function), first and second (function,) -> (cluster, group).

    Example:
        >>> right = [[True, True, False], [True, True, True], [False, False, True]]
        >>> compatibility(right, first=[0, 0, 1], second=[0, 0, 1]).tolist()
        [[1.0, 0.5], [0.0, 1.0]]
    """
    rows, columns = (
        np.equal.outer(np.arange(np.max(numbers) + 1), np.asarray(numbers)).astype(np.float64)
        for numbers in (first, second)
    )
    hits: Floats = rows @ np.asarray(right, np.float64) @ columns.T
    return hits / np.outer(rows.sum(1), columns.sum(1))


@dataclass(frozen=True, kw_only=True)
class Symbols:
    """How alike functions write symbols.

    Args:
        similarities: Cosines between the representations of a symbol at two functions' outputs.
        clusters: Number of the cluster that a function is in, for each symbol.
        groups: Number of the group of each function, in the order of the task's groups.
        agreement: Adjusted Rand index of clusters and groups for each symbol: 1 if they are the
            same, about 0 if they have nothing to do with each other.

    Shape:
        similarities (symbol, function, function), clusters (symbol, function), groups (function,),
        agreement (symbol,).
    """

    similarities: Floats
    clusters: Integers
    groups: Integers
    agreement: Floats


@register(
    "analysis",
    name="Symbols",
    references=("csordas2022ctl", "csordas2023", "hubert1985"),
    equation=r"c_{f,g}(s') = \cos\!\left(h(f, s), h(g, t)\right), \qquad f(s) = g(t) = s'",
    failure_modes=(
        "Two clusters are found even where all representations are about equal; look at the "
        "similarities, or ask for a least similarity.",
    ),
)
def compare_symbols(
    network: nn.Module, task: CTLpp, *, num_clusters: int = 2, least: float | None = None
) -> Symbols:
    """Compare how the functions of CTL++ write each symbol, and with their groups.

    Equation (csordas2023, Sec. 6.3.1): c_fg(s') = cos(h(f s), h(g t)) for f(s) = g(t) = s', where h
    is what the classifier reads.

    Departures:
        Clusters are marked by eye in csordas2023; here they come from average linkage.

    Args:
        network: Trained on the task; its logits come from a linear map. It is not changed.
        task: CTL++ of any variant.
        num_clusters: Number of clusters for each symbol.
        least: In its place, least mean similarity within a cluster, as for `cluster`.

    Raises:
        UserError: The logits don't come straight from a linear map.

    Example:
        >>> from wug.models.ndr import NDR
        >>> task = CTLpp(num_functions=6)
        >>> network = NDR(task.num_tokens, task.num_classes, features=8, hidden_features=8)
        >>> found = compare_symbols(network, task)
        >>> found.similarities.shape, found.groups.tolist()
        ((8, 6, 6), [0, 0, 0, 1, 1, 1])

    References:
        csordas2022ctl, csordas2023, hubert1985
    """
    vectors = representations(network, task).double()
    similarities: Floats = cosine_similarities(vectors).numpy(force=True)
    clusters = np.stack([cluster(one, num_clusters, least=least) for one in similarities])
    groups = group_numbers(task.groups)
    agreement = np.array([adjusted_rand_score(groups, one) for one in clusters])
    return Symbols(similarities=similarities, clusters=clusters, groups=groups, agreement=agreement)
