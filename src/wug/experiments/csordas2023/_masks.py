"""What the tables on modularity share: masks of a trained network, and what is measured of them.

A cell trains a network; when that is done, masks of its functions are found on the frozen weights,
and their numbers go into the network's record.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from wug.analysis.masks.finder import Finder, describe
from wug.analysis.masks.gates import chosen_parameters, make_gates
from wug.analysis.masks.judging import scores_under
from wug.analysis.masks.mask import Mask, random_mask
from wug.analysis.masks.overlap import sharing_table
from wug.analysis.masks.problem import Score, Stream
from wug.analysis.masks.training import MaskTraining, Setting
from wug.functional.streams import generator_for, stream_key
from wug.records import Json
from wug.stats.measures import Measure

# Of the authors' code; the text has a probability of 0.9.
PUBLISHED_PROBABILITY = torch.sigmoid(torch.tensor(2.0)).item()

FIRST_PROBABILITY = (
    "Weights are kept with probability 0.881 at the beginning of mask training (a logit of 2), as "
    "in the authors' code; the text has 0.9."
)
EVALUATION_MODE = (
    "Masks are trained with dropout off and running statistics, as in the authors' code."
)
REGULARISER = (
    "Alpha is beta / rows of a mask's batch, as in the text; the code divides by the rows of the "
    "network's batch, which is the same here."
)
DEVIATIONS = (
    "What is printed after ± is a standard deviation over 10 runs, not an interval; it stands in "
    "the source of a cell."
)
COMMON = (FIRST_PROBABILITY, EVALUATION_MODE, REGULARISER)


@dataclass(frozen=True, kw_only=True)
class Masking:
    """How the masks of a network are found.

    Args:
        setting: Of the training.
        batch_size: Rows of a batch.
        biases: Whether biases are masked.
        evaluation_size: Problems that scores are measured on.
    """

    setting: Setting
    batch_size: int = 128
    biases: bool = False
    evaluation_size: int = 10_000

    @property
    def config(self) -> dict[str, Json]:
        """The masks' part of a record's configuration."""
        return {
            **describe(self.setting), "batch_size": self.batch_size, "biases": self.biases,
            "evaluation_size": self.evaluation_size,
        }  # fmt: skip

    def finder(
        self,
        network: nn.Module,
        loss: Callable[..., Tensor],
        folder: Path | None = None,
        skip: Sequence[str] = (),
    ) -> Finder:
        """Return what trains the masks of a network, with checkpoints in a folder."""
        names = chosen_parameters(network, skip=skip, biases=self.biases)
        return Finder(network, make_gates(network, names), loss, self.setting, folder=folder)

    def stream(self, task: Any, name: str) -> Stream:
        """Return the batches of a task on numbers, as a function of the step."""
        key = torch.tensor(stream_key("masks", name))
        values, own = task.input_values(), task.target_values(0)

        def batch(step: int) -> tuple[Tensor, Tensor]:
            x = task.inputs(values, key, torch.tensor(step), self.batch_size)
            return x, task.targets(own, x)

        return batch

    def data(self, task: Any) -> list[tuple[Tensor, Tensor]]:
        """Return the test set of a task on numbers."""
        sized = replace(task, evaluation_size=self.evaluation_size)
        x = sized.evaluation_inputs("test")
        return [(x, sized.targets(sized.target_values(0), x))]


def masking(
    steps: int, beta: float, learning_rate: float = 1e-2, *, samples: int = 4, **parts: Any
) -> Masking:
    """Return how masks are found, with what all tables have in common."""
    setting = Setting(
        steps=steps, beta=beta, learning_rate=learning_rate, samples=samples,
        probability=PUBLISHED_PROBABILITY,
    )  # fmt: skip
    return Masking(setting=setting, **parts)


def train_all(
    finder: Finder, streams: Mapping[str, Stream], pinned: dict[str, Tensor] | None = None
) -> dict[str, MaskTraining]:
    """Train a mask for each stream."""
    return {name: finder.train(name, s, pinned=pinned) for name, s in streams.items()}


def under_masks(
    network: nn.Module,
    masks: Mapping[str, Mask | None],
    data: Mapping[str, list[Any]],
    score: Score,
) -> dict[str, float]:
    """Return ``<function>_under_<mask>`` -> score."""
    return {
        f"{function}_under_{name}": value
        for name, mask in masks.items()
        for function, value in scores_under(network, mask, data, score).items()
    }


def random_masks(masks: Mapping[str, Mask]) -> dict[str, Mask | None]:
    """Return ``random_<mask>`` -> as many weights of each parameter, drawn at random: a control."""
    return {f"random_{n}": random_mask(m, generator_for("control", n)) for n, m in masks.items()}


def by_layer(masks: Mapping[str, Mask]) -> dict[str, float | str]:
    """Return the layers' names, and of each function what it keeps of a layer and what it shares.

    Layers are numbered: ``layer_0``, and ``kept_<function>_0``, ``sharing_<function>_0``.
    """
    table = sharing_table(masks)
    names = list(next(iter(masks.values())).kept)
    found: dict[str, float | str] = {f"layer_{i}": name for i, name in enumerate(names)}
    for function, mask in masks.items():
        for i, name in enumerate(names):
            found[f"kept_{function}_{i}"] = float(mask.counts[name])
            if math.isfinite(table[function][name]):
                found[f"sharing_{function}_{i}"] = table[function][name]
    return found


def mean_of(values: Iterable[float]) -> float:
    """Return the mean of what is a number; NaN if nothing is."""
    numbers = [value for value in values if math.isfinite(value)]
    return sum(numbers) / len(numbers) if numbers else math.nan


def share(name: str, title: str, better: Any = "higher", **other: Any) -> Measure:
    """Return a measure in per cent that is read off a network's masks."""
    about = "Per cent, mean of all networks"
    return Measure(
        name=name, title=title, path=f"observed.{name}", unit="%", better=better,
        notation="per cent", digits=1, **{"about": about, **other},
    )  # fmt: skip
