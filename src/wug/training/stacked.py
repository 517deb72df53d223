"""Many small replicas as one program: variants x seeds of one network.

A lot is stacked twice: over its groups (variants) and, inside, over seeds. What belongs to a group
(its range, its schedules, with shared streams its inputs) is not stacked over seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from typing import Any, Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.func import grad
from torch.utils import _pytree as pytree

from wug.core.schedules import Constant
from wug.functional.network_rules import has_rule
from wug.functional.sparsity import sparsity_error
from wug.functional.streams import stream_key
from wug.interfaces.interface import Batch, Interface
from wug.training.engine import Floats, Params, Progress, Tree, initial_module
from wug.training.moves import moved
from wug.training.noise import KeyedNoise, seeded
from wug.training.objective import objective, with_tensors
from wug.training.plan import Lot, Restart
from wug.training.programs import Program, make_program
from wug.training.pure_optimisers import PureOptimiser
from wug.training.restarts import NEVER, next_restarts
from wug.training.stacking import detached, in_order_of, stack, stack_over


class Stacked:
    """The programs and tensors of one lot.

    Args:
        lot: What to train.
        interface: Of its tasks.
        device: Where.
        compiled: Whether to compile the programs or to run their graphs.
    """

    name: Literal["stacked"] = "stacked"

    def __init__(
        self, lot: Lot, interface: Interface, *, device: torch.device, compiled: bool
    ) -> None:
        self.lot, self.interface, self.device, self.compiled = lot, interface, device, compiled
        plan = lot.plan
        self.sources = [
            variant.task.source(
                plan.batch_size, sampler=plan.sampler, curriculum=plan.curriculum, few_shapes=True
            )
            for variant in lot.variants
        ]
        self.source = self.sources[0]
        self.shape = len(lot.variants), len(lot.seeds)
        self.module = initial_module(lot, lot.seeds[0]).to(device)
        self.judged = deepcopy(self.module).eval()
        self.optimiser = cast(PureOptimiser, plan.optimiser.pure())
        self.traced = getattr(self.module, "stackable", True)
        modules = [initial_module(lot, seed) for seed in lot.seeds]
        params = self._all([detached(dict(module.named_parameters())) for module in modules])
        slots = {
            name: {str(slot): torch.zeros_like(value) for slot in range(self.optimiser.num_slots)}
            for name, value in params.items()
        }
        self.dtype = next(iter(params.values())).dtype
        self.tensors: Tree = {"params": params, "slots": slots}
        if has_rule(self.module, "update"):
            buffers = [detached(dict(module.named_buffers())) for module in modules]
            self.tensors["buffers"] = self._all(buffers)
        self.selected: Tree = self._judgeable()
        self._which: Literal["last", "selected"] = "last"
        self.groups, self.replicas = self._groups(), self._replicas(params)
        self.restarts = np.zeros(self.shape, np.int64)
        self.started = np.zeros(self.shape, np.int64)
        self._programs: dict[Any, Program] = {}
        self._parts: dict[tuple[str, int], Batch] = {}

    def _all(self, per_seed: Sequence[Any]) -> Any:
        """Stack trees of the seeds, the same for every group."""
        return self._to_device(stack([stack(per_seed)] * len(self.lot.variants)))

    def _to_device(self, tree: Any) -> Any:
        return pytree.tree_map(lambda tensor: tensor.to(self.device), tree)

    def _judgeable(self) -> Tree:
        """Return what makes a network: parameters, and buffers that training changes."""
        return {name: self.tensors[name] for name in ("params", "buffers") if name in self.tensors}

    def _groups(self) -> Tree:
        groups: list[Tree] = [{"values": source.values()} for source in self.sources]
        if self.lot.streams == "shared":
            for group, variant in zip(groups, self.lot.variants, strict=True):
                group["key"] = self.lot.key(variant)
        stacked: Tree = self._to_device(stack(groups))
        return stacked

    def _replicas(self, params: Params) -> Tree:
        rows = []
        for variant, source in zip(self.lot.variants, self.sources, strict=True):
            row: list[Tree] = [
                {"own": source.own(seed), "noise": self.lot.noise_key(variant, seed)}
                for seed in self.lot.seeds
            ]
            if self.lot.streams == "independent":
                for replica, seed in zip(row, self.lot.seeds, strict=True):
                    replica["key"] = self.lot.key(variant, seed)
            rows.append(stack(row))
        replicas: Tree = self._to_device(stack(rows))
        if self.lot.plan.terms_below is not None:
            replicas["terms_on"] = torch.zeros(self.shape, dtype=self.dtype, device=self.device)
        if self.lot.plan.patience:
            replicas["active"] = torch.ones(self.shape, dtype=torch.bool, device=self.device)
        if self.lot.plan.restart is not None:
            replicas["restart_at"] = torch.full(self.shape, NEVER, device=self.device)
            replicas["fresh"] = {name: value.clone() for name, value in params.items()}
        return replicas

    def _controls(self, start: int, end: int) -> list[tuple[Tensor, Tensor]]:
        """Return (step, controls) for each step of an interval; controls are (control, group)."""
        steps = np.arange(start, end)
        columns = []
        for variant in self.lot.variants:
            rows = self.optimiser.controls(steps, self.lot.rate(variant)(steps))
            terms = self.lot.terms(variant)
            weights = [terms.get(name, Constant(0.0))(steps) for name in self.lot.term_names]
            columns.append([*rows, *weights])
        table = torch.tensor(np.array(columns), dtype=self.dtype, device=self.device)
        numbers = torch.tensor(steps, device=self.device)
        return list(
            zip(numbers.unbind(), table.permute(2, 1, 0).contiguous().unbind(), strict=True)
        )

    def _step(self) -> Callable[..., Tree]:
        """Return the stacked step: (step, controls, groups, replicas, batch, tensors) -> tensors.

        ``controls`` holds (control, group): the optimiser's numbers and last the terms' weights.
        ``batch`` is empty if the step draws its own.
        """
        lot, plan, module, source = self.lot, self.lot.plan, self.module, self.source
        shared, names = lot.streams == "shared", lot.term_names
        terms = with_tensors(
            module, lambda network, batch: self.interface.terms(lot.task, network, batch, None)
        )

        def learn(step: Tensor, controls: Tensor, batch: Batch, replica: Tree, old: Tree) -> Tree:
            batch = source.finish(replica["own"], batch)
            rates, given = controls.split([len(controls) - len(names), len(names)])
            if "terms_on" in replica:
                given = given * replica["terms_on"]
            weights = {name: given[index] for index, name in enumerate(names)}
            buffers = old.get("buffers", {})

            noise = KeyedNoise(replica["noise"], step)

            def loss(params: Params) -> tuple[Tensor, Params]:
                with noise:
                    found, output = terms({**params, **buffers}, batch)
                return objective(module, params, found, output, weights), output.statistics

            gradients, statistics = grad(loss, has_aux=True)(old["params"])
            return moved(plan, module, step, rates, gradients, statistics, replica, old)

        def drawn(group: Tree, key: Tensor, step: Tensor, batch: Batch) -> Batch:
            return source.draw(group["values"], key, step, 0) if source.traced else batch

        def alone(
            step: Tensor, controls: Tensor, group: Tree, replica: Tree, batch: Batch, old: Tree
        ) -> Tree:
            batch = drawn(group, replica["key"], step, batch)
            return learn(step, controls, batch, replica, old)

        def together(
            step: Tensor, controls: Tensor, group: Tree, replicas: Tree, batch: Batch, old: Tree
        ) -> Tree:
            batch = drawn(group, group["key"], step, batch)
            over_replicas = stack_over(learn, module, (None, None, None, 0, 0))
            return cast(Tree, over_replicas(step, controls, batch, replicas, old))

        over_seeds = together if shared else stack_over(alone, module, (None, None, None, 0, 0, 0))
        return stack_over(over_seeds, module, (None, 1, 0, 0, 0, 0))

    def _evaluation(self, num_groups: int) -> Callable[..., dict[str, Tensor]]:
        """Return the stacked evaluation: (batch, own, tensors) -> counts by measure."""
        count = with_tensors(
            self.judged,
            lambda network, batch: self.interface.counts(
                self.lot.task, network, batch, None, num_groups
            ),
        )

        def evaluate(batch: Batch, own: Params, tensors: Tree) -> dict[str, Tensor]:
            everything = {**tensors["params"], **tensors.get("buffers", {})}
            counts, _ = count(everything, self.source.finish(own, batch))
            return cast(dict[str, Tensor], counts)

        over_seeds = stack_over(evaluate, self.judged, (None, 0, 0))
        return stack_over(over_seeds, self.judged, (0, 0, 0))

    def _observation(self) -> Callable[..., dict[str, Tensor]]:
        """Return the stacked observation: parameters -> sparsity and finiteness."""
        aggregate = getattr(self.judged, "sparsity_aggregate", "max")

        def observe(params: Params) -> dict[str, Tensor]:
            result = {"finite": torch.stack([v.isfinite().all() for v in params.values()]).all()}
            if hasattr(self.judged, "weights"):
                weights = cast(Any, self.judged).weights(params)
                result["sparsity"] = sparsity_error(weights, aggregate)
            return result

        return stack_over(stack_over(observe, self.judged, (0,)), self.judged, (0,))

    def _program(self, name: Any, make: Callable[[], Any], example: tuple[Any, ...]) -> Program:
        """Return the program of a name for the shapes of its arguments, made when first needed."""
        leaves = pytree.tree_leaves(example)
        shapes = (name, *(tuple(leaf.shape) for leaf in leaves))
        if shapes not in self._programs:
            unrolled = name != "step" and getattr(self.module, "unrolled", False)
            # What is read off the weights alone is small: to compile it takes longer.
            compiled = self.compiled and name != "observation"
            self._programs[shapes] = make_program(
                make(), example, compiled=compiled, traced=self.traced and not unrolled
            )
        return self._programs[shapes]

    def _batch(self, step: int, stage: int) -> Batch:
        """Return what the host draws for a step: a batch for each group, or for each replica."""
        groups = []
        for variant, source in zip(self.lot.variants, self.sources, strict=True):
            if self.lot.streams == "shared":
                groups.append(source.draw({}, self.lot.stream(variant), step, stage))
            else:
                seeds = self.lot.seeds
                keys = [self.lot.stream(variant, seed) for seed in seeds]
                groups.append(stack([source.draw({}, key, step, stage) for key in keys]))
        batch: Batch = self._to_device(stack(groups))
        return batch

    def advance(self, start: int, end: int, stage: int, until: float | None) -> Progress:
        """Train from a step up to another."""
        tensors, spec = pytree.tree_flatten(self.tensors)
        fixed = pytree.tree_leaves((self.groups, self.replicas))
        program: Program | None = None
        batch: Batch = {}
        # What `KeyedNoise` leaves to torch, such as dropout, a resumed run repeats, too.
        with seeded(self.device, stream_key("noise", self.lot.name, start)[0]):
            for number, (step, row) in enumerate(self._controls(start, end), start):
                if not self.source.traced:
                    batch = self._batch(number, stage)
                if program is None or batch:
                    now = pytree.tree_unflatten(tensors, spec)
                    example = step, row, self.groups, self.replicas, batch, now
                    program = self._program("step", self._step, example)
                leaves = pytree.tree_leaves(batch) if batch else ()
                tensors = list(program.flat(step, row, *fixed, *leaves, *tensors))
        self.tensors = pytree.tree_unflatten(tensors, spec)
        return Progress(step=end)

    def _part(self, split: str, index: int) -> Batch:
        if (split, index) not in self._parts:
            parts = [source.part(split, index) for source in self.sources]
            self._parts[split, index] = self._to_device(stack(parts))
        return self._parts[split, index]

    def evaluate(self, splits: Sequence[str]) -> dict[str, dict[str, Floats]]:
        """Return split -> measure -> sums and counts, (replica, group, 2)."""
        tensors = self._judgeable() if self._which == "last" else self.selected
        own, found = self.replicas["own"], {}
        for split in splits:
            num_groups = len(self.source.groups(split))
            totals: dict[str, Tensor] = {}
            for index in range(self.source.num_parts(split)):
                arguments = self._part(split, index), own, tensors
                make = partial(self._evaluation, num_groups)
                program = self._program(("evaluation", num_groups), make, arguments)
                for name, counts in program(*arguments).items():
                    totals[name] = totals[name] + counts if name in totals else counts
            found[split] = {
                name: total.reshape(-1, num_groups, 2).numpy(force=True)
                for name, total in totals.items()
            }
        return found

    def observe(self) -> dict[str, Floats]:
        """Return sparsity, where the weights spell a formula, and finiteness."""
        tensors = self._judgeable() if self._which == "last" else self.selected
        arguments = (tensors["params"],)
        program = self._program("observation", self._observation, arguments)
        return {
            name: value.double().flatten().numpy(force=True)
            for name, value in program(*arguments).items()
        }

    def heed(self, step: int, errors: Floats) -> None:
        """Switch terms on or off by the last error, and plan restarts by all of them."""
        plan = self.lot.plan
        if plan.terms_below is not None:
            on = torch.tensor(errors[-1] < plan.terms_below, device=self.device)
            self.replicas["terms_on"] = on.view(self.shape).to(self.dtype)
        if plan.restart is not None:
            self._plan_restarts(plan.restart, step, errors)

    def _plan_restarts(self, rule: Restart, step: int, errors: Floats) -> None:
        every = self.lot.plan.evaluate_every
        end = min(step + every, self.lot.plan.steps)
        restart_at = next_restarts(
            errors, every, self.started.ravel(), step, end, rule
        ).reshape(self.shape)  # fmt: skip
        for g, s in np.argwhere(restart_at != NEVER):
            self.restarts[g, s] += 1
            self.started[g, s] = restart_at[g, s] + 1
            fresh = initial_module(self.lot, self.lot.seeds[s], int(self.restarts[g, s]))
            for name, value in fresh.named_parameters():
                self.replicas["fresh"][name][g, s] = value.detach().to(self.device)
        self.replicas["restart_at"] = torch.tensor(restart_at, device=self.device)

    def keep(self, better: NDArray[np.bool_]) -> None:
        """Copy the weights of some replicas to their selected weights."""
        chosen = torch.tensor(better, device=self.device).view(self.shape)

        def choose(new: Tensor, old: Tensor) -> Tensor:
            return torch.where(chosen.view(self.shape + (1,) * (new.dim() - 2)), new, old)

        self.selected = pytree.tree_map(choose, self._judgeable(), self.selected)

    def rest(self, ended: NDArray[np.bool_]) -> None:
        """Leave the weights of some replicas as they are from now on."""
        self.replicas["active"] = torch.tensor(~ended, device=self.device).view(self.shape)

    def use(self, which: Literal["last", "selected"]) -> None:
        """Choose the weights that are evaluated and observed."""
        self._which = which

    def state(self) -> Tree:
        """Return the tensors of all replicas, and what is planned for them."""
        planned = ("terms_on", "active", "restart_at", "fresh")
        return {
            "tensors": self.tensors,
            "selected": self.selected,
            "restarts": torch.tensor(self.restarts),
            "started": torch.tensor(self.started),
            "replicas": {name: v for name, v in self.replicas.items() if name in planned},
        }

    def load_state(self, tree: Tree) -> None:
        """Go on from a state."""
        tree = in_order_of(self.state(), tree)
        self.tensors = self._to_device(tree["tensors"])
        self.selected = self._to_device(tree["selected"])
        self.restarts, self.started = tree["restarts"].numpy(), tree["started"].numpy()
        self.replicas |= self._to_device(tree["replicas"])

    def results(self) -> list[Params]:
        """Return the selected weights of each replica."""
        flat = {
            name: value.flatten(0, 1)
            for part in self.selected.values()
            for name, value in part.items()
        }
        count = len(self.lot.variants) * len(self.lot.seeds)
        return [{name: value[index] for name, value in flat.items()} for index in range(count)]

    def notes(self) -> list[dict[str, Any]]:
        """Return how often each replica started again."""
        return [{"restarts": int(count)} for count in self.restarts.ravel()]
