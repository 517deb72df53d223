"""Networks whose modules are known: what a finder of masks must recover.

Every network is written by hand so that each weight that is not 0 is needed by one of its
functions; the others may be kept or not, and don't count. The functions are tables and small
programs over a few symbols, chosen by an input that says which one is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.analysis.masks.mask import Mask, model_hash
from wug.core.errors import UserError, require_at_least

# Logits of a right answer, and of attention to the right column.
SCALE, SHARP = 8.0, 8.0
Batch = tuple[Tensor, Tensor]


@dataclass(frozen=True, kw_only=True)
class Planted:
    """A network and the truth about it.

    Args:
        model: The network.
        functions: Name -> one batch with all problems of the function.
        modules: Name -> the weights that the function needs.
        specialise: What P_specialize must be.
        reuse: What P_reuse must be.
    """

    model: nn.Module
    functions: Mapping[str, list[Batch]]
    modules: Mapping[str, Mask]
    specialise: float
    reuse: float

    def loss(self, logits: Tensor, target: Tensor) -> Tensor:
        """Return the cross-entropy."""
        return F.cross_entropy(logits.flatten(0, -2), target.flatten())

    def score(self, logits: Tensor, target: Tensor) -> Tensor:
        """Return which rows are right: the largest logit, alone, is that of the target."""
        own = logits.gather(-1, target.unsqueeze(-1))
        alone = (logits >= own).sum(-1) == 1
        return (alone if alone.dim() == 1 else alone.all(-1)).float()

    def counted(self, mask: Mask) -> Mask:
        """Return a mask without the weights that are 0."""
        params = dict(self.model.named_parameters())
        kept = {name: value & (params[name] != 0) for name, value in mask.kept.items()}
        return Mask(kept, mask.model)


class _Layers(nn.Module):
    """Rectified layers with fixed thresholds, and a linear one."""

    def __init__(self, weights: Sequence[Tensor], thresholds: Sequence[Tensor]) -> None:
        super().__init__()
        self.weights = nn.ParameterList(weights)
        self.num_hidden = len(thresholds)
        for index, value in enumerate(thresholds):
            self.register_buffer(f"threshold_{index}", value)

    def forward(self, x: Tensor) -> Tensor:
        for index in range(self.num_hidden):
            threshold: Any = getattr(self, f"threshold_{index}")
            x = F.relu(F.linear(x, self.weights[index]) - threshold)
        return F.linear(x, self.weights[-1])


def _tables(number: int) -> Tensor:
    """Return three permutations of so many symbols that agree nowhere, and with no identity."""
    symbols = torch.arange(number)
    return torch.stack([(symbols + shift) % number for shift in (1, 2, 3)])


def _masks(model: nn.Module, own: Mapping[str, Mapping[str, Tensor]]) -> dict[str, Mask]:
    mark = model_hash(model)
    return {name: Mask(dict(kept), mark) for name, kept in own.items()}


def _by_owner(model: nn.Module, owners: Mapping[str, Tensor], names: str) -> dict[str, Mask]:
    """Return masks from the owners of weights: bit i is set if function i needs the weight."""
    return _masks(
        model,
        {
            name: {parameter: (owner & (1 << bit)) > 0 for parameter, owner in owners.items()}
            for bit, name in enumerate(names)
        },
    )


def two_tables(num_symbols: int = 6) -> Planted:
    """Return a network with two functions, by the same inputs and outputs, that share no weight.

    Hidden units are of a symbol and a function: relu(symbol + function - 1).

    Args:
        num_symbols: How many there are, at least 4.
    """
    require_at_least("two_tables", "num_symbols", num_symbols, 4)
    n, tables = num_symbols, _tables(num_symbols)
    first, last = torch.zeros(2 * n, n + 2), torch.zeros(n, 2 * n)
    own_first, own_last = (torch.zeros_like(w, dtype=torch.int64) for w in (first, last))
    for function in (0, 1):
        for symbol in range(n):
            unit = function * n + symbol
            first[unit, [symbol, n + function]] = 1
            own_first[unit, [symbol, n + function]] = 1 << function
            last[tables[function][symbol], unit] = SCALE
            own_last[tables[function][symbol], unit] = 1 << function
    model = _Layers([first, last], [torch.ones(2 * n)])
    owners = {"weights.0": own_first, "weights.1": own_last}
    return Planted(
        model=model,
        functions={name: [_asked(n, i, tables[i])] for i, name in enumerate("ab")},
        modules=_by_owner(model, owners, "ab"),
        specialise=1.0,
        reuse=0.0,
    )


def shared_first_table(num_symbols: int = 6) -> Planted:
    """Return a network with two functions that begin with the same table: a(c(x)) and b(c(x)).

    The first layer looks up c for both, and passes on which function is asked for.

    Args:
        num_symbols: How many there are, at least 4.
    """
    require_at_least("shared_first_table", "num_symbols", num_symbols, 4)
    n, tables = num_symbols, _tables(num_symbols)
    first, second = torch.zeros(n + 2, n + 2), torch.zeros(2 * n, n + 2)
    last = torch.zeros(n, 2 * n)
    owners = [torch.zeros_like(w, dtype=torch.int64) for w in (first, second, last)]
    for symbol in range(n):
        first[tables[2][symbol], symbol] = 1
        owners[0][tables[2][symbol], symbol] = 3
    for function in (0, 1):
        first[n + function, n + function] = 1
        owners[0][n + function, n + function] = 1 << function
        for symbol in range(n):
            unit = function * n + symbol
            second[unit, [symbol, n + function]] = 1
            owners[1][unit, [symbol, n + function]] = 1 << function
            last[tables[function][symbol], unit] = SCALE
            owners[2][tables[function][symbol], unit] = 1 << function
    model = _Layers([first, second, last], [torch.zeros(n + 2), torch.ones(2 * n)])
    named = {f"weights.{index}": owner for index, owner in enumerate(owners)}
    return Planted(
        model=model,
        functions={n_: [_asked(n, i, tables[i][tables[2]])] for i, n_ in enumerate("ab")},
        modules=_by_owner(model, named, "ab"),
        specialise=1.0,
        reuse=1.0,
    )


def _asked(number: int, function: int, table: Tensor) -> Batch:
    """Return all problems of a function: a symbol, and which function is asked for."""
    which = F.one_hot(torch.tensor(function), 2).float().expand(number, 2)
    return torch.cat((torch.eye(number), which), -1), table


class _Programs(nn.Module):
    """One layer of attention between two columns, and one of rectified units; nothing is learnt."""

    def __init__(
        self, num_heads: int, query: Tensor, key: Tensor, value: Tensor, into: Tensor,
        threshold: Tensor, out: Tensor,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_heads = num_heads
        self.query, self.key, self.value = (nn.Parameter(w) for w in (query, key, value))
        self.into, self.out = nn.Parameter(into), nn.Parameter(out)
        self.register_buffer("threshold", threshold)

    def forward(self, x: Tensor) -> Tensor:
        queries, keys, values = (
            F.linear(x, weight).unflatten(-1, (self.num_heads, -1)).transpose(-3, -2)
            for weight in (self.query, self.key, self.value)
        )
        attention = (SHARP * queries @ keys.mT).softmax(-1)
        fetched = (attention @ values).transpose(-3, -2).flatten(-2)
        threshold: Any = self.threshold
        hidden = F.relu(F.linear(torch.cat((x, fetched), -1), self.into) - threshold)
        return F.linear(hidden, self.out)


def two_programs(num_symbols: int = 3, *, shared: bool = False) -> Planted:
    """Return a transformer compiled by hand from two programs over two columns: reverse and sort.

    Both fetch the symbol of the other column by attention. ``reverse`` writes it down; ``sort``
    writes the smaller one of both into the first column and the larger one into the second.
    Columns have a symbol, their position, and the program that is asked for.

    Args:
        num_symbols: How many there are, at least 2.
        shared: Whether one head fetches for both programs, instead of one for each.

    Raises:
        UserError: There are fewer than 2 symbols.
    """
    if num_symbols < 2:
        raise UserError(f"two_programs: num_symbols must be at least 2; got {num_symbols}.")
    n, heads = num_symbols, 1 if shared else 2
    size = n + 4  # symbol, position, program
    query, key = torch.zeros(2 * heads, size), torch.zeros(2 * heads, size)
    value = torch.zeros(n * heads, size)
    num_units = n + 2 * n * n
    into, out = torch.zeros(num_units, size + n * heads), torch.zeros(n, num_units)
    owners = {
        name: torch.zeros_like(w, dtype=torch.int64)
        for name, w in zip(
            ("query", "key", "value", "into", "out"), (query, key, value, into, out), strict=True
        )
    }
    for head in range(heads):
        bits = 3 if shared else 1 << head
        for column in (0, 1):
            query[2 * head + 1 - column, n + column] = 1
            key[2 * head + column, n + column] = 1
            owners["query"][2 * head + 1 - column, n + column] = bits
            owners["key"][2 * head + column, n + column] = bits
        for symbol in range(n):
            value[head * n + symbol, symbol] = 1
            owners["value"][head * n + symbol, symbol] = bits
    # A quarter above all inputs but one: attention is never perfectly sharp, and what is fetched
    # half, without a query or key, still has a slope.
    threshold = torch.full((num_units,), 1.25)
    for symbol in range(n):  # reverse: fetched symbol + program
        into[symbol, [size + symbol, n + 2]] = 1
        owners["into"][symbol, [size + symbol, n + 2]] = 1
        out[symbol, symbol] = SCALE
        owners["out"][symbol, symbol] = 1
    unit, offset = n, size + (0 if shared else n)
    for column in (0, 1):  # sort: own symbol + fetched symbol + position + program
        for own in range(n):
            for other in range(n):
                parts = [own, offset + other, n + column, n + 3]
                into[unit, parts] = 1
                owners["into"][unit, parts] = 2
                threshold[unit] = 3.25
                answer = min(own, other) if column == 0 else max(own, other)
                out[answer, unit] = SCALE
                owners["out"][answer, unit] = 2
                unit += 1
    model = _Programs(heads, query, key, value, into, threshold, out)
    pairs = torch.cartesian_prod(torch.arange(n), torch.arange(n))
    targets = {"a": pairs.flip(-1), "b": pairs.sort(-1).values}
    symbols = F.one_hot(pairs, n).float()
    position = torch.eye(2).expand(len(pairs), 2, 2)
    functions = {}
    for index, (name, target) in enumerate(targets.items()):
        program = F.one_hot(torch.tensor(index), 2).float().expand(len(pairs), 2, 2)
        functions[name] = [(torch.cat((symbols, position, program), -1), target)]
    return Planted(
        model=model,
        functions=functions,
        modules=_by_owner(model, owners, "ab"),
        specialise=1.0,
        reuse=1.0 if shared else 0.0,
    )


PLANTED = {
    "two_tables": two_tables,
    "shared_first_table": shared_first_table,
    "two_programs": two_programs,
    "two_programs_shared": lambda: two_programs(shared=True),
}
