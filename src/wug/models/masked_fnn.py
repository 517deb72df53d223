"""Feed-forward network that learns its weights and a mask of them together (Csordás et al., 2021).

For tasks one after the other: what the masks of earlier tasks kept is frozen, the rest starts anew,
and a new mask says which of both the next task uses. How much is shared then shows how much of what
was learnt is used again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import UserError, require_at_least
from wug.core.registry import register
from wug.functional.initialise import fill_normal

# Keeps the logarithm of a uniform number finite.
TINY = 1e-6


def sampled(logits: Tensor, noise: Tensor) -> Tensor:
    """Return binary gates whose gradient is that of a soft choice (straight through).

    Equation (csordas2023, Eq. 3.1, 3.2, with one uniform number u for two): s = sigmoid(l + log u -
    log(1 - u)), b = [1(s > 0.5) - s]_stop + s.

    Example:
        >>> sampled(torch.tensor([9.0, -9.0]), torch.tensor([0.5, 0.5])).tolist()
        [1.0, 0.0]
    """
    u = noise.clamp(TINY, 1 - TINY)
    soft = torch.sigmoid(logits + (u / (1 - u)).log())
    return ((soft > 0.5).to(soft.dtype) - soft).detach() + soft


@register(
    "model",
    name="Masked FNN",
    references=("csordas2023", "csordas2021masks"),
    equation=r"h_l = \mathrm{relu}\left((M_l \odot W_l) h_{l-1} + m_l \odot b_l\right), \quad "
    r"M \sim \mathrm{Bernoulli}(\sigma(L))",
    failure_modes=(
        "The narrowest layer fills up first, and then has to share (csordas2023, figure 3.4).",
    ),
    interface="numbers",
)
class MaskedFNN(nn.Module):
    """Layers of rectified units whose weights and biases have gates.

    In training every part of the batch has a mask of its own, drawn from the gates; in evaluation a
    gate is open if its logit is above 0.

    Equation (csordas2023, Sec. 3.2.3, B.3.6): h_l = relu((M_l * W_l) h_(l-1) + m_l * b_l), the last
    layer without relu; frozen entries of W and b have no gradient.

    Notation:
        W_l, b_l -> weights, logits of M_l, m_l -> logits; a bias is the last column of a matrix.

    Departures:
        None beside the one uniform number of a sample.

    Args:
        in_features: Number of inputs.
        out_features: Number of outputs.
        hidden: Widths of the hidden layers.
        samples: Masks that are drawn in a step, each for its part of the batch.
        new_logit: Of gates of free weights, at the beginning.
        old_logit: Of gates of frozen weights, at the beginning.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (batch, in_features) -> (batch, out_features).

    Raises:
        UserError: A size is below 1.

    Example:
        >>> first = MaskedFNN(2, 1, hidden=(8, 4))
        >>> second = MaskedFNN(2, 1, hidden=(8, 4))
        >>> second.go_on_from(first)
        >>> tuple(bool(frozen.any()) for frozen in second.frozen)
        (False, True, True)
        >>> second(torch.ones(5, 2)).shape
        torch.Size([5, 1])

    References:
        csordas2023, csordas2021masks
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        hidden: Sequence[int] = (800, 800, 64),
        samples: int = 8,
        new_logit: float = 2.0,
        old_logit: float = 2.0,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        for name, size in (
            ("in_features", in_features), ("out_features", out_features), ("samples", samples),
            *(("hidden", size) for size in hidden),
        ):  # fmt: skip
            require_at_least("MaskedFNN", name, size, 1)
        self.in_features, self.out_features, self.samples = in_features, out_features, samples
        self.new_logit, self.old_logit = new_logit, old_logit
        pairs = list(pairwise((in_features, *hidden, out_features)))
        options: Any = {"device": device, "dtype": dtype}
        shapes = [(out, fan + 1) for fan, out in pairs]
        self.weights = nn.ParameterList(torch.empty(shape, **options) for shape in shapes)
        self.logits = nn.ParameterList(torch.empty(shape, **options) for shape in shapes)
        for index, shape in enumerate(shapes):
            frozen = torch.zeros(shape, dtype=torch.bool, device=device)
            self.register_buffer(f"frozen_{index}", frozen)
            self.register_buffer(f"old_{index}", torch.zeros(shape, **options))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights; nothing is frozen."""
        for weight, logits in zip(self.weights, self.logits, strict=True):
            fan_out, fan_in = weight.shape[0], weight.shape[1] - 1
            # Glorot's normal weights with the gain of rectifiers.
            fill_normal(weight, 0.0, (2 * 2 / (fan_in + fan_out)) ** 0.5, generator)
            nn.init.zeros_(weight[:, -1])
            nn.init.constant_(logits, self.new_logit)
        for buffer in self.buffers():
            buffer.zero_()

    @property
    def frozen(self) -> list[Tensor]:
        """Which weights of each layer are frozen, biases in the last column."""
        return [self.get_buffer(f"frozen_{index}") for index in range(len(self.weights))]

    @property
    def old(self) -> list[Tensor]:
        """The values of frozen weights."""
        return [self.get_buffer(f"old_{index}") for index in range(len(self.weights))]

    @property
    def masks(self) -> list[Tensor]:
        """Which gates of each layer are open in evaluation."""
        return [logits > 0 for logits in self.logits]

    def in_use(self) -> list[Tensor]:
        """Return the weights of each layer: the frozen ones, and those in training elsewhere."""
        return [
            torch.where(frozen, old, weight)
            for frozen, old, weight in zip(self.frozen, self.old, self.weights, strict=True)
        ]

    @torch.no_grad()
    def go_on_from(self, before: MaskedFNN) -> None:
        """Freeze what the network of the task before used, but for its first layer.

        Raises:
            UserError: It has other sizes.
        """
        if [w.shape for w in before.weights] != [w.shape for w in self.weights]:
            raise UserError("MaskedFNN: a network can only go on from one with the same sizes.")
        for index, values in enumerate(before.in_use()):
            if index:
                frozen = before.frozen[index] | before.masks[index]
                self.frozen[index].copy_(frozen)
                self.old[index].copy_(values)
                logits = torch.where(frozen, self.old_logit, self.new_logit)
                self.logits[index].copy_(logits)

    def forward(self, x: Tensor) -> Tensor:
        """Compute the network's output under masks that are drawn, or under the final one."""
        parts = self.samples if self.training and len(x) % self.samples == 0 else 1
        state: Tensor = x.unflatten(0, (parts, -1))
        last = len(self.weights) - 1
        for index, (values, logits) in enumerate(zip(self.in_use(), self.logits, strict=True)):
            gates = (logits > 0).to(values.dtype).unsqueeze(0)
            if self.training:
                each = logits.expand(parts, *logits.shape)
                gates = sampled(each, torch.rand_like(each))
            masked = values * gates
            state = torch.baddbmm(masked[:, None, :, -1], state, masked[..., :-1].mT)
            state = state if index == last else F.relu(state)
        return state.flatten(0, 1)

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Sum of the logits: closing gates is what the regulariser wants."""
        return torch.stack([params[f"logits.{i}"].sum() for i in range(len(self.logits))]).sum()

    def sharing(self) -> list[float]:
        """Return for each layer which share of the weights in use was frozen before."""
        return [
            float((mask & frozen).sum() / mask.sum().clamp(min=1))
            for mask, frozen in zip(self.masks, self.frozen, strict=True)
        ]
