"""One network at a time, with torch's own optimisers: for networks that fill a core."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils import _pytree as pytree

from wug.core.errors import UserError
from wug.functional.across_ranks import summing_over_ranks
from wug.functional.network_rules import has_rule, project_, update
from wug.functional.output import Output
from wug.functional.streams import stream_key
from wug.interfaces.interface import Batch, Interface, Terms
from wug.training.engine import Floats, Params, Progress, Tree, initial_module
from wug.training.moves import clip_groups
from wug.training.noise import seeded
from wug.training.objective import objective
from wug.training.plan import Lot
from wug.training.ranks import Ranks
from wug.training.shards import (
    as_shards,
    clip_norm,
    clip_value,
    load_weights,
    scalars_of,
    shard_network,
    split_groups,
    whole,
)

# What torch does with a larger one is no float any more; weights are lost long before.
LARGEST_RATE = 1e37


class Single:
    """One training of one network.

    Args:
        lot: What to train: one variant and one seed.
        interface: Of its task.
        device: Where.
        compiled: Whether to compile the step of a network that has one.
        ranks: The processes that train it together.
        shard: Whether each rank holds a part of the weights only.
    """

    name: Literal["single"] = "single"

    def __init__(
        self,
        lot: Lot,
        interface: Interface,
        *,
        device: torch.device,
        compiled: bool,
        ranks: Ranks | None = None,
        shard: bool = False,
    ) -> None:
        self.lot, self.interface, self.device = lot, interface, device
        self.ranks = ranks or Ranks()
        plan = lot.plan
        if self.ranks.several:
            self.ranks.require_shares(lot.name, plan.batch_size, plan.accumulation)
        if plan.restart is not None or plan.alternate or plan.terms_below is not None:
            raise UserError(
                f"Lot {lot.name}: restarts, alternating parameters and terms_below are parts of "
                "the stacked engine; leave them out or name that engine."
            )
        (self.variant,), (self.seed,) = lot.variants, lot.seeds
        self.task = self.variant.task
        self.network = initial_module(lot, self.seed).to(device)
        self._step: Callable[..., Any] | None = None
        if compiled and hasattr(self.network, "step"):
            # Programs of earlier trainings in this process would count against the limit.
            torch.compiler.reset()
            step: Callable[..., Any] = self.network.step  # type: ignore[assignment]
            # Else both numbers of a dropout's key would be drawn anew for every vector of a loop.
            self._step = torch.compile(step, dynamic=False, options={"fallback_random": True})
        self.source = self.task.source(
            plan.batch_size, sampler=plan.sampler, curriculum=plan.curriculum,
            few_shapes=self._step is not None,
        )  # fmt: skip
        self.values, self.own = self._to_device((self.source.values(), self.source.own(self.seed)))
        if self.source.learns and self.ranks.several:
            raise UserError(
                f"Lot {lot.name}: a sampler that goes by errors is for one process alone; choose "
                "another one."
            )
        if self.source.learns and not hasattr(interface, "wrong"):
            raise UserError(
                f"Lot {lot.name}: a sampler that goes by errors is for classification alone; "
                "choose another one."
            )
        sizes = interface.sizes(self.task)
        num_outputs = sizes.get("num_classes", sizes.get("out_features"))
        self.sharded = shard and self.ranks.several
        if self.sharded:
            shard_network(self.network, plan, lot.name, self.ranks.mesh(device.type))
        self.optimisers = plan.optimiser.make(self.network, num_outputs)
        # Of every optimiser: a parameter's number -> its number in checkpoints, where they differ.
        self._numbers = [split_groups(one) if self.sharded else {} for one in self.optimisers]
        self.averaged: AveragedModel | None = None
        if plan.averaging:
            mean = get_ema_multi_avg_fn(plan.averaging)
            self.averaged = AveragedModel(self.network, multi_avg_fn=mean).eval()
        self.carried: Any = None
        # Told each step: between two evaluations of a large network minutes may pass.
        self.on_step: Callable[[int], None] | None = None
        self.kept = {"selected": self.weights()}
        self._last: Params | None = None

    def _to_device(self, tree: Any) -> Any:
        return pytree.tree_map_only(Tensor, lambda tensor: tensor.to(self.device), tree)

    @property
    def judged(self) -> nn.Module:
        """The network that is evaluated: with the average of the latest weights, or the last."""
        return self.network if self.averaged is None else self.averaged.module

    @property
    def selected(self) -> Params:
        """The weights of the best evaluation."""
        return self.kept["selected"]

    def weights(self) -> Params:
        """Return a copy of the weights that are judged now."""
        return {name: whole(value).clone() for name, value in self.judged.state_dict().items()}

    def _key(self) -> Any:
        if self.source.traced:
            own = () if self.lot.streams == "shared" else (self.seed,)
            return self.lot.key(self.variant, *own).to(self.device)
        return (self.seed,)

    def batch(self, step: int, stage: int) -> Batch:
        """Return the batch of a step."""
        when: Any = torch.tensor(step, device=self.device) if self.source.traced else step
        batch = self.source.draw(self.values, self._key(), when, stage)
        finished: Batch = self.source.finish(self.own, self._to_device(batch))
        return finished

    @contextmanager
    def _training(self) -> Iterator[None]:
        """Use the compiled step in training alone: evaluation has other shapes."""
        self.network.train()
        if self._step is not None:
            self.network.step = self._step  # type: ignore[assignment]
        try:
            limit = self.source.num_shapes() + 1
            with torch._dynamo.config.patch(recompile_limit=limit):
                yield
        finally:
            self.network.__dict__.pop("step", None)
            self.network.eval()

    def _terms(self, batch: Batch, state: Any) -> tuple[Terms, Output]:
        low = self.lot.plan.precision == "bfloat16"
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=low):
            return self.interface.terms(self.task, self.network, batch, state)

    def _backward(self, batch: Batch, weights: Mapping[str, float]) -> tuple[Tensor, Params]:
        """Add the gradients of a batch, part by part; return the loss and the statistics."""
        parts = self.lot.plan.accumulation
        params = dict(self.network.named_parameters())
        total = torch.zeros((), device=self.device)
        statistics: Params = {}
        states: list[Any] = []
        # Sums are divided by the weights of the whole batch, means by the number of parts of it.
        divisors = self.interface.weights(self.task, batch)
        means = parts * self.ranks.world
        shares = {name: w if name in divisors else w / means for name, w in weights.items()}
        carried = split_rows(self.carried, parts)
        # An interface may know how parts have less padding than the whole.
        cut = getattr(self.interface, "split", split_rows)
        for piece, state in zip(cut(batch, parts), carried, strict=True):
            part = self.ranks.rows(piece)
            with summing_over_ranks(self.ranks.several):
                terms, output = self._terms(part, state)
                terms = {name: (value, divisors[name]) for name, (value, _) in terms.items()}
                loss = objective(self.network, params, terms, output, shares)
                loss.backward()
            total = total + loss.detach()
            if self.source.learns:
                wrong: Tensor = self.interface.wrong(part, output.answer)  # type: ignore[attr-defined]
                self.values = self.source.learn(self.values, part, wrong)
            states.append(pytree.tree_map_only(Tensor, Tensor.detach, output.state))
            for name, value in output.statistics.items():
                statistics[name] = statistics[name] + value if name in statistics else value
        if states[0] is not None:
            self.carried = pytree.tree_map(lambda *rows: torch.cat(rows), *states)
        # What is cut was summed on the way.
        left = scalars_of(self.network) if self.sharded else self.network.parameters()
        self.ranks.sum_gradients(left)
        for value in (total, *statistics.values()):
            self.ranks.sum_(value)
        return total, statistics

    def _move(self, rate: float) -> None:
        """Clip, step, update buffers' averages and project."""
        plan = self.lot.plan
        named = dict(self.network.named_parameters())
        if plan.clip is not None:
            norm = clip_norm if self.sharded else nn.utils.clip_grad_norm_
            value = clip_value if self.sharded else nn.utils.clip_grad_value_
            for names, limit in clip_groups(list(named), plan.clip):
                norm([named[name] for name in names], limit)
            if plan.clip.value is not None:
                value(named.values(), plan.clip.value)
        for optimiser in self.optimisers:
            for group in optimiser.param_groups:
                group["lr"] = min(rate, LARGEST_RATE)
            optimiser.step()

    def advance(self, start: int, end: int, stage: int, until: float | None) -> Progress:
        """Train from a step up to another, or until a moment; a first step is always taken."""
        steps = np.arange(start, end)
        rates = self.lot.rate(self.variant)(steps)
        schedules = self.lot.terms(self.variant)
        weights = {name: schedule(steps) for name, schedule in schedules.items()}
        projects, updates = (has_rule(self.network, rule) for rule in ("project", "update"))
        total = torch.zeros((), device=self.device)
        # Dropout depends on the training and the step alone, so a resumed run repeats it.
        own = (self.ranks.rank,) if self.ranks.rank else ()
        seed = stream_key("noise", self.lot.name, self.seed, start, *own)[0]
        with self._training(), seeded(self.device, seed):
            for index, rate in enumerate(rates.tolist()):
                now = {name: float(values[index]) for name, values in weights.items()}
                self.network.zero_grad(set_to_none=True)
                loss, statistics = self._backward(self.batch(start + index, stage), now)
                self._move(rate)
                if updates:
                    self._update(statistics)
                if projects:
                    project_(self.network)
                if self.averaged is not None:
                    self.averaged.update_parameters(self.network)
                total = total + loss
                if self.on_step is not None:
                    self.on_step(start + index + 1)
                if until is not None and self.ranks.same(time.monotonic() >= until):
                    end = start + index + 1
                    break
        return Progress(step=end, losses={"train": float(total) / (end - start)})

    @torch.no_grad()
    def _update(self, statistics: Params) -> None:
        buffers = dict(self.network.named_buffers())
        for name, value in update(self.network, buffers, statistics).items():
            buffers[name].copy_(value)

    @torch.no_grad()
    def evaluate(self, splits: Sequence[str]) -> dict[str, dict[str, Floats]]:
        """Return split -> measure -> sums and counts, (1, group, 2)."""
        self.judged.eval()
        found = {}
        for split in splits:
            num_groups = len(self.source.groups(split))
            totals: dict[str, Tensor] = {}
            state: Any = None  # carried from part to part, anew for each split
            for index in range(self.source.num_parts(split)):
                batch = self._to_device(self.source.part(split, index))
                batch = self.source.finish(self.own, batch)
                # A rank without rows of its own runs along with one that does not count.
                idle = self.ranks.rank >= len(next(iter(batch.values())))
                batch = pytree.tree_map(lambda x: x[:1], batch) if idle else self.ranks.rows(batch)
                counts, state = self.interface.counts(
                    self.task, self.judged, batch, state, num_groups
                )
                for name, count in counts.items():
                    count = count * (not idle)
                    totals[name] = totals[name] + count if name in totals else count
            found[split] = {
                name: self.ranks.sum_(total).unsqueeze(0).numpy(force=True)
                for name, total in totals.items()
            }
        return found

    def observe(self) -> dict[str, Floats]:
        """Return finiteness and the number of parameters."""
        weights = map(whole, self.judged.state_dict().values())
        finite = all(bool(value.isfinite().all()) for value in weights if value.is_floating_point())
        size = sum(value.numel() for value in self.network.parameters())
        return {"finite": np.array([float(finite)]), "num_parameters": np.array([float(size)])}

    def heed(self, step: int, errors: Floats) -> None:
        """Take note of nothing."""

    def keep(self, better: NDArray[np.bool_]) -> None:
        """Copy the weights to the selected ones."""
        if better[0]:
            self.keep_as("selected")

    def keep_as(self, name: str) -> None:
        """Copy the weights to those of a name."""
        self.kept[name] = self.weights()

    @torch.no_grad()
    def each(self, split: str) -> dict[str, NDArray[Any]]:
        """Return what the interface says of each example of a split, in the order of its parts."""
        self.judged.eval()
        parts = []
        for index in range(self.source.num_parts(split)):
            batch = self.source.finish(self.own, self._to_device(self.source.part(split, index)))
            parts.append(self.interface.each(self.task, self.judged, batch))  # type: ignore[attr-defined]
        return {name: torch.cat([part[name] for part in parts]).numpy(force=True)
                for name in parts[0]}  # fmt: skip

    def rest(self, ended: NDArray[np.bool_]) -> None:
        """Do nothing: the loop ends with its only replica."""

    def use(self, which: str) -> None:
        """Choose the weights that are evaluated and observed: the last ones, or those of a name."""
        if self._last is None:
            self._last = self.weights()
        load_weights(self.judged, self._last if which == "last" else self.kept[which])
        if which == "last":
            self._last = None

    def state(self) -> Tree:
        """Return weights, selected weights, optimisers' states and the carried state."""
        tree: Tree = {"network": {n: whole(v) for n, v in self.network.state_dict().items()},
                      "kept": self.kept}  # fmt: skip
        if self.averaged is not None:
            tree["averaged"] = self.averaged.state_dict()
        if self.source.learns:
            tree["learnt"] = dict(self.values)
        if self.carried is not None:
            rows = [self.ranks.all_rows(part) for part in self._carried_parts()]
            leaves = pytree.tree_leaves(pytree.tree_map(lambda *parts: torch.cat(parts), *rows))
            tree["carried"] = {str(index): leaf for index, leaf in enumerate(leaves)}
        tree["optimisers"] = {
            str(number): {
                str(self._numbers[number].get(index, index)): {
                    name: whole(torch.as_tensor(v)) for name, v in slots.items()
                }
                for index, slots in optimiser.state_dict()["state"].items()
            }
            for number, optimiser in enumerate(self.optimisers)
        }
        return tree

    def load_state(self, tree: Tree) -> None:
        """Go on from a state."""
        load_weights(self.network, tree["network"])
        self.kept = self._to_device(tree.get("kept") or {"selected": tree["selected"]})
        if self.averaged is not None:
            self.averaged.load_state_dict(tree["averaged"])
        for number, optimiser in enumerate(self.optimisers):
            saved = tree.get("optimisers", {}).get(str(number), {})
            state = {int(index): slots for index, slots in saved.items()}
            groups = optimiser.state_dict()["param_groups"]
            if self.sharded:
                parameters = [p for group in optimiser.param_groups for p in group["params"]]
                state = {
                    index: as_shards(state[there], parameters[index])
                    for index, there in self._numbers[number].items()
                    if there in state
                }
            optimiser.load_state_dict({"state": state, "param_groups": groups})
        if self.source.learns:
            self.values = self._to_device(tree["learnt"])
        if "carried" in tree:
            rows: Any = self.network.initial_state(self.lot.plan.batch_size)  # type: ignore[operator]
            _, spec = pytree.tree_flatten(rows)
            leaves = [tree["carried"][str(index)] for index in range(len(tree["carried"]))]
            everyone = pytree.tree_unflatten(leaves, spec)
            rows = [self.ranks.rows(p) for p in split_rows(everyone, self.lot.plan.accumulation)]
            mine = pytree.tree_map(lambda *parts: torch.cat(parts), *rows)
            self.carried = self._to_device(mine)

    def _carried_parts(self) -> list[Any]:
        return split_rows(self.carried, self.lot.plan.accumulation)

    def results(self) -> list[Params]:
        """Return the selected weights of the network."""
        return [self.selected]

    def notes(self) -> list[dict[str, Any]]:
        """Return nothing."""
        return [{}]


def split_rows(tree: Any, parts: int) -> list[Any]:
    """Cut a tree of tensors along its rows.

    Example:
        >>> [part["x"].tolist() for part in split_rows({"x": torch.arange(5)}, 2)]
        [[0, 1, 2], [3, 4]]
    """
    if parts == 1 or tree is None:
        return [tree] * parts
    leaves, spec = pytree.tree_flatten(tree)
    cut = [leaf.tensor_split(parts) for leaf in leaves]
    return [pytree.tree_unflatten([part[i] for part in cut], spec) for i in range(parts)]
