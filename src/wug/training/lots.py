"""Lots: what is left of them, and the records of what was trained."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
import torch

import wug
from wug.records import Json, Record, identity
from wug.training.judging import Result
from wug.training.plan import Lot


class Trainings(Protocol):
    """What can be worked through: anything with a name, settings and lots, such as an experiment.

    Attributes:
        name: Of the records.
        settings: What must agree for two runs to share a folder.
        lots: What to train.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def settings(self) -> Mapping[str, Json]: ...  # noqa: D102

    @property
    def lots(self) -> tuple[Lot, ...]: ...  # noqa: D102


def make_record(
    name: str, result: Result, seconds: float, origin: Mapping[str, str] | None = None
) -> Record:
    """Turn a trained replica into a record.

    Args:
        name: Of the experiment.
        result: What was trained.
        seconds: How long that took.
        origin: Who did it.
    """
    return Record(
        experiment=name,
        key={**result.labels, "seed": result.seed},
        kind="curve",
        config=result.config,
        seed=result.seed,
        outcome=result.outcome,
        curves=result.curves,
        seconds=seconds,
        versions=versions(),
        origin=origin or {},
    )


def versions() -> dict[str, str]:
    """Return the versions that a result may depend on."""
    return {
        "wug": wug.__version__,
        "torch": torch.__version__.split("+")[0],
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def missing(lot: Lot, finished: set[str]) -> Iterator[Lot]:
    """Yield what is left of a lot, in rectangular blocks of groups that miss the same seeds.

    Args:
        lot: A whole lot.
        finished: Identities of the records that exist.
    """
    blocks: dict[tuple[int, ...], list[Any]] = {}
    for variant in lot.variants:
        seeds = tuple(
            seed for seed in lot.seeds if identity({**variant.labels, "seed": seed}) not in finished
        )
        if seeds:
            blocks.setdefault(seeds, []).append(variant)
    for seeds, variants in blocks.items():
        yield lot.part(tuple(variants), seeds)
