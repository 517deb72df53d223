"""Do classes of pictures have weights of their own (figures 3.7, B.10-B.13)?

A row is a network. A mask of all classes is trained, then one for each class that is left out, in
which the output layer keeps the mask of all classes. What the network then loses is measured by the
difference of the confusion matrices. The sources are figures: there are claims and no numbers.

References:
    csordas2023
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from wug.analysis.masks.judging import confusion
from wug.analysis.masks.mask import Mask
from wug.experiments.csordas2023._masks import COMMON, Masking, share
from wug.experiments.csordas2023._picture_masks import (
    CIFAR,
    COLUMNS,
    LAPTOP,
    NETWORKS,
    picture_stream,
    picture_training,
)
from wug.functional.streams import generator_for
from wug.sources.pictures import NUM_CLASSES
from wug.study.claims import Claim
from wug.study.judgements import all_of
from wug.study.paper_table import PaperTable, below_paper
from wug.study.predicates import above, below, exceeds, larger
from wug.study.trainings import Run, Training
from wug.tasks.modularity.image_classes import ImageClasses

ROWS = tuple(NETWORKS)
CONVOLUTIONAL = ROWS[:2]
TEXT = "csordas2023, section 3.4"
MEASURES = (
    share("target_drop", "Loss of the class that is left out", "higher"),
    share("other_drop", "Largest loss of another class / loss of that class", "lower"),
    share("random_drop", "Loss of the class if as many weights are left out at random", "lower"),
    share("control_accuracy", "Right under the mask of all classes"),
    share("full_accuracy", "Right with all weights"),
    share("kept_all", "Weights of all classes", "lower"),
)


def measure_classes(
    network: nn.Module,
    task: ImageClasses,
    *,
    how: Masking,
    classes: Sequence[int],
    folder: Path | None = None,
) -> Mapping[str, float]:
    """Leave out one class after the other, and return what is lost."""
    finder = how.finder(network, task.loss, folder)
    last = [name for name in finder.gates.shapes if name in ("weight", "bias")]
    control = finder.train("all", picture_stream(task, how.batch_size, "all"))
    pinned = {
        group: value.clone()
        for group, value in finder.gates.split(control.logits).items()
        if group in last
    }
    test = replace(task, evaluation_size=how.evaluation_size)
    x, labels = test.rows("test")
    data = [(x, labels)]
    before = confusion(network, control.masks()[0], data, NUM_CLASSES)
    full = confusion(network, None, data, NUM_CLASSES)
    drops, others, by_chance = [], [], []
    found = _cells("answers", before)
    for one in classes:
        rest = replace(task, without=(one,))
        name = f"without {one}"
        trained = finder.train(name, picture_stream(rest, how.batch_size, name), pinned=pinned)
        mask = trained.masks()[0]
        after = confusion(network, mask, data, NUM_CLASSES)
        lost = relative_loss(before, after)
        drops.append(float(lost[one]))
        most = float(np.nanmax(np.delete(lost, one)))
        others.append(max(most, 0.0) / lost[one] if lost[one] > 0 else 1.0)
        found[f"drop_{one}"] = float(lost[one])
        found |= _cells(f"change_{one}", after - before)
        control_mask = thinned(control.masks()[0], mask, generator_for("control", name))
        random = confusion(network, control_mask, data, NUM_CLASSES)
        by_chance.append(float(relative_loss(before, random)[one]))
    return {
        **found,
        "target_drop": float(np.mean(drops)),
        "other_drop": float(min(np.mean(others), 1.0)),
        "random_drop": float(np.mean(by_chance)),
        "control_accuracy": float(np.nanmean(before.diagonal())),
        "full_accuracy": float(np.nanmean(full.diagonal())),
        "kept_all": control.masks()[0].share,
    }


def relative_loss(before: NDArray[np.float64], after: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return which share of its right answers each class has lost.

    Example:
        >>> relative_loss(np.diag([1.0, 0.5]), np.diag([0.25, 0.5])).tolist()
        [0.75, 0.0]
    """
    lost: NDArray[np.float64] = (before - after).diagonal() / np.maximum(before.diagonal(), 1e-9)
    return lost


