"""The Single Module Task (Mistry et al., 2022).

One unit, one operation on two of its inputs: train on a narrow range, test far outside. Nine
ranges show how much a unit depends on the numbers that it happened to see.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from wug.core.errors import UserError, require_at_least, require_choice, unknown_name
from wug.core.registry import register
from wug.functional.streams import (
    Intervals,
    fixed_from_intervals,
    from_intervals,
    interval_values,
)
from wug.functional.thresholds import simulate_threshold, threshold
from wug.sources.streams import SPLITS, NumberTask

OPERATIONS = ("add", "sub", "mul", "div")
# The reference draws these sets once, with these seeds, for every run.
EVALUATION_SEEDS = {"validation": 43953907, "ood_validation": 27182818, "test": 8689336}

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
INTERVAL = rf"\[({NUMBER}),({NUMBER})\)"

# Training range -> test range (mistry2022, table 3).
RANGES: dict[str, tuple[Intervals, Intervals]] = {
    "[-20,-10)": (((-20.0, -10.0),), ((-40.0, -20.0),)),
    "[-2,-1)": (((-2.0, -1.0),), ((-6.0, -2.0),)),
    "[-1.2,-1.1)": (((-1.2, -1.1),), ((-6.1, -1.2),)),
    "[-0.2,-0.1)": (((-0.2, -0.1),), ((-2.0, -0.2),)),
    "[-2,2)": (((-2.0, 2.0),), ((-6.0, -2.0), (2.0, 6.0))),
    "[0.1,0.2)": (((0.1, 0.2),), ((0.2, 2.0),)),
    "[1,2)": (((1.0, 2.0),), ((2.0, 6.0),)),
    "[1.1,1.2)": (((1.1, 1.2),), ((1.2, 6.0),)),
    "[10,20)": (((10.0, 20.0),), ((20.0, 40.0),)),
}


def parse_range(text: str) -> tuple[Intervals, Intervals]:
    """Read a training and test range: one of the nine, or ``"[3,4)>[4,8)"``.

    Two intervals of equal width are joined by ``u``, as in ``"[1,2)>[-6,-2)u[2,6)"``.

    Example:
        >>> parse_range("[3,4)>[4,8)")
        (((3.0, 4.0),), ((4.0, 8.0),))
    """
    name = text.replace(" ", "")
    if name in RANGES:
        return RANGES[name]
    halves = [
        tuple((float(low), float(high)) for low, high in re.findall(INTERVAL, half))
        for half in name.split(">")
    ]
    for half in halves:
        for low, high in half:
            if not low < high:
                raise UserError(
                    f"range [{low:g},{high:g}): the lower end must be below the upper; swap them."
                )
    if not re.fullmatch(r"#(u#)?>#(u#)?", re.sub(INTERVAL, "#", name)):
        raise UserError(f"{unknown_name('range', text, RANGES)} Or give both: '[3,4)>[4,8)'.")
    return halves[0], halves[1]


@register(
    "task",
    name="Single Module Task",
    references=("mistry2022",),
    equation=r"y = x_a \circ x_b, \qquad \circ \in \{+, -, \times, \div\}",
    claim="extrapolation",
    splits=SPLITS,
)
@dataclass(frozen=True, kw_only=True)
class SingleModule(NumberTask):
    """One operation on two inputs, trained on one range and tested on another.

    Departures:
        Training numbers come from counter-based streams instead of NumPy's legacy generator; the
        fixed validation and test sets use the reference's seeds. Targets are computed in the
        task's dtype, not in float64. The OOD validation set is ours.

    Args:
        operation: One of add, sub, mul, div.
        train: Intervals of the training and IID validation inputs, equally wide; each number
            picks one of them.
        test: Intervals of the OOD sets.
        num_inputs: Number of inputs, of which two are operands.
        operands: ``"adjacent"`` (two neighbours at a place drawn per seed, as the reference) or
            ``"random"`` (any two).
        epsilon: Error of a weight that still counts as solved.
        metric: How the OOD test error is measured: ``"mse"``, ``"mape"`` (mean absolute percentage
            error) or ``"pcc"`` (one minus Pearson's correlation).
        dtype: float32 or float64.

    Raises:
        UserError: For an unknown operation, a range upside down, or less than two inputs.

    Example:
        >>> task = SingleModule(operation="mul", train=((1.0, 2.0),), test=((2.0, 6.0),))
        >>> x, y = task.batch("train", torch.Generator().manual_seed(0), size=4)
        >>> bool(torch.equal(y[:, 0], x[:, 0] * x[:, 1])), f"{task.threshold():.3e}"
        (True, '1.202e-07')

    References:
        mistry2022
    """

    operation: str = "add"
    train: Intervals = ((1.0, 2.0),)
    test: Intervals = ((2.0, 6.0),)
    num_inputs: int = 2
    operands: Literal["adjacent", "random"] = "adjacent"
    epsilon: float = 1e-5
    metric: Literal["mse", "mape", "pcc"] = "mse"
    dtype: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_choice("SingleModule", "operation", self.operation, OPERATIONS)
        require_choice("SingleModule", "operands", self.operands, ("adjacent", "random"))
        require_choice("SingleModule", "metric", self.metric, ("mse", "mape", "pcc"))
        require_at_least("SingleModule", "num_inputs", self.num_inputs, 2)
        for intervals in (self.train, self.test):
            widths = {round(high - low, 12) for low, high in intervals}
            ordered = all(low < high for low, high in intervals)
            if not ordered or len(widths) != 1 or len(intervals) > 2:
                raise UserError(
                    "SingleModule: each range needs one or two intervals of one width with the "
                    f"lower end below the upper; got {intervals}."
                )

    @property
    def in_features(self) -> int:
        """Number of inputs."""
        return self.num_inputs

    def operand_places(self, seed: int) -> tuple[int, int]:
        """Return which two inputs are operands for this seed; they are the same in all splits."""
        rng = np.random.RandomState(seed)
        if self.operands == "random":
            first, second = rng.choice(self.num_inputs, size=2, replace=False)
            return int(first), int(second)
        offset = int(rng.randint(0, self.num_inputs - 1))
        return offset, offset + 1

    def input_values(self, split: str = "train") -> dict[str, Tensor]:
        """Return the numbers that shape the inputs and may differ between stacked tasks."""
        intervals = self.train if split in ("train", "validation") else self.test
        return interval_values(intervals, self.dtype)

    def target_values(self, seed: int) -> dict[str, Tensor]:
        """Return the numbers that shape the targets and may differ between replicas."""
        values = {"operation": torch.tensor(OPERATIONS.index(self.operation))}
        if self.num_inputs > 2:
            values["places"] = torch.tensor(self.operand_places(seed))
        return values

    def inputs(self, values: Mapping[str, Tensor], key: Tensor, step: Tensor, size: int) -> Tensor:
        """Draw a batch of inputs as a pure function of stream key and step."""
        # Drawn with the batch along the fast axis, along which compiled kernels run.
        return from_intervals(values, key, step, (self.num_inputs, size)).T

    def targets(self, values: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Compute the targets of a batch."""
        if self.num_inputs > 2:
            a, b = x.index_select(-1, values["places"]).split(1, -1)
        else:
            a, b = x[..., 0:1], x[..., 1:2]
        add, sub, mul = (values["operation"] == code for code in range(3))
        return torch.where(add, a + b, torch.where(sub, a - b, torch.where(mul, a * b, a / b)))

    def error(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Measure a test set by the task's metric."""
        if self.metric == "mape":
            return ((prediction - target) / target).abs().mean()
        if self.metric == "pcc":
            p, t = prediction - prediction.mean(), target - target.mean()
            return 1 - (p * t).mean() / (p.square().mean() * t.square().mean()).sqrt()
        return self.loss(prediction, target)

    def evaluation_inputs(self, split: str, size: int = 10_000) -> Tensor:
        """Return the fixed inputs of an evaluation split, the same for every seed."""
        require_choice("SingleModule", "split", split, EVALUATION_SEEDS)
        intervals = self.train if split == "validation" else self.test
        x = fixed_from_intervals(intervals, (size, self.num_inputs), EVALUATION_SEEDS[split])
        # Features slow in memory, as in training batches.
        return torch.tensor(x.T.copy(), dtype=self.dtype).T

    def threshold(self, *, simulated: bool = False, **options: Any) -> float:
        """Return the largest test error that counts as solved (see `wug.functional.thresholds`).

        Args:
            simulated: Whether to draw samples instead of using the closed form.
            **options: ``model``, ``epsilon``; for simulation ``samples`` and ``seed``.
        """
        compute = simulate_threshold if simulated else threshold
        settings: dict[str, Any] = {
            "num_inputs": self.num_inputs, "epsilon": self.epsilon, "metric": self.metric,
        }  # fmt: skip
        if simulated:
            settings["seed"] = EVALUATION_SEEDS["test"]
        return compute(self.operation, self.test, **(settings | options))
