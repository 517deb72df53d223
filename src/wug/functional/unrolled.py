"""A recurrent step as two small programs, forward and backward, that a loop calls.

A graph of a whole sequence takes minutes to compile; a loop of single operations spends its time
between them. Here one time step is traced and compiled, with its gradient, whatever the length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.fx import GraphModule
from torch.utils import _pytree as pytree

Compile = Callable[[GraphModule, list[Tensor]], Callable[..., Sequence[Any]]]


def run_graph(graph: GraphModule, inputs: list[Tensor]) -> Callable[..., Sequence[Any]]:
    """Take a graph as it is: nothing is compiled."""
    return graph


class Unrolled:
    """A step over all steps of a sequence, with gradients for parameters, state and inputs.

    Args:
        step: Pure; (parameters, state, x) -> (answer, next state), each a tensor or a tree of
            them; the state keeps its shapes. May be stacked by `vmap`.
        params: Example of the parameters, or the parameters themselves.
        state: Example of the state.
        x: Example of the inputs of one step; only if it requires gradients, inputs get some.
        compile: What makes a program of a graph and the inputs that it was traced with.

    Example:
        >>> add = Unrolled(lambda w, s, x: (s + x, s + w * x), torch.ones(1), torch.zeros(1),
        ...                torch.zeros(1))
        >>> weight = torch.ones(1, requires_grad=True)
        >>> answers, state = add(weight, torch.zeros(1), torch.tensor([[1.0], [2.0]]))
        >>> answers.sum().backward()
        >>> answers.tolist(), state.tolist(), weight.grad.tolist()
        ([[1.0], [3.0]], [3.0], [1.0])
    """

    def __init__(
        self,
        step: Callable[[Any, Any, Tensor], tuple[Tensor, Any]],
        params: Any,
        state: Any,
        x: Tensor,
        *,
        compile: Compile = run_graph,
    ) -> None:
        # These import torch's compiler, which takes two seconds: only where a step is traced.
        from functorch.compile import (  # type: ignore[import-untyped]
            aot_function,
            make_boxed_func,
            min_cut_rematerialization_partition,
        )
        from torch._inductor.decomposition import select_decomp_table

        leaves, spec = pytree.tree_flatten((params, state))
        self.num_params = len(pytree.tree_leaves(params))
        self.num_outputs = 1 + len(leaves) - self.num_params
        graphs: dict[str, tuple[GraphModule, list[Tensor]]] = {}

        def flat(x: Tensor, *leaves: Tensor) -> tuple[Tensor, ...]:
            params, state = pytree.tree_unflatten(list(leaves), spec)
            answer, after = step(params, state, x)
            return (answer, *pytree.tree_leaves(after))

        def keep(name: str) -> Callable[[GraphModule, list[Tensor]], Any]:
            def compiler(graph: GraphModule, inputs: list[Tensor]) -> Any:
                graphs[name] = graph, list(inputs)
                return make_boxed_func(graph)

            return compiler

        traced = aot_function(
            flat,
            fw_compiler=keep("forward"),
            bw_compiler=keep("backward"),
            partition_fn=min_cut_rematerialization_partition,
            # In small operations, what is cheap to compute anew is not kept.
            decompositions=select_decomp_table(),
        )
        examples = [leaf.detach().clone().requires_grad_() for leaf in leaves]
        with torch.enable_grad():
            # In the layout of the loop: a program is made for one, and the example may be a view.
            first = x.detach().clone(memory_format=torch.contiguous_format)
            outputs = traced(first.requires_grad_(x.requires_grad), *examples)
            torch.autograd.backward(outputs, [torch.zeros_like(output) for output in outputs])
        self.forward, self.backward = (compile(*graphs[name]) for name in ("forward", "backward"))

    def __call__(self, params: Any, state: Any, xs: Tensor) -> tuple[Tensor, Any]:
        """Run all steps: their answers and the state after the last.

        Shape:
            xs (seq, as the example of x) -> answers (seq, as an answer of the step).
        """
        states, spec = pytree.tree_flatten(state)
        leaves = (*pytree.tree_leaves(params), *states)
        answers, *after = _Loop.apply(self, xs, *leaves)  # type: ignore[no-untyped-call]
        return answers, pytree.tree_unflatten(after, spec)


class _Loop(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, programs: Unrolled, xs: Tensor, *leaves: Tensor) -> tuple[Tensor, ...]:
        params, state = leaves[: programs.num_params], leaves[programs.num_params :]
        ctx.programs, ctx.tape, ctx.params = programs, [], params
        answers = []
        for x in xs.contiguous():
            # Programs expect the layout that they were compiled for.
            state = tuple(part.contiguous() for part in state)
            answer, *rest = programs.forward(x, *params, *state)
            state = tuple(rest[: programs.num_outputs - 1])
            answers.append(answer)
            if any(ctx.needs_input_grad):
                ctx.tape.append(rest[programs.num_outputs - 1 :])
        # As copies: what the tape keeps must not lead back to what keeps the tape.
        return torch.stack(answers), *(part.clone() for part in state)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        if not ctx.tape:
            raise RuntimeError(
                "Unrolled: gradients can be taken once; what they need was let go. Run it again."
            )
        programs, of_answers = ctx.programs, gradients[0].contiguous()
        of_state: list[Tensor] = list(gradients[1:])
        of_params = [torch.zeros_like(param) for param in ctx.params]
        of_inputs = []
        while ctx.tape:  # what a step kept is let go with it
            tangents = [part.contiguous() for part in of_state]
            saved = ctx.tape.pop()
            of_x, *rest = programs.backward(*saved, of_answers[len(ctx.tape)], *tangents)
            found = zip(of_params, rest[: programs.num_params], strict=True)
            # A step may leave out a parameter, such as an embedding that was applied before.
            sums, parts = zip(*(pair for pair in found if pair[1] is not None), strict=True)
            torch._foreach_add_(list(sums), list(parts))
            # What a step detaches from its state has no gradient.
            of_state = [
                torch.zeros_like(tangent) if part is None else part
                for part, tangent in zip(rest[programs.num_params :], tangents, strict=True)
            ]
            of_inputs.append(of_x)
        of_xs = None if of_inputs[0] is None else torch.stack(of_inputs[::-1])
        return None, of_xs, *of_params, *of_state
