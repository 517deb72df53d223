"""A binary mask of a network's weights, and its algebra.

Masks of one network are sets of weights: ``~a`` inverts, ``a & b`` intersects, ``a | b`` unites,
``a - b`` takes away. Parameters that no mask touches are in none of them, and stay as they are when
a mask is applied.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Literal

import torch
from torch import Tensor, nn

from wug.core.errors import UserError, require_choice

Ablation = Literal["zero", "mean", "resampled"]
ABLATIONS: tuple[Ablation, ...] = ("zero", "mean", "resampled")


def model_hash(model: nn.Module) -> str:
    """Return sixteen hexadecimal digits of the names, shapes and numbers of a network's weights.

    Example:
        >>> first, second = nn.Linear(2, 1), nn.Linear(2, 1)
        >>> _ = second.load_state_dict(first.state_dict())
        >>> model_hash(first) == model_hash(second)
        True
    """
    found = sha256()
    for name, value in model.named_parameters():
        found.update(f"{name} {tuple(value.shape)} {value.dtype}".encode())
        raw = value.detach().contiguous().reshape(-1).view(torch.uint8)
        found.update(raw.numpy(force=True).tobytes())
    return found.hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class Mask:
    """Which weights are kept.

    Args:
        kept: Boolean tensors of the shapes of the parameters, by name.
        model: Hash of the network that it belongs to; masks of two networks don't mix.

    Raises:
        UserError: Something is not boolean.

    Example:
        >>> a = Mask({"weight": torch.tensor([True, True, False])})
        >>> b = Mask({"weight": torch.tensor([False, True, False])})
        >>> (a & b).count, (a | b).count, (~a).count, (a - b).count, len(a)
        (1, 2, 1, 1, 3)
    """

    kept: Mapping[str, Tensor]
    model: str = ""

    def __post_init__(self) -> None:
        if wrong := [name for name, value in self.kept.items() if value.dtype != torch.bool]:
            raise UserError(f"Mask: kept must be boolean tensors; {wrong[0]} is not.")

    def _with(self, other: Mask, combine: Callable[[Tensor, Tensor], Tensor]) -> Mask:
        shapes = [{n: v.shape for n, v in mask.kept.items()} for mask in (self, other)]
        if shapes[0] != shapes[1] or (self.model and other.model and self.model != other.model):
            raise UserError(
                "Mask: both masks must be of one network and touch the same parameters; got "
                f"{self.model or 'one'} with {len(self.kept)} and {other.model or 'another'} with "
                f"{len(other.kept)} parameters."
            )
        kept = {name: combine(value, other.kept[name]) for name, value in self.kept.items()}
        return replace(self, kept=kept, model=self.model or other.model)

    def __invert__(self) -> Mask:
        return replace(self, kept={name: ~value for name, value in self.kept.items()})

    def __and__(self, other: Mask) -> Mask:
        return self._with(other, torch.logical_and)

    def __or__(self, other: Mask) -> Mask:
        return self._with(other, torch.logical_or)

    def __sub__(self, other: Mask) -> Mask:
        return self._with(other, lambda a, b: a & ~b)

    def __xor__(self, other: Mask) -> Mask:
        return self._with(other, torch.logical_xor)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mask) and (self ^ other).count == 0

    __hash__ = None  # type: ignore[assignment]

    def __le__(self, other: Mask) -> bool:
        return (self - other).count == 0

    def __len__(self) -> int:
        return sum(value.numel() for value in self.kept.values())

    @property
    def count(self) -> int:
        """Number of weights that are kept."""
        return sum(int(value.sum()) for value in self.kept.values())

    @property
    def counts(self) -> dict[str, int]:
        """Number of weights that are kept, by parameter."""
        return {name: int(value.sum()) for name, value in self.kept.items()}

    @property
    def share(self) -> float:
        """Share of the weights that are kept."""
        return self.count / max(len(self), 1)

    def only(self, *patterns: str) -> Mask:
        """Return the mask of some parameters; of the others everything is kept.

        Args:
            *patterns: Of the names of parameters.
        """
        return self.replaced(self | ~self, *patterns, invert=True)

    def replaced(self, other: Mask, *patterns: str, invert: bool = False) -> Mask:
        """Return the mask with some parameters taken from another one.

        Args:
            other: Of the same network.
            *patterns: Of the names of parameters.
            invert: Whether to take all others instead.
        """
        taken = {
            name: any(fnmatchcase(name, pattern) for pattern in patterns) != invert
            for name in self.kept
        }
        kept = {n: other.kept[n] if taken[n] else value for n, value in self.kept.items()}
        return replace(self, kept=kept)

    def weights(
        self,
        model: nn.Module,
        ablation: Ablation = "zero",
        generator: torch.Generator | None = None,
    ) -> dict[str, Tensor]:
        """Return the masked parameters of a network, by name.

        Args:
            model: The network; it is not changed.
            ablation: What stands for weights that are not kept: 0, the mean of their parameter, or
                other weights of the same parameter, drawn at random.
            generator: Source of what is drawn.

        Raises:
            UserError: The network is another one.
        """
        require_choice("Mask", "ablation", ablation, ABLATIONS)
        params = dict(model.named_parameters())
        found = {}
        for name, kept in self.kept.items():
            if name not in params or params[name].shape != kept.shape:
                raise UserError(f"Mask: the network has no parameter {name} of its shape.")
            value = params[name].detach()
            kept = kept.to(value.device)
            other = torch.zeros_like(value)
            if ablation == "mean":
                other = value.mean().expand_as(value)
            elif ablation == "resampled":
                items = torch.randint(value.numel(), (value.numel(),), generator=generator)
                other = value.reshape(-1)[items.to(value.device)].view_as(value)
            found[name] = torch.where(kept, value, other)
        return found

    def apply(self, model: nn.Module, ablation: Ablation = "zero") -> nn.Module:
        """Return a copy of a network in which weights that are not kept are 0.

        Args:
            model: The network; it is not changed.
            ablation: What else stands for them, as in `weights`.
        """
        masked = copy.deepcopy(model)
        masked.load_state_dict(self.weights(model, ablation), strict=False)
        return masked

    def per_parameter(self) -> Iterator[tuple[str, Mask]]:
        """Yield the masks of single parameters."""
        for name, value in self.kept.items():
            yield name, Mask({name: value}, self.model)

    def require(self, model: nn.Module) -> None:
        """Raise unless the mask was made for a network with these very weights.

        Raises:
            UserError: The hash is another one.
        """
        if self.model and self.model != (found := model_hash(model)):
            raise UserError(
                f"Mask: it was found for weights with the hash {self.model}; these have {found}. "
                "Load the network that it belongs to."
            )


@contextmanager
def with_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> Iterator[nn.Module]:
    """Let a network have other weights for a while, in place and in evaluation mode.

    Args:
        model: The network.
        weights: Some of its parameters, by name.
    """
    params = dict(model.named_parameters())
    before = {name: params[name].detach().clone() for name in weights}
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            for name, value in weights.items():
                params[name].copy_(value)
        yield model
    finally:
        with torch.no_grad():
            for name, value in before.items():
                params[name].copy_(value)
        for module, mode in modes.items():
            module.training = mode


def random_mask(like: Mask, generator: torch.Generator) -> Mask:
    """Return a mask that keeps as many weights of each parameter, drawn at random."""
    kept = {}
    for name, value in like.kept.items():
        order = torch.randperm(value.numel(), generator=generator)
        chosen = torch.zeros(value.numel(), dtype=torch.bool)
        chosen[order[: int(value.sum())]] = True
        kept[name] = chosen.view(value.shape).to(value.device)
    return replace(like, kept=kept)


def union(masks: Sequence[Mask]) -> Mask:
    """Return the weights that any of some masks keeps."""
    first, *others = masks
    for other in others:
        first = first | other
    return first
