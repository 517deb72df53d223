"""Adaptive computation time (Graves, 2016; Dehghani et al., 2019): columns say when they are done.

After every step a column gives a probability to halt. When they add up to nearly 1, its output is
fixed: the mean of its states so far, weighted by these probabilities.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import require_at_least, require_choice
from wug.core.registry import register
from wug.functional.initialise import fill_uniform

VARIANTS = ("graves", "universal")


class Halting(NamedTuple):
    """How far the columns have come.

    Args:
        columns: The outputs so far, (batch, seq, features).
        spent: The sum of the weights so far.
        running: Whether a column has not halted; padding never runs.
        remainder: The weight of the state at which a column halted, 0 before.
        steps: In how many steps a column ran.

    Shape:
        All but the columns (batch, seq).
    """

    columns: Tensor
    spent: Tensor
    running: Tensor
    remainder: Tensor
    steps: Tensor


@register(
    "layer",
    name="Adaptive computation time",
    references=("csordas2023", "graves2016act", "dehghani2019"),
    equation=r"o^i = \sum_{t=1}^{T^i} p^{(i,t)} h^{(i,t)}, \qquad "
    r"p^{(i,t)} = \begin{cases} \hat p^{(i,t)} & t < T^i \\ "
    r"1 - \sum_{t < T^i} \hat p^{(i,t)} & t = T^i \end{cases}",
    failure_modes=(
        "It can't make a column wait for its turn: with it, no transformer looked tables up "
        "backwards on longer sequences (csordas2023, table D.2).",
        "Training is slow and sensitive to the weight of the remainder.",
    ),
    interface="loop",
)
class AdaptiveComputation(nn.Module):
    """Halting of columns, for a loop of any fixed number of steps.

    Columns that have halted go on being computed, and others may read them; only their outputs are
    fixed. So a fixed number of steps gives what stopping after the last column has halted gives.

    Equation (csordas2023, Eqs. D.1-D.5): o_i = sum_{t <= T_i} p_it h_it, p_it = sigmoid(W_H h_it +
    b_H) for t < T_i and R_i = 1 - sum_{t < T_i} p_it for t = T_i, the first step at which the
    probabilities add up to 1 - epsilon or more, or the last.

    Notation:
        W_H -> weight, b_H -> bias, R -> remainder, T -> steps.

    Departures:
        By its equations the unit reads the state that it weighs; the code of csordas2023 (both
        variants), as dehghani2019, reads the state before the step, which is an option. The mean
        remainder of a sequence is over its N columns; the code counts padding too, which is one.

    Args:
        features: Number of features of a column.
        variant: ``"graves"``, as above, or ``"universal"``: a column that has not halted at the
            last step has no remainder there, and every output is scaled by 1 - p before p h is
            added (dehghani2019, listings 1 and 2).
        epsilon: How much less than 1 is enough to halt.
        reads: Whether the unit reads the state ``"before"`` or ``"after"`` a step; by default after
            for graves, before for universal.
        count_padding: Whether padding counts, with remainder 0, in the mean remainder.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        Columns (batch, seq, features), valid (batch, seq).

    Raises:
        UserError: For unknown choices.

    Example:
        >>> halt, x = AdaptiveComputation(4), torch.randn(2, 3, 4)
        >>> state = halt.start(x)
        >>> for step in range(5):
        ...     before, x = x, x.tanh()
        ...     state = halt.step(state, before, x, last=step == 4)
        >>> columns, remainder, steps = halt.output(state)
        >>> columns.shape, remainder.shape, steps.shape
        (torch.Size([2, 3, 4]), torch.Size([]), torch.Size([2, 3]))

    References:
        csordas2023, graves2016act, dehghani2019
    """

    def __init__(
        self,
        features: int,
        *,
        variant: Literal["graves", "universal"] = "graves",
        epsilon: float = 0.01,
        reads: Literal["before", "after"] | None = None,
        count_padding: bool = False,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("AdaptiveComputation", "features", features, 1)
        require_choice("AdaptiveComputation", "variant", variant, VARIANTS)
        reads = reads or ("after" if variant == "graves" else "before")
        require_choice("AdaptiveComputation", "reads", reads, ("before", "after"))
        self.in_features = self.out_features = features
        self.variant, self.epsilon = variant, epsilon
        self.reads, self.count_padding = reads, count_padding
        self.weight = nn.Parameter(torch.empty(1, features, device=device, dtype=dtype))
        self.bias = nn.Parameter(self.weight.new_empty(1))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights, as torch does for a linear layer."""
        bound = 1 / math.sqrt(self.in_features)
        for parameter in self.parameters():
            fill_uniform(parameter, -bound, bound, generator)

    def start(self, x: Tensor, valid: Tensor | None = None) -> Halting:
        """Return the state before the first step on columns x."""
        none = torch.zeros_like(x[..., 0])
        running = torch.ones_like(none, dtype=torch.bool) if valid is None else valid
        steps = torch.zeros_like(none, dtype=torch.int64)
        return Halting(torch.zeros_like(x), none, running, none, steps)

    def step(self, state: Halting, before: Tensor, after: Tensor, last: bool) -> Halting:
        """Return the state after a step.

        Args:
            state: That before the step.
            before: The columns before the step.
            after: The columns after the step.
            last: Whether there is no further step.
        """
        read = before if self.reads == "before" else after
        chance = F.linear(read, self.weight, self.bias).squeeze(-1).sigmoid()
        running = state.running
        if last and self.variant == "graves":
            halts = running
        else:
            halts = running & (state.spent + chance >= 1 - self.epsilon)
        remainder = 1 - state.spent
        weight = torch.where(halts, remainder, chance) * running
        columns = state.columns
        if self.variant == "universal":
            columns = columns * (1 - weight).unsqueeze(-1)
        return Halting(
            columns=columns + weight.unsqueeze(-1) * after,
            spent=state.spent + weight,
            running=running & ~halts,
            remainder=torch.where(halts, remainder, state.remainder),
            steps=state.steps + running,
        )

    def output(self, state: Halting) -> tuple[Tensor, Tensor, Tensor]:
        """Return the columns, the mean remainder (a scalar) and the number of steps of each column.

        The mean remainder, times a weight, is added to the loss: it makes steps cost.
        """
        if self.count_padding:
            return state.columns, state.remainder.mean(), state.steps
        num_columns = (state.steps > 0).sum(-1).clamp(min=1)  # padding never ran
        return state.columns, (state.remainder.sum(-1) / num_columns).mean(), state.steps
