"""From a pure function of tensors to a fast program.

The function is traced once to a flat graph of tensor operations; with a C++ compiler (or a GPU)
TorchInductor turns the graph into one fused kernel, without one the graph itself is run. Calling
the artifact directly spares the guards of `torch.compile`, which cost more than a small step.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

from wug.core.paths import cache_folder

Compile = Literal["auto", "on", "off"]


def use_cache_folder() -> None:
    """Keep compiled programs in the user's cache folder, unless torch was told another."""
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache_folder() / "programs"))


@cache
def can_compile(device_type: str) -> bool:
    """Say whether a trivial function can be compiled for this kind of device."""
    x = torch.zeros(8, device=device_type)
    try:
        compile_graph(make_fx(lambda x: x + 1)(x), [x])(x)
    except Exception:  # whatever the toolchain raises, the answer is no
        return False
    return True


def wants_compile(choice: Compile, device: torch.device) -> bool:
    """Resolve ``auto|on|off``: auto compiles where a trivial function compiles."""
    return choice == "on" or (choice == "auto" and can_compile(device.type))


def compile_graph(
    graph: torch.fx.GraphModule, example: list[Tensor]
) -> Callable[..., Sequence[Tensor]]:
    """Compile a traced graph with TorchInductor; results are cached on disk."""
    use_cache_folder()
    from torch._inductor import standalone_compile

    # A traced view is one of the layouts that were traced; compiled operations may choose others.
    for node in graph.graph.find_nodes(op="call_function", target=torch.ops.aten.view.default):
        node.target = torch.ops.aten.reshape.default
    graph.recompile()

    with warnings.catch_warnings():
        # Inductor and the libraries that it loads warn about their own deprecations.
        warnings.simplefilter("ignore")
        return standalone_compile(graph, list(example), dynamic_shapes="from_example_inputs")


@dataclass(frozen=True)
class Program:
    """A pure function on trees of tensors, and the same on flat lists for tight loops.

    Args:
        flat: Takes the leaves of the arguments, returns the leaves of the result.
        out_spec: The tree of the result.
    """

    flat: Callable[..., Sequence[Tensor]]
    out_spec: pytree.TreeSpec

    def __call__(self, *arguments: Any) -> Any:
        """Call with trees of tensors."""
        return pytree.tree_unflatten(list(self.flat(*pytree.tree_leaves(arguments))), self.out_spec)


def make_program(
    function: Callable[..., Any], example: tuple[Any, ...], *, compiled: bool, traced: bool = True
) -> Program:
    """Trace ``function`` on example arguments and return it as a program.

    Args:
        function: Pure; takes and returns nested dicts, lists and tuples of tensors.
        example: Arguments of the shapes, dtypes and device that it will be called with.
        compiled: Whether to compile the graph or to run it as it is.
        traced: Whether to trace at all; a function whose path depends on its data can't be.

    Example:
        >>> double = make_program(lambda x: {"y": 2 * x["x"]}, ({"x": torch.ones(2)},),
        ...                       compiled=False)
        >>> double({"x": torch.tensor([1.0, 3.0])})
        {'y': tensor([2., 6.])}
    """
    leaves, in_spec = pytree.tree_flatten(example)
    out_spec: list[pytree.TreeSpec] = []

    def flat(*tensors: Tensor) -> list[Tensor]:
        result = function(*pytree.tree_unflatten(list(tensors), in_spec))
        outputs, spec = pytree.tree_flatten(result)
        out_spec[:] = [spec]
        return outputs

    with torch.no_grad():
        if not traced:
            flat(*leaves)
            return Program(flat, out_spec[0])
        graph = make_fx(flat)(*leaves)
        graph.graph.eliminate_dead_code()  # `vmap` leaves many operations whose result nobody uses
        graph.recompile()
        return Program(compile_graph(graph, leaves) if compiled else graph, out_spec[0])
