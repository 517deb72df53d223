"""Where a training can go on, as one safetensors file that is written atomically."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from wug.core.errors import UserError
from wug.records import Json, write_atomic
from wug.training.engine import Tree

SEPARATOR = "/"


def flatten(tree: Tree, path: str = "") -> dict[str, Tensor]:
    """Name every tensor of a tree by its path.

    Raises:
        ValueError: A name has the separator of paths in it.

    Example:
        >>> import torch
        >>> flatten({"params": {"layer.weight": torch.ones(1)}})
        {'params/layer.weight': tensor([1.])}
    """
    flat: dict[str, Tensor] = {}
    for name, value in tree.items():
        if SEPARATOR in name:
            raise ValueError(f"checkpoint: a name must be without {SEPARATOR!r}; got {name!r}.")
        if isinstance(value, dict):
            flat |= flatten(value, f"{path}{name}{SEPARATOR}")
        else:
            flat[f"{path}{name}"] = value.detach().contiguous()
    return flat


def unflatten(flat: dict[str, Tensor]) -> Tree:
    """Return the tree of `flatten`."""
    tree: Tree = {}
    for path, value in flat.items():
        *folders, name = path.split(SEPARATOR)
        branch = tree
        for folder in folders:
            branch = branch.setdefault(folder, {})
        branch[name] = value
    return tree


def save_checkpoint(path: Path, tree: Tree, about: dict[str, Json], fingerprint: str) -> None:
    """Write a checkpoint.

    Args:
        path: The file.
        tree: Nested dicts of tensors.
        about: Everything else, as JSON.
        fingerprint: Hash of the configuration of the training.
    """
    # Tensors that share memory would not be saved; copies of copies are rare and small.
    tensors = {name: value.clone() for name, value in flatten(tree).items()}
    write_atomic(path, save(tensors, {"fingerprint": fingerprint, "about": json.dumps(about)}))


def load_checkpoint(path: Path, fingerprint: str) -> tuple[Tree, dict[str, Any]] | None:
    """Read a checkpoint; None if there is no file.

    Raises:
        UserError: The file is torn, or of a training with another configuration.
    """
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            if metadata.get("fingerprint") != fingerprint:
                raise UserError(
                    f"{path.name} is the checkpoint of a training with another configuration; "
                    "this one starts from the beginning."
                )
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        about: dict[str, Any] = json.loads(metadata["about"])
    except FileNotFoundError:
        return None
    except (SafetensorError, KeyError, ValueError, OSError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(
            f"{path.name} can't be read as a checkpoint ({error}); the training starts from the "
            "beginning."
        ) from None
    return unflatten(tensors), about