def thinned(mask: Mask, like: Mask, generator: torch.Generator) -> Mask:
    """Return a mask that keeps, of each parameter, as many weights as another, drawn at random.

    Args:
        mask: Whose weights are drawn from; one with fewer keeps them all.
        like: How many.
        generator: Source of the order.
    """
    kept = {}
    for name, value in mask.kept.items():
        chances = (1 + torch.rand(value.shape, generator=generator)) * value
        number = min(like.counts[name], int(value.sum()))
        chosen = torch.zeros(value.numel(), dtype=torch.bool)
        chosen[chances.flatten().topk(number).indices] = True
        kept[name] = chosen.view(value.shape)
    return Mask(kept, mask.model)


def _cells(name: str, matrix: NDArray[np.float64]) -> dict[str, float]:
    """Return ``<name>_<class>_<answer>`` -> number, of classes that have examples."""
    return {f"{name}_{i}_{k}": float(v) for (i, k), v in np.ndenumerate(matrix) if np.isfinite(v)}


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "classes_have_weights_of_their_own",
        "Without the weights that only it needs, a class loses much (more than 40 %).",
        f"{TEXT} and appendix B.3.8",
        lambda t: above(t.at("cnn", "cifar10"), 0.4, "target_drop"),
    ),
    Claim(
        "other_classes_lose_little",
        "Other classes lose little: less than half of what the class loses.",
        f"{TEXT} and figure 3.7",
        lambda t: all_of(below(t.at(row, "cifar10"), 0.5, "other_drop") for row in ROWS),
    ),
    Claim(
        "dropout_makes_removal_worse",
        "With dropout a class loses 30 to 40 % more (above 20 % here).",
        "csordas2023, appendix B.3.8",
        lambda t: larger(
            t.at("cnn", "cifar10"), t.at("cnn_no_dropout", "cifar10"), "target_drop", 1.2
        ),
    ),
    Claim(
        "resnet_loses_more",
        "Classes of ResNet-110 lose even more, almost everything (above 80 % here).",
        "csordas2023, appendix B.3.8",
        lambda t: all_of(
            [
                above(t.at("resnet", "cifar10"), 0.8, "target_drop"),
                larger(t.at("resnet", "cifar10"), t.at("cnn", "cifar10"), "target_drop"),
            ]
        ),
    ),
    Claim(
        "dropout_matters_for_digits",
        "With dropout a digit of MNIST loses more without its weights.",
        "ours",
        lambda t: larger(t.at("cnn", "mnist"), t.at("cnn_no_dropout", "mnist"), "target_drop"),
    ),
    Claim(
        "digits_have_weights_of_their_own",
        "Without the weights of a digit of MNIST others lose less than half as much as it does.",
        "ours",
        lambda t: all_of(below(t.at(r, "mnist"), 0.5, "other_drop") for r in CONVOLUTIONAL),
    ),
    Claim(
        "digits_lose_more_than_by_chance",
        "A digit of MNIST loses more than if as many weights are left out at random.",
        "ours",
        lambda t: all_of(
            exceeds(t.at(row, "mnist"), "target_drop", "random_drop") for row in CONVOLUTIONAL
        ),
    ),
)
EVERY = tuple(range(NUM_CLASSES))
CLASSES = {"smoke": (0,), "laptop": EVERY, "paper": EVERY}
SEEDS = {"smoke": 1, "laptop": 5, "paper": 10}


@PaperTable(
    name="Removal of classes",
    title="Masks without one class of pictures (Csordás, 2023, figures 3.7 and B.10-B.12)",
    references=("csordas2023", "csordas2021masks"),
    source="figures 3.7, B.10, B.11 and B.12",
    labels=("network", "pictures"),
    rows=ROWS,
    columns=COLUMNS,
    usual=below_paper(network=CONVOLUTIONAL, pictures=("mnist",))
    | {"paper": {"pictures": ("cifar10",)}},
    claims=CLAIMS,
    departures=(
        *COMMON,
        "The learning rate of ResNet-110 has no warm-up, and its momentum is 0.9: the text has "
        "neither.",
        LAPTOP,
        "ResNet-110 is not trained at laptop scale unless --only names it; it then has 20 layers.",
        CIFAR,
    ),
    measures=MEASURES,
    measure="target_drop",
    row_units={row: model for row, (model, _) in NETWORKS.items()},
)
def class_removal(run: Run, network: str, pictures: str) -> Training:
    """Train networks on pictures, and remove the weights that single classes need."""
    further = {"classes": CLASSES[run.scale]}
    return picture_training(run, network, pictures, measure_classes, SEEDS[run.scale], further)
