"""Trained networks that a run kept: RUN/models/NAME.safetensors, as files that need no torch.

Weights are plain numbers, and what the network is stands in the header as JSON. In a wheel a weight
of a matrix has eight bits, and each row a scale.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from wug.records.files import parse_json, plain_file
from wug.records.segments import Problem

FOLDER = "models"
SUFFIX = ".safetensors"
# Behind the name of a matrix: what its rows of whole numbers are multiplied by.
SCALE = ":scale"
LARGEST = 127


@dataclass(frozen=True, kw_only=True)
class NetworkFile:
    """A file with a trained network.

    Args:
        name: Of the file, without its ending.
        path: The file.
        about: Its model and task with their options, labels, seed and results.
    """

    name: str
    path: Path
    about: Mapping[str, Any]


def read_networks(
    folder: Path, within: Path | None = None
) -> tuple[list[NetworkFile], list[Problem]]:
    """Reads what the networks of a run folder say of themselves, and which files say nothing.

    Args:
        folder: The run folder.
        within: A resolved folder that links may not lead out of; None lets them lead anywhere.
    """
    found: list[NetworkFile] = []
    problems: list[Problem] = []
    for path in sorted(folder.glob(f"{FOLDER}/[!.]*{SUFFIX}")):
        try:
            found.append(_read(path, within))
        except (SafetensorError, OSError, ValueError, KeyError) as error:
            problems.append(Problem(path, None, f"the network can't be read ({error})"))
    return found, problems


def _read(path: Path, within: Path | None) -> NetworkFile:
    with safe_open(plain_file(path, within), framework="numpy") as file:
        about = parse_json((file.metadata() or {}).get("about", "null").encode())
    if not isinstance(about, dict) or not isinstance(about.get("model"), str):
        raise ValueError("its header does not say which model it is")
    return NetworkFile(name=path.stem, path=path, about=about)


def rounded(path: Path) -> bytes:
    """Return a network's file with eight bits for each number of a matrix: a quarter of the size.

    Args:
        path: A file in full precision.
    """
    import numpy as np
    from safetensors.numpy import save

    tensors = {}
    with safe_open(path, framework="numpy") as file:
        metadata = file.metadata()
        for name in file.keys():  # noqa: SIM118
            values = file.get_tensor(name)
            if values.ndim > 1 and values.dtype == np.float32:
                largest = np.abs(values).max(-1, keepdims=True)
                scale = np.where(largest > 0, largest / LARGEST, 1).astype(np.float32)
                tensors[name + SCALE] = scale
                values = np.rint(values / scale).astype(np.int8)
            tensors[name] = values
    return save(tensors, metadata)


def whole_weights(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Return the weights of a file; what was rounded is multiplied by its scale.

    Example:
        >>> import numpy as np
        >>> halves = np.array([[0.5]], np.float32)
        >>> whole_weights({"w": np.array([[3, -4]], np.int8), "w:scale": halves})
        {'w': array([[ 1.5, -2. ]], dtype=float32)}
    """
    return {
        name: values * tensors[name + SCALE] if name + SCALE in tensors else values
        for name, values in tensors.items()
        if not name.endswith(SCALE)
    }
