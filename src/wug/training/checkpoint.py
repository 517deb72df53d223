"""A fleet's memory as one safetensors file, written atomically."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor
from torch.utils import _pytree as pytree

from wug.records import config_hash, write_atomic

if TYPE_CHECKING:
    from wug.training.engine import Fleet


def fingerprint(fleet: Fleet) -> str:
    """Return a hash of everything that must agree for a checkpoint to be of use."""
    lot = fleet.lot
    return config_hash(
        {
            "plan": repr(lot.plan),
            "seeds": list(lot.seeds),
            "streams": lot.streams,
            "variants": [
                [dict(v.labels), repr(v.learning_rate), repr(v.penalty), repr(v.task)]
                for v in lot.variants
            ],
        }
    )


def as_tree(fleet: Fleet) -> dict[str, object]:
    """Return the memory as a tree of tensors."""
    memory = fleet.memory
    return {
        "state": memory.state,
        "best": memory.best,
        "best_error": memory.best_error,
        "curves": {name: rows[: memory.num_rows] for name, rows in memory.curves.items()},
        "restarts": torch.tensor(memory.restarts),
        "started": torch.tensor(memory.started),
        "replicas": {
            name: value
            for name, value in fleet.replicas.items()
            if name in ("penalty_on", "restart_at", "fresh")
        },
        "step": torch.tensor(memory.step),
    }


def flatten(tree: object) -> dict[str, Tensor]:
    """Name every tensor of a tree by its path."""
    leaves, _ = pytree.tree_flatten_with_path(tree)
    return {pytree.keystr(path): leaf.contiguous() for path, leaf in leaves}


def save_checkpoint(path: Path, fleet: Fleet) -> None:
    """Write the fleet's memory."""
    write_atomic(path, save(flatten(as_tree(fleet)), {"fingerprint": fingerprint(fleet)}))


def load_checkpoint(path: Path, fleet: Fleet) -> bool:
    """Restore the fleet's memory from a file; False if it is absent, torn or of another lot."""
    try:
        with safe_open(path, framework="pt") as file:
            if (file.metadata() or {}).get("fingerprint") != fingerprint(fleet):
                return False
            saved = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (FileNotFoundError, SafetensorError):
        return False
    memory = fleet.memory
    tree = as_tree(fleet)
    tree.pop("curves")
    leaves, spec = pytree.tree_flatten_with_path(tree)
    restored = pytree.tree_unflatten(
        [saved[pytree.keystr(place)].to(leaf.device) for place, leaf in leaves], spec
    )
    memory.state, memory.best = restored["state"], restored["best"]
    memory.best_error = restored["best_error"]
    for name in ("validation", "test", "sparsity", "finite"):
        rows = saved.get(f"['curves'][{name!r}]")
        if rows is not None:
            memory.num_rows = len(rows)
            whole = rows.new_zeros((fleet.num_rows, *rows.shape[1:])).to(fleet.device)
            whole[: len(rows)] = rows
            memory.curves[name] = whole
    memory.restarts, memory.started = restored["restarts"].numpy(), restored["started"].numpy()
    memory.step = int(restored["step"])
    fleet.replicas.update(restored["replicas"])
    return True
