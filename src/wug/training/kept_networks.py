"""Trained networks on disk: which there are, how one is loaded, and how one is kept.

A file holds weights as safetensors and, as JSON, the keys of a registered model and task with their
options. Nothing in it can name other code, and nothing is unpickled.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from wug.core import index
from wug.core.configs import as_config
from wug.core.errors import UserError
from wug.interfaces.registered import interface
from wug.records import Json, write_atomic
from wug.records.files import parse_json, plain_file
from wug.records.networks import SCALE, whole_weights
from wug.training.plan import size_arguments

PATTERN = "models/*.safetensors"
# Of the JSON that says what a network is.
MOST_ABOUT = 100_000


@dataclass(frozen=True, kw_only=True)
class KeptNetwork:
    """A file with a trained network.

    Args:
        id: What the lab knows it by.
        name: Its place below the folder that was asked for, for people.
        path: The file.
    """

    id: str
    name: str
    path: Path


def find_networks(roots: Iterable[Path]) -> Iterator[KeptNetwork]:
    """Yield the files that runs have kept, in and below some folders.

    Args:
        roots: The folders. Links that lead out of them are not followed.
    """
    seen: set[Path] = set()
    for root in roots:
        top = root.resolve()
        for path in sorted(top.rglob(PATTERN)):
            try:
                plain_file(path, top)
            except OSError:
                continue
            if path in seen:
                continue
            seen.add(path)
            folder = path.relative_to(top.parent).parent.parent
            mark = sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:16]
            yield KeptNetwork(id=mark, name=(folder / path.stem).as_posix(), path=path)


def read_about(path: Path) -> dict[str, Any]:
    """Return what a file says of its network.

    Raises:
        UserError: It is no such file.
    """
    try:
        with safe_open(path, framework="pt") as file:
            text = (file.metadata() or {})["about"].encode()
        if len(text) > MOST_ABOUT:
            raise ValueError(f"it says {len(text)} bytes of itself")
        about = parse_json(text)
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise UserError(f"lab: {path.name} is no network that wug kept: {error!r}.") from None
    expected = {"model": str, "model_options": dict}
    if not isinstance(about, dict) or any(
        not isinstance(about.get(name), kind) for name, kind in expected.items()
    ):
        raise UserError(f"lab: {path.name} does not say which model with which options it is.")
    return about


def task_of(about: Mapping[str, Any]) -> Any:
    """Return the task that a network was trained on; None if it was kept without one.

    Raises:
        UserError: The task is unknown, or its options don't fit.
    """
    if about.get("task") is None:
        return None
    make = index.get("task", str(about["task"]))
    registered = ":" not in about["model"]
    # A class of the user's was made for its task.
    serves = (
        index.entry("model", about["model"]).details.get("interface")
        if registered
        else make.interface
    )
    # A network with an answer in every step can classify by its last one.
    if make.interface != serves and (make.interface, serves) != ("classification", "steps"):
        raise UserError(
            f"lab: task {about['task']} is one of {make.interface}, and {about['model']} serves "
            f"{serves}."
        )
    options = tuples(about.get("task_options") or {})
    if isinstance(options.get("dtype"), str):
        options["dtype"] = getattr(torch, options["dtype"], None)
    try:
        return make(**options)
    except (TypeError, ValueError) as error:
        raise UserError(f"lab: the options of task {about['task']} don't fit: {error}.") from None


def tuples(value: Any) -> Any:
    """Return JSON data with tuples for lists, as options have them."""
    if isinstance(value, Mapping):
        return {name: tuples(part) for name, part in value.items()}
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def trusted_class(model: str, trusted: Iterable[str]) -> Any:
    """Import a class of the user's, if it is one of those that may be run.

    Args:
        model: What a file says it is of, such as ``my.py:Net``. A file may say anything.
        trusted: What a person has named, in the same way; the folder may be another one.

    Raises:
        UserError: Nobody has named it.
    """
    file, _, name = model.rpartition(":")
    for target in trusted:
        named, _, wanted = target.rpartition(":")
        if wanted == name and Path(named).name == Path(file).name:
            return index.import_target(target)
    raise UserError(
        f"lab: its class is {model}, which is not ours to run; wug serve --model {model} does."
    )


def load(
    path: Path, device: torch.device | str = "cpu", trusted: Iterable[str] = ()
) -> tuple[nn.Module, Any]:
    """Load a network, ready for evaluation, and its task, or None if it was kept without one.

    Args:
        path: A file of `keep_network`.
        device: Where the network goes.
        trusted: Classes of the user's that may be run, as ``my.py:Net``.

    Raises:
        UserError: The model is not registered, or its weights are not those of its options.
    """
    about = read_about(path)
    task = task_of(about)
    own = {} if task is None else interface(task.interface).sizes(task)
    if ":" in about["model"]:
        return load_own(path, about, trusted_class(about["model"], trusted), own).to(device), task
    make = index.get("model", about["model"])
    sizes = size_arguments(about["model"], own)
    options = tuples(about["model_options"])
    try:
        # First without memory: options that don't fit the file could ask for any amount of it.
        needed = make(**sizes, **options, device="meta").state_dict()
        with safe_open(path, framework="pt") as file:
            found = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
            if whole_shapes(found) != {name: tuple(value.shape) for name, value in needed.items()}:
                raise UserError("the weights are of other names or shapes")
            weights = whole_weights({name: file.get_tensor(name) for name in found})
        network: nn.Module = make(**sizes, **options, generator=torch.Generator())
        network.load_state_dict(weights)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UserError(
            f"lab: {path.name} can't be loaded as {about['model']} with its options: {error}."
        ) from None
    return network.to(device).eval(), task


def whole_shapes(found: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the weights, if the scales of rounded ones are of theirs."""
    return {
        name: shape
        for name, shape in found.items()
        if not name.endswith(SCALE) or (*found.get(name.removesuffix(SCALE), ())[:-1], 1) != shape
    }


def load_own(
    path: Path, about: Mapping[str, Any], make: Any, sizes: Mapping[str, int]
) -> nn.Module:
    """Load a network of a user's class, ready for evaluation.

    Raises:
        UserError: Its weights are not those of the class.
    """
    try:
        with torch.random.fork_rng(devices=[]):
            network: nn.Module = make(*sizes.values(), **tuples(about["model_options"]))
        with safe_open(path, framework="pt") as file:
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        network.load_state_dict(weights)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UserError(f"lab: {path.name} can't be loaded as {about['model']}: {error}.") from None
    return network.eval()


def keep_network(
    path: Path,
    weights: Mapping[str, Tensor],
    *,
    model: str,
    options: Mapping[str, Any],
    task: Any = None,
    **facts: Json,
) -> None:
    """Write a network for the lab and for trainings that need it.

    Args:
        path: ``<folder>/models/<name>.safetensors``.
        weights: Of the trained network, by name.
        model: Key of its registered model.
        options: Its keyword arguments, as JSON; sizes included if there is no task.
        task: That it was trained on; None if it reads plain rows of numbers.
        **facts: What tells it from others, such as labels, seed and ``selected``, its results.

    Raises:
        UserError: There is no such model.
        StorageError: The disk refuses.
    """
    about: dict[str, Any] = {"model": model, "model_options": dict(options)}
    if ":" not in model:
        index.entry("model", model)
    if task is not None:
        about["task"] = index.key_of("task", type(task))
        config = cast(dict[str, Json], as_config(task))
        about["task_options"] = {name: v for name, v in config.items() if name != "kind"}
    about |= facts
    tensors = {name: value.detach().contiguous() for name, value in weights.items()}
    write_atomic(path, save(tensors, {"about": json.dumps(about)}))
