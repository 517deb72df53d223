"""Trains one lot: builds its programs, runs them, evaluates, checkpoints and judges."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from wug.core.schedules import Constant
from wug.functional.streams import stream_key
from wug.training.checkpoint import load_checkpoint, save_checkpoint
from wug.training.optimisers import OPTIMISERS
from wug.training.outcome import judge
from wug.training.plan import Lot, Restart, Variant
from wug.training.programs import make_program
from wug.training.replica import Params, State, make_evaluation, make_observation, make_step
from wug.training.restarts import NEVER, next_restarts

SPLITS = ("validation", "test")
LARGEST_KEPT = 64
MOST_ROWS = 200

OnProgress = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, kw_only=True)
class Result:
    """One trained replica.

    Args:
        labels: Of its group.
        seed: Its seed.
        outcome: See `judge`; with the selected weights if they are few.
        curves: ``step`` and, for each row, the errors; long ones are thinned.
        config: Of its group.
    """

    labels: Mapping[str, str]
    seed: int
    outcome: dict[str, Any]
    curves: dict[str, list[float]]
    config: Mapping[str, Any]


@dataclass
class Memory:
    """Everything that a checkpoint must hold to go on as if nothing had happened.

    The curves, (row, group, seed), are as long as they will get from the start: a small tensor per
    row would stay on the heap between the large ones of an evaluation, and the heap would grow.
    """

    state: State
    best: Params
    best_error: Tensor
    curves: dict[str, Tensor] = field(default_factory=dict)
    num_rows: int = 0
    restarts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    started: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    step: int = 0


def initial_module(lot: Lot, seed: int, restarts: int = 0) -> nn.Module:
    """Build a replica's module with the weights of its start or of its n-th restart."""
    generator = torch.Generator().manual_seed(seed)
    module = lot.build(generator)
    redraw = getattr(module, "restart_parameters", getattr(module, "reset_parameters", None))
    for _ in range(restarts):
        if redraw is None:
            raise TypeError(f"{type(module).__name__}: restarts need a reset_parameters method.")
        redraw(generator)
    return module


def detached(module: nn.Module) -> Params:
    """Return a module's parameters as a plain dict of tensors."""
    return {name: value.detach().clone() for name, value in module.named_parameters()}


def stack(trees: Sequence[Any]) -> Any:
    """Stack equal trees of tensors along a new first axis."""
    return pytree.tree_map(lambda *leaves: torch.stack(leaves), *trees)


