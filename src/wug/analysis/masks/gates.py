"""Which weights are masked, and which of them have one gate in common.

A gate is one number of a mask. With the granularity *weight* every weight has its own; a neuron has
one for its row of weights and its bias, a head one for its rows of queries, keys and values and its
columns of the output, an expert one for its slices, a layer one for all parameters of a module.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

import torch
from torch import Tensor, nn

from wug.core.errors import UserError, require_choice

Granularity = Literal["weight", "neuron", "head", "expert", "layer"]
GRANULARITIES = ("weight", "neuron", "head", "expert", "layer")

# Attributes by which modules say how many heads they have.
HEADS = ("num_heads", "num_attention_heads", "n_head", "n_heads", "nhead")
# The last words of projections whose rows, and of those whose columns, belong to heads; and in how
# many stretches the rows do.
ROWS = {
    "in_proj_weight": 3, "in_proj_bias": 3, "weight_in": 3,
    "q_proj": 1, "k_proj": 1, "v_proj": 1, "query": 1, "key": 1, "value": 1,
    "q_proj_weight": 1, "k_proj_weight": 1, "v_proj_weight": 1,
    "weight_query": 1, "weight_key": 1, "weight_value": 1, "weight_position": 1,
    "content_bias": 1, "position_bias": 1, "query_bias": 1,
}  # fmt: skip
COLUMNS = ("out_proj", "o_proj", "weight_out", "output", "dense")


@dataclass(frozen=True)
class Blocks:
    """How gates lie along one axis of a parameter.

    Args:
        number: How many gates there are.
        axis: Which axis they divide.
        stretches: How often the row of gates is repeated along the axis, as queries, keys and
            values in one matrix.
        group: Parameters of one group share their gates; the parameter's own name if empty.
    """

    number: int
    axis: int = 0
    stretches: int = 1
    group: str = ""

    def spread(self, gates: Tensor, shape: Sequence[int]) -> Tensor:
        """Return gates as factors of a parameter, by broadcasting.

        Shape:
            (..., number) -> (..., one size for each axis of the parameter).
        """
        size = shape[self.axis]
        lead = gates.shape[:-1]
        block = size // (self.number * self.stretches)
        wide = gates.reshape(*lead, 1, self.number, 1)
        wide = wide.expand(*lead, self.stretches, self.number, block).reshape(*lead, size)
        ones = len(shape) - 1 - self.axis
        return wide.reshape(*lead, *(1,) * self.axis, size, *(1,) * ones)

    def gather(self, values: Tensor, lead: int) -> Tensor:
        """Add up the numbers of a parameter that share a gate.

        Args:
            values: With some leading axes, and then those of the parameter.
            lead: Number of leading axes.

        Shape:
            (..., parameter's shape) -> (..., number).
        """
        axis = lead + self.axis
        others = [i for i in range(lead, values.dim()) if i != axis]
        rows = values.sum(others) if others else values
        return rows.reshape(*rows.shape[:lead], self.stretches, self.number, -1).sum((-3, -1))


@dataclass(frozen=True)
class Gates:
    """The gates of a network.

    Args:
        shapes: Masked parameters by name.
        blocks: How the gates of a parameter lie; a parameter that is not here has one for each
            weight.
        numbers: Number of gates of each group, in order.
    """

    shapes: Mapping[str, tuple[int, ...]]
    blocks: Mapping[str, Blocks]
    numbers: Mapping[str, int]

    @property
    def total(self) -> int:
        """Number of gates."""
        return sum(self.numbers.values())

    def group(self, name: str) -> str:
        """Return the group of a parameter."""
        return (self.blocks[name].group or name) if name in self.blocks else name

    def split(self, flat: Tensor) -> dict[str, Tensor]:
        """Cut a row of all gates into groups.

        Shape:
            (..., total) -> (..., number) for each group.
        """
        parts = flat.split(list(self.numbers.values()), -1)
        return dict(zip(self.numbers, parts, strict=True))

    def factors(self, name: str, gates: Tensor) -> Tensor:
        """Return the gates of a parameter's group as its factors."""
        shape = self.shapes[name]
        if name in self.blocks:
            return self.blocks[name].spread(gates, shape)
        return gates.reshape((*gates.shape[:-1], *shape))

    def expand(self, flat: Tensor) -> dict[str, Tensor]:
        """Return one number for each weight of every masked parameter, from a row of all gates."""
        parts = self.split(flat)
        return {
            name: self.factors(name, parts[self.group(name)]).expand(shape).clone()
            for name, shape in self.shapes.items()
        }


def chosen_parameters(
    model: nn.Module,
    *,
    parameters: str | Sequence[str] = "*",
    skip: str | Sequence[str] = (),
    biases: bool = False,
    embeddings: bool = False,
) -> list[str]:
    """Return the names of the parameters that a mask may touch.

    Args:
        model: Any network.
        parameters: Patterns of names, such as ``"encoder.*"``.
        skip: Patterns of names that are left alone.
        biases: Whether biases are masked, too.
        embeddings: Whether embeddings are.

    Raises:
        UserError: Nothing is left.

    Example:
        >>> chosen_parameters(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)))
        ['0.weight', '2.weight']
    """
    wanted, unwanted = _patterns(parameters), _patterns(skip)
    tables = {
        id(p)
        for module in model.modules()
        if isinstance(module, (nn.Embedding, nn.EmbeddingBag))
        for p in module.parameters(recurse=False)
    }
    names = []
    for name, value in model.named_parameters():
        # Lists of parameters have names such as biases.0.
        last = [word for word in name.split(".") if not word.isdigit()][-1]
        is_table = id(value) in tables or "embedding" in last
        if (
            value.is_floating_point()
            and _matches(name, wanted)
            and not _matches(name, unwanted)
            and (biases or not last.startswith("bias") and not last.endswith("bias"))
            and (embeddings or not is_table)
        ):
            names.append(name)
    if not names:
        raise UserError(
            "find_masks: no parameter is left to mask; parameters must match one of "
            f"{', '.join(n for n, _ in model.named_parameters())}, and embeddings and biases count "
            "only with embeddings=True and biases=True."
        )
    return names


def make_gates(
    model: nn.Module,
    names: Sequence[str],
    granularity: Granularity = "weight",
    blocks: Mapping[str, Blocks] | None = None,
) -> Gates:
    """Return the gates of some parameters.

    Args:
        model: The network.
        names: Of its parameters.
        granularity: What has a gate of its own.
        blocks: For parameters by pattern, how gates lie in them, instead of what the granularity
            would find.

    Raises:
        UserError: Blocks don't fit a parameter, or the network does not say where its heads or
            experts are.

    Example:
        >>> model = nn.Linear(4, 3)
        >>> gates = make_gates(model, ["weight", "bias"], "neuron")
        >>> gates.total, gates.expand(torch.tensor([1.0, 0.0, 1.0]))["bias"].tolist()
        (3, [1.0, 0.0, 1.0])
    """
    require_choice("find_masks", "granularity", granularity, GRANULARITIES)
    params = dict(model.named_parameters())
    shapes = {name: tuple(params[name].shape) for name in names}
    found: dict[str, Blocks] = {}
    for name in names:
        own = [b for pattern, b in (blocks or {}).items() if fnmatchcase(name, pattern)]
        block = own[0] if own else _find(model, name, shapes[name], granularity)
        if block is not None:
            _check(name, shapes[name], block)
            found[name] = block
    numbers: dict[str, int] = {}
    for name, shape in shapes.items():
        group = (found[name].group or name) if name in found else name
        number = found[name].number if name in found else torch.Size(shape).numel()
        if numbers.setdefault(group, number) != number:
            raise UserError(
                f"find_masks: parameters of the group {group} must have as many gates each; "
                f"{name} has {number} and others have {numbers[group]}."
            )
    if granularity in ("head", "expert") and not any(name in found for name in names):
        raise UserError(
            f"find_masks: no parameter says where its {granularity}s are; name them with blocks, "
            "such as {'*.attention.weight': Blocks(number=8)}."
        )
    # Parameters that belong to no head or expert are left alone.
    if granularity in ("head", "expert"):
        shapes = {name: shape for name, shape in shapes.items() if name in found}
        numbers = {(found[n].group or n): found[n].number for n in shapes}
    return Gates(shapes=shapes, blocks=found, numbers=numbers)


def _find(
    model: nn.Module, name: str, shape: tuple[int, ...], granularity: Granularity
) -> Blocks | None:
    path, _, last = name.rpartition(".")
    if granularity == "weight":
        return None
    if granularity == "layer":
        # Along any axis there is one gate.
        return Blocks(1, group=path or "network") if shape else None
    if granularity == "neuron":
        return Blocks(shape[0], group=f"{path}:{shape[0]}") if shape else None
    module: nn.Module = model.get_submodule(path)
    if granularity == "expert":
        number = getattr(module, "num_experts", None)
        axes = [axis for axis, size in enumerate(shape) if size == number]
        return Blocks(number, axis=axes[0], group=path or "network") if number and axes else None
    owner, number = _heads(model, path)
    if number is None:
        return None
    word = path.rpartition(".")[2] if last in ("weight", "bias") and path != owner else last
    if word in ROWS and shape[0] % (number * ROWS[word]) == 0:
        return Blocks(number, stretches=ROWS[word], group=owner or "network")
    is_matrix = len(shape) > 1 and shape[1] % number == 0
    return (
        Blocks(number, axis=1, group=owner or "network") if word in COLUMNS and is_matrix else None
    )


def _heads(model: nn.Module, path: str) -> tuple[str, int | None]:
    """Return the innermost module around a path that says how many heads it has."""
    parts = path.split(".") if path else []
    for end in range(len(parts), -1, -1):
        owner = ".".join(parts[:end])
        module = model.get_submodule(owner)
        for word in HEADS:
            number = getattr(module, word, None)
            if isinstance(number, int):
                return owner, number
    return "", None


def _check(name: str, shape: tuple[int, ...], block: Blocks) -> None:
    if block.axis >= len(shape) or shape[block.axis] % (block.number * block.stretches):
        raise UserError(
            f"find_masks: {name} of shape {shape} can't be divided into {block.stretches} x "
            f"{block.number} blocks along axis {block.axis}."
        )


def _patterns(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def masked_parameters(model: nn.Module, gates: Gates) -> dict[str, Any]:
    """Return the parameters that have gates, detached."""
    params = dict(model.named_parameters())
    return {name: params[name].detach() for name in gates.shapes}
