"""wug masks: which weights of a person's own network each of its functions needs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from wug.core.errors import UserError
from wug.core.index import import_file
from wug.records import write_atomic


def masks(
    file: Annotated[Path, tyro.conf.Positional],
    *,
    out: Path,
    weights: Path | None = None,
    steps: int = 20_000,
    beta: float = 1e-4,
    search_beta: bool = False,
    learning_rate: float = 1e-2,
    samples: int = 4,
    seeds: int = 2,
    granularity: Literal["weight", "neuron", "head", "expert", "layer"] = "weight",
    method: Literal["gumbel", "hard_concrete", "continuous"] = "gumbel",
    parameters: tuple[str, ...] = ("*",),
    biases: bool = False,
    embeddings: bool = False,
    no_controls: bool = False,
) -> None:
    """Find the weights that each function of your network needs, with controls and a page.

    Args:
        file: Python file with model() that returns a network, functions() that returns a dict
            from names to batches (pairs of inputs and targets, or anything that the loss takes),
            loss, and, unless targets are classes, score; truth() may return the masks that are
            known to be right.
        out: Folder for masks.safetensors, masks.json and index.html; the same command goes on
            where it stopped.
        weights: File of safetensors with the network's weights.
        steps: Of training, for each function.
        beta: Strength of the regulariser.
        search_beta: Find beta by masks of all functions together.
        learning_rate: Of the masks.
        samples: Masks that are drawn in a step.
        seeds: Masks of each function.
        granularity: What is kept or removed as one.
        method: How masks are drawn.
        parameters: Patterns of names of the parameters that are masked.
        biases: Mask biases, too.
        embeddings: Mask embeddings, too.
        no_controls: Leave out what the masks should be compared with.
    """
    if file.suffix != ".py":
        raise UserError(f"masks: {file} must be a Python file, such as my_network.py.")
    try:
        own: Any = import_file(file)
    except FileNotFoundError as error:
        raise UserError(f"masks: {error}.") from None
    if lacking := [name for name in ("model", "functions", "loss") if not hasattr(own, name)]:
        raise UserError(
            f"masks: {file} must define model(), functions() and loss; it lacks "
            f"{', '.join(lacking)}."
        )
    for name in ("model", "functions", "truth"):
        if not callable(getattr(own, name, print)):
            raise UserError(f"masks: {name} of {file} must be a function that returns it.")
    from wug.analysis.masks.controls import CONTROLS
    from wug.analysis.masks.find import find_masks
    from wug.report.masks_page import masks_html

    model = own.model()
    if weights is not None:
        _load(model, weights)
    found = find_masks(
        model, own.functions(), own.loss, score=getattr(own, "score", None),
        parameters=parameters, biases=biases, embeddings=embeddings, granularity=granularity,
        method=method, beta="search" if search_beta else beta, steps=steps,
        learning_rate=learning_rate, samples=samples, seeds=seeds,
        controls=() if no_controls else CONTROLS, resume=out / "checkpoints",
        truth=own.truth() if hasattr(own, "truth") else None,
    )  # fmt: skip
    plain = found.to_json()
    found.save(out / "masks.safetensors")
    write_atomic(out / "masks.json", json.dumps(_finite(plain), indent=1).encode())
    write_atomic(out / "index.html", masks_html(plain).encode())
    for line in summary(plain):
        print(line)
    print(f"wrote {out / 'index.html'}")


def summary(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield what was found in a few lines, with the controls of each function.

    Args:
        found: What `FoundMasks.to_json` says.
    """
    from wug.report.masks_page import CONTROLS, percent

    for name, count in found["counts"].items():
        kept, score, full = (
            count / found["num_weights"], found["matrix"][name][name], found["full"][name],
        )  # fmt: skip
        yield (
            f"{name}: {percent(kept)} % of the weights, {percent(score)} % right "
            f"(all weights {percent(full)} %)"
        )
        controls = [
            f"{CONTROLS[key]} {percent(value)} %" for key, value in found["controls"][name].items()
        ]
        if controls:
            yield f"  controls: {', '.join(controls)}"
    for key, title in (("specialise", "P_specialize"), ("reuse", "P_reuse")):
        if estimate := found[key]:
            low, high = estimate["low"], estimate["high"]
            known = low is not None and high is not None
            interval = f" [{low:.2f}, {high:.2f}]" if known else " (one seed: no interval)"
            value = estimate["value"]
            yield f"{title} {'–' if value is None else f'{value:.2f}{interval}'}"


def _load(model: Any, path: Path) -> None:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        model.load_state_dict(load_file(path))
    except (OSError, SafetensorError, RuntimeError) as error:
        raise UserError(f"masks: {path} does not hold the network's weights: {error}.") from None


def _finite(value: Any) -> Any:
    """Return plain data with None for what is no number."""
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and value - value != 0 else value