class Fleet:
    """The stacked programs and tensors of one lot.

    Args:
        lot: What to train.
        device: Where.
        compiled: Whether to compile the programs or to run their graphs.
    """

    def __init__(self, lot: Lot, *, device: torch.device, compiled: bool) -> None:
        self.lot, self.device = lot, device
        self.module = initial_module(lot, lot.seeds[0]).to(device)
        self.optimiser = OPTIMISERS[lot.plan.optimiser]()
        self.dtype = lot.variants[0].task.dtype
        params = stack([detached(initial_module(lot, seed)) for seed in lot.seeds])
        params = self._to_device(stack([params] * len(lot.variants)))
        slots = {
            name: [torch.zeros_like(value) for _ in range(self.optimiser.num_slots)]
            for name, value in params.items()
        }
        shape = (len(lot.variants), len(lot.seeds))
        self.groups, self.replicas = self._groups(), self._replicas(params)
        self.sets = {
            split: self._to_device(
                stack([variant.task.evaluation_inputs(split).mT for variant in lot.variants])
            ).mT
            for split in SPLITS
        }
        self.memory = Memory(
            state={"params": params, "slots": slots},
            best=params,
            best_error=torch.full(shape, torch.inf, device=device, dtype=torch.float64),
            restarts=np.zeros(shape, np.int64),
            started=np.zeros(shape, np.int64),
        )
        step, row = self._controls(0, 1)[0]
        traced = getattr(self.module, "stackable", True)
        self.step_program = make_program(
            make_step(lot, self.module),
            (step, row, self.groups, self.replicas, self.memory.state),
            compiled=compiled, traced=traced,
        )  # fmt: skip
        self.evaluation_program = make_program(
            make_evaluation(lot, deepcopy(self.module).eval()),
            (self.sets, self.replicas["targets"], params),
            compiled=compiled, traced=traced and not getattr(self.module, "unrolled", False),
        )  # fmt: skip

    @property
    def num_rows(self) -> int:
        """Number of evaluations of a whole training."""
        return -(-self.lot.plan.steps // self.lot.plan.evaluate_every) + 1

    def _to_device(self, tree: Any) -> Any:
        return pytree.tree_map(lambda tensor: tensor.to(self.device), tree)

    def _key(self, variant: Variant, *rest: int) -> Tensor:
        data = [(name, variant.labels[name]) for name in sorted(variant.stream)]
        return torch.tensor(stream_key("train", *data, *rest))  # type: ignore[arg-type]

    def _noise(self, variant: Variant, seed: int) -> Tensor:
        return torch.tensor(stream_key("noise", str(sorted(variant.labels.items())), seed))

    def _groups(self) -> State:
        groups = [{"inputs": variant.task.input_values()} for variant in self.lot.variants]
        if self.lot.streams == "shared":
            for group, variant in zip(groups, self.lot.variants, strict=True):
                group["key"] = self._key(variant)  # type: ignore[assignment]
        stacked: State = self._to_device(stack(groups))
        return stacked

    def _replicas(self, params: Params) -> State:
        rows = []
        for variant in self.lot.variants:
            row = [
                {"targets": variant.task.target_values(seed), "noise": self._noise(variant, seed)}
                for seed in self.lot.seeds
            ]
            if self.lot.streams == "independent":
                for replica, seed in zip(row, self.lot.seeds, strict=True):
                    replica["key"] = self._key(variant, seed)
            rows.append(stack(row))
        replicas: State = self._to_device(stack(rows))
        shape = (len(self.lot.variants), len(self.lot.seeds))
        if self.lot.plan.penalty_below is not None:
            replicas["penalty_on"] = torch.zeros(shape, dtype=self.dtype, device=self.device)
        if self.lot.plan.restart is not None:
            replicas["restart_at"] = torch.full(shape, NEVER, device=self.device)
            replicas["fresh"] = {name: value.clone() for name, value in params.items()}
        return replicas

    def _controls(self, start: int, end: int) -> list[tuple[Tensor, Tensor]]:
        """Return (step, controls) for each step of an interval; controls are (control, group)."""
        steps = np.arange(start, end)
        columns = []
        for variant in self.lot.variants:
            rows = self.optimiser.controls(steps, variant.learning_rate(steps))
            weights = [
                variant.penalties.get(name, Constant(0.0))(steps) for name in self.lot.penalties
            ]
            columns.append([*rows, *weights])
        table = torch.tensor(np.array(columns), dtype=self.dtype, device=self.device)
        numbers = torch.tensor(steps, device=self.device)
        return list(
            zip(numbers.unbind(), table.permute(2, 1, 0).contiguous().unbind(), strict=True)
        )

    def evaluate(self) -> None:
        """Add a row to the curves, keep the best parameters, and plan gates and restarts."""
        memory, plan = self.memory, self.lot.plan
        row = self.evaluation_program(self.sets, self.replicas["targets"], memory.state["params"])
        for name, value in row.items():
            if name not in memory.curves:
                shape = (self.num_rows, *value.shape)
                memory.curves[name] = value.new_zeros(shape, dtype=torch.float64)
            memory.curves[name][memory.num_rows] = value
        memory.num_rows += 1
        error = row["validation"].to(torch.float64)
        better = error < memory.best_error
        memory.best_error = torch.where(better, error, memory.best_error)
        memory.best = {
            name: torch.where(better.view(better.shape + (1,) * (value.dim() - 2)), value, old)
            for (name, value), old in zip(
                memory.state["params"].items(), memory.best.values(), strict=True
            )
        }
        if plan.penalty_below is not None:
            self.replicas["penalty_on"] = (error < plan.penalty_below).to(self.dtype)
        if plan.restart is not None:
            self._plan_restarts(plan.restart)

    def _plan_restarts(self, rule: Restart) -> None:
        plan, memory = self.lot.plan, self.memory
        validation = memory.curves["validation"][: memory.num_rows].numpy(force=True)
        end = min(memory.step + plan.evaluate_every, plan.steps)
        restart_at = next_restarts(
            validation.reshape(len(validation), -1), plan.evaluate_every,
            memory.started.ravel(), memory.step, end, rule,
        ).reshape(memory.started.shape)  # fmt: skip
        for g, s in np.argwhere(restart_at != NEVER):
            memory.restarts[g, s] += 1
            memory.started[g, s] = restart_at[g, s] + 1
            fresh = initial_module(self.lot, self.lot.seeds[s], int(memory.restarts[g, s]))
            for name, value in detached(fresh).items():
                self.replicas["fresh"][name][g, s] = value.to(self.device)
        self.replicas["restart_at"] = torch.tensor(restart_at, device=self.device)

    def advance(self, end: int) -> None:
        """Train up to step ``end``."""
        fixed = pytree.tree_leaves((self.groups, self.replicas))
        state, spec = pytree.tree_flatten(self.memory.state)
        program = self.step_program.flat
        devices = [self.device] if self.device.type == "cuda" else []
        with torch.random.fork_rng(devices):
            # What `KeyedNoise` leaves to torch, such as dropout, a resumed run repeats, too.
            torch.manual_seed(stream_key("noise", self.lot.name, self.memory.step)[0])
            for step, row in self._controls(self.memory.step, end):
                state = list(program(step, row, *fixed, *state))
        self.memory.state, self.memory.step = pytree.tree_unflatten(state, spec), end

    def train(
        self,
        *,
        checkpoint: Path | None = None,
        checkpoint_seconds: float = 20.0,
        on_progress: OnProgress | None = None,
    ) -> list[Result]:
        """Train to the end, from a checkpoint if there is one, and judge every replica.

        Args:
            checkpoint: File to resume from and to save to; none means no checkpoints.
            checkpoint_seconds: Least time between two saves.
            on_progress: Called after each evaluation with how far it is and with `medians`.
        """
        plan, memory = self.lot.plan, self.memory
        if checkpoint is not None and load_checkpoint(checkpoint, self):
            memory = self.memory
        else:
            self.evaluate()
        saved = began = time.monotonic()
        first = memory.step
        while memory.step < plan.steps:
            self.advance(min(memory.step + plan.evaluate_every, plan.steps))
            self.evaluate()
            now = time.monotonic()
            if checkpoint is not None and now - saved >= checkpoint_seconds:
                save_checkpoint(checkpoint, self)
                saved = time.monotonic()
            if on_progress is not None:
                rate = (memory.step - first) * self.lot.num_replicas / max(now - began, 1e-9)
                on_progress({**self.medians(), "step": memory.step, "steps": plan.steps,
                             "rate": rate, "replicas": self.lot.num_replicas})  # fmt: skip
        return self.results()

    def medians(self) -> dict[str, float]:
        """Return the last row of the curves as medians over the replicas, to three digits."""
        last = {name: rows[self.memory.num_rows - 1] for name, rows in self.memory.curves.items()}
        del last["finite"]
        return {name: float(f"{row.nanmedian().item():.3g}") for name, row in last.items()}

    def results(self) -> list[Result]:
        """Judge every replica by its curves."""
        memory, plan = self.memory, self.lot.plan
        rows = {
            name: values[: memory.num_rows].numpy(force=True)
            for name, values in memory.curves.items()
        }
        finite = rows.pop("finite").astype(bool)[-1]
        num_rows = len(rows["validation"])
        steps = np.minimum(np.arange(num_rows) * plan.evaluate_every, plan.steps).astype(float)
        stride = max(-(-num_rows // MOST_ROWS), 1)
        observe = make_observation(self.lot, deepcopy(self.module).eval())
        observed = {} if self.lot.observe is None else observe(self.sets["validation"], memory.best)
        results = []
        for g, variant in enumerate(self.lot.variants):
            threshold = variant.task.threshold()
            for s, seed in enumerate(self.lot.seeds):
                curves = {name: values[:, g, s] for name, values in rows.items()}
                outcome = judge(steps, curves, threshold, bool(finite[g, s]))
                outcome["restarts"] = int(memory.restarts[g, s])
                outcome.update({name: float(value[g, s]) for name, value in observed.items()})
                weights = {name: value[g, s] for name, value in memory.best.items()}
                if sum(value.numel() for value in weights.values()) <= LARGEST_KEPT:
                    outcome["weights"] = {name: value.tolist() for name, value in weights.items()}
                results.append(
                    Result(
                        labels=variant.labels,
                        seed=seed,
                        outcome=outcome,
                        config=variant.config,
                        curves={
                            name: curve[::stride].tolist()
                            for name, curve in {"step": steps, **curves}.items()
                        },
                    )  # fmt: skip
                )
        return results
