"""Many small recurrent networks as one program: a time step is compiled, whatever the length.

A network that says ``recurrent = True`` has ``inputs(x)`` (the vectors of all time steps),
``initial_state(rows)`` and ``step(x, state)``, which returns an answer and the next state first and
draws no random numbers. A graph of a whole sequence would take minutes to compile, for every length
anew; here a loop goes over time, and only the loss and the optimiser's step are outside of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from wug.core.errors import UserError
from wug.functional.output import Output
from wug.functional.unrolled import Unrolled, run_graph
from wug.interfaces.interface import Batch
from wug.training.engine import Params, Tree
from wug.training.moves import moved
from wug.training.objective import objective, with_tensors
from wug.training.plan import Lot
from wug.training.programs import Program, compile_graph, make_program
from wug.training.stacked import Stacked
from wug.training.stacking import stack_over


class Said(nn.Module):
    """Stands for a network whose answer is known."""

    def __init__(self, answer: Tensor) -> None:
        super().__init__()
        self.answer = answer

    def forward(self, *inputs: Any, **options: Any) -> Output:
        """Return the answer."""
        return Output(self.answer)


class StackedSteps(Stacked):
    """The programs and tensors of one lot of recurrent networks; see `Stacked`."""

    def __init__(self, lot: Lot, *arguments: Any, **options: Any) -> None:
        super().__init__(lot, *arguments, **options)
        if "buffers" in self.tensors:
            raise UserError(
                f"Lot {lot.name}: recurrent networks whose buffers are updated can't be stacked; "
                "put each seed into a lot of its own and name the single engine."
            )
        self._unrolled: dict[Any, Unrolled] = {}
        self._inputs = with_tensors(self.module, lambda network, x: network.inputs(x))
        self._one_step = with_tensors(
            self.module, lambda network, state, x: network.step(x, state)[:2]
        )

    def _over_all(self, function: Callable[..., Any], *per_seed: bool) -> Callable[..., Any]:
        """Stack a function over groups and seeds; arguments without seeds have groups alone."""
        over_seeds = stack_over(
            function, self.module, tuple(0 if own else None for own in per_seed)
        )
        return stack_over(over_seeds, self.module, (0,) * len(per_seed))

    def answers(self, params: Params, inputs: Tensor, *, per_seed: bool) -> Tensor:
        """Run all networks over all time steps.

        Args:
            params: Of all replicas.
            inputs: Vectors or tokens, for each group or, with ``per_seed``, for each replica.
            per_seed: Whether the seeds of a group have inputs of their own.

        Shape:
            inputs (group, row, seq, ...) or (group, seed, row, seq, ...) ->
            (group, seed, row, seq, out).
        """
        tokens = not inputs.is_floating_point()
        if tokens:  # every network embeds them in its own way
            vectors = self._over_all(self._inputs, True, per_seed)(params, inputs)
        elif self.lot.streams == "independent" and not per_seed:
            vectors = inputs.unsqueeze(1).expand(-1, self.shape[1], *inputs.shape[1:])
        else:
            vectors = inputs
        xs = vectors.movedim(-2, 0)
        state = pytree.tree_map(
            lambda part: part.expand(*self.shape, *part.shape),
            cast(Any, self.module).initial_state(xs.shape[-2]),
        )
        if xs.shape[1:] not in self._unrolled:
            own = tokens or self.lot.streams == "independent"
            self._unrolled[xs.shape[1:]] = Unrolled(
                self._over_all(self._one_step, True, True, own), params, state,
                xs[0].detach().requires_grad_(tokens),
                compile=compile_graph if self.compiled else run_graph,
            )  # fmt: skip
        said, _ = self._unrolled[xs.shape[1:]](params, state, xs)
        return said.movedim(0, -2)

    def _step(self) -> Callable[..., Tree]:
        """Return the stacked step; arguments as for `Stacked`."""
        lot, names = self.lot, self.lot.term_names
        shared = lot.streams == "shared"
        program: list[Program] = []

        def loss(
            params: Params, said: Tensor, weights: Tensor, replica: Tree, batch: Batch
        ) -> Tensor:
            if "terms_on" in replica:
                weights = weights * replica["terms_on"]
            found, output = self.interface.terms(lot.task, Said(said), batch, None)
            named = {name: weights[index] for index, name in enumerate(names)}
            return objective(self.module, params, found, output, named)

        def move(step: Tensor, rates: Tensor, gradients: Params, replica: Tree, old: Tree) -> Tree:
            return moved(self.lot.plan, self.module, step, rates, gradients, {}, replica, old)

        def advance(
            step: Tensor, controls: Tensor, groups: Tree, replicas: Tree, batch: Batch, old: Tree
        ) -> Tree:
            rates, weights = controls.split([len(controls) - len(names), len(names)])
            weights = weights.mT.unsqueeze(1).expand(*self.shape, -1)
            with torch.enable_grad():
                params = {n: v.detach().requires_grad_() for n, v in old["params"].items()}
                said = self.answers(params, batch["inputs"], per_seed=not shared)
                over_all = self._over_all(loss, True, True, True, True, not shared)
                total = over_all(params, said, weights, replicas, batch).sum()
                found = torch.autograd.grad(total, list(params.values()))
            gradients = dict(zip(params, found, strict=True))
            arguments = step, rates, gradients, replicas, old
            if not program:
                over_seeds = stack_over(move, self.module, (None, None, 0, 0, 0))
                over_groups = stack_over(over_seeds, self.module, (None, 1, 0, 0, 0))
                program.append(make_program(over_groups, arguments, compiled=self.compiled))
            return cast(Tree, program[0](*arguments))

        return advance

    def _evaluation(self, num_groups: int) -> Callable[..., dict[str, Tensor]]:
        """Return the stacked evaluation: (batch, own, tensors) -> counts by measure."""

        def count(said: Tensor, batch: Batch) -> dict[str, Tensor]:
            return self.interface.counts(self.lot.task, Said(said), batch, None, num_groups)[0]

        def evaluate(batch: Batch, own: Params, tensors: Tree) -> dict[str, Tensor]:
            said = self.answers(tensors["params"], batch["inputs"], per_seed=False)
            return cast(dict[str, Tensor], self._over_all(count, True, False)(said, batch))

        return evaluate

    def _program(self, name: Any, make: Callable[[], Any], example: tuple[Any, ...]) -> Program:
        """Return the program of a name, which a loop over time makes one for all lengths."""
        if name == "observation":
            return super()._program(name, make, example)
        if name not in self._programs:
            self._programs[name] = make_program(make(), example, compiled=False, traced=False)
        return self._programs[name]
