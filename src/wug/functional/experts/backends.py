"""The back ends by name, and which of them serves where."""

from __future__ import annotations

import warnings
from typing import Literal, TypeAlias

import torch

from wug.core.errors import require_choice
from wug.functional.experts import blockwise, grouped, triton_kernels
from wug.functional.experts.backend import Backend

BackendName: TypeAlias = Literal["auto", "loop", "blockwise", "grouped", "triton"]

BACKENDS: dict[str, Backend] = {
    "blockwise": blockwise.BACKEND,
    "grouped": grouped.BACKEND,
    "triton": triton_kernels.BACKEND,
}
NAMES = ("auto", "loop", *BACKENDS)


def choose_backend(name: str, device: torch.device, dtype: torch.dtype) -> str:
    """Return a back end that serves: the one that is asked for, or else one that always works.

    By default ``"auto"``: on a CPU one expert after the other, elsewhere what does all at once.

    Args:
        name: ``"auto"``, ``"loop"``, ``"blockwise"``, ``"grouped"`` or ``"triton"``.
        device: Where the tensors are.
        dtype: Of the tensors.

    Raises:
        UserError: There is no such back end.

    Example:
        >>> choose_backend("auto", torch.device("cpu"), torch.float32)
        'blockwise'
    """
    require_choice("experts", "backend", name, NAMES)
    if name == "auto":
        wanted = [] if device.type == "cpu" else ["triton", "grouped"]
        usable = (one for one in wanted if BACKENDS[one].problem(device, dtype) is None)
        return next(usable, "blockwise")
    if name == "loop":
        return name
    problem = BACKENDS[name].problem(device, dtype)
    if problem is None:
        return name
    warnings.warn(f"experts: blockwise stands in for {name}: {problem}.", stacklevel=3)
    return "blockwise"
