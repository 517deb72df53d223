"""Noise in forward as a function of replica and step, however many are trained side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from wug.functional.streams import uniform

# Times that a module may draw in one step, each with numbers of its own.
MOST_DRAWS = 1_024


@contextmanager
def seeded(device: torch.device, seed: int) -> Iterator[None]:
    """Seed what draws from torch's own state, such as dropout; afterwards the state is as before.

    Args:
        device: Where is drawn.
        seed: What the numbers depend on, so that a resumed training repeats them.
    """
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        if device.type == "cpu":  # without the milliseconds that asking all other devices takes
            torch.default_generator.manual_seed(seed)
        else:
            torch.manual_seed(seed)
        yield


class KeyedNoise(TorchFunctionMode):
    """Draws `torch.rand_like` and `torch.randn_like` from a stream instead of torch's own state.

    Other random functions are left as they are; what they draw depends on how many replicas are
    stacked.

    Args:
        key: Of the replica's stream.
        step: Of the training.
    """

    def __init__(self, key: Tensor, step: Tensor) -> None:
        super().__init__()
        self.key, self.step, self.num_draws = key, step, 0

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Draw, or call the function as it is."""
        kwargs = kwargs or {}
        if func not in (torch.rand_like, torch.randn_like):
            return func(*args, **kwargs)
        x = args[0] if args else kwargs["input"]
        shape, dtype = tuple(x.shape), kwargs.get("dtype") or x.dtype
        numbers = self.draw(shape, dtype)
        if func is torch.randn_like:  # Box and Muller, 1958
            angle = 2 * math.pi * self.draw(shape, dtype)
            numbers = (-2 * (1 - numbers).log()).sqrt() * angle.cos()
        return numbers

    def draw(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """Return numbers in [0, 1)."""
        step = self.step * MOST_DRAWS + self.num_draws
        self.num_draws += 1
        return uniform(self.key, step, shape, dtype)[0].to(dtype)
