"""Do masks of the same function agree (appendix B.2.1)?

For some pairs of classes two masks are trained, with other noise and other batches, and their
overlap is measured. The published number is the mean over ten pairs of each of ten networks.

References:
    csordas2023
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from wug.analysis.masks.judging import scores_under
from wug.analysis.masks.overlap import iou
from wug.experiments.csordas2023._masks import COMMON, DEVIATIONS, Masking, share
from wug.experiments.csordas2023._picture_masks import (
    CIFAR,
    COLUMNS,
    LAPTOP,
    picture_stream,
    picture_training,
)
from wug.functional.streams import generator_for
from wug.sources.pictures import NUM_CLASSES
from wug.stats.measures import Measure
from wug.study.claims import Claim
from wug.study.paper_table import PaperTable, below_paper
from wug.study.predicates import above
from wug.study.trainings import Run, Training
from wug.tasks.modularity.image_classes import ImageClasses

ROWS = ("cnn_no_dropout",)
MEASURES: tuple[Measure, ...] = (
    share("seed_iou", "Overlap of two masks of one function"),
    share("pair_accuracy", "Right under the mask of a pair of classes"),
)


def chosen_pairs(number: int) -> list[tuple[int, int]]:
    """Return random pairs of classes."""
    generator = generator_for("pairs")
    drawn = [torch.randperm(NUM_CLASSES, generator=generator)[:2].tolist() for _ in range(number)]
    return [(first, second) for first, second in drawn]


def measure_stability(
    network: nn.Module,
    task: ImageClasses,
    *,
    how: Masking,
    num_pairs: int,
    folder: Path | None = None,
) -> Mapping[str, float]:
    """Train two masks for each pair of classes, and return their mean overlap."""
    overlaps, scores = [], []
    for pair in chosen_pairs(num_pairs):
        own = replace(task, only=pair)
        masks = []
        for number in (0, 1):
            name = f"{pair} {number}"
            finder = how.finder(network, task.loss, folder)
            trained = finder.train(name, picture_stream(own, how.batch_size, name))
            masks.append(trained.masks()[0])
        overlaps.append(iou(*masks))
        x, labels = own.rows("test")
        chosen = [i for i, label in enumerate(labels.tolist()) if label in pair]
        data: dict[str, list[Any]] = {"": [(x[chosen], labels[chosen])]}
        right = scores_under(network, masks[0], data, lambda y, t: (y.argmax(-1) == t).float())
        scores.append(right[""])
    return {"seed_iou": float(np.nanmean(overlaps)), "pair_accuracy": float(np.mean(scores))}


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "masks_agree",
        "Two masks of the same pair of classes overlap by more than 90 %.",
        "csordas2023, appendix B.2.1",
        lambda t: above(t.at("cnn_no_dropout", "cifar10"), 0.9, "seed_iou"),
    ),
    Claim(
        "masks_of_digits_agree",
        "Masks of digits of MNIST agree, too (above 80 %).",
        "ours",
        lambda t: above(t.at("cnn_no_dropout", "mnist"), 0.8, "seed_iou"),
    ),
)
PAIRS, SEEDS = {"smoke": 1, "laptop": 3, "paper": 10}, {"smoke": 1, "laptop": 5, "paper": 10}


@PaperTable(
    name="Stability of masks",
    title="Overlap of masks of one function (Csordás, 2023, appendix B.2.1)",
    references=("csordas2023", "csordas2021masks"),
    source="appendix B.2.1",
    labels=("network", "pictures"),
    rows=ROWS,
    columns=COLUMNS,
    usual=below_paper(pictures=("mnist",)),
    trials=10,
    claims=CLAIMS,
    departures=(
        *COMMON,
        LAPTOP,
        "At laptop scale three pairs of classes are tried for each network.",
        CIFAR,
        DEVIATIONS,
    ),
    measures=MEASURES,
    measure="seed_iou",
    row_units=dict.fromkeys(ROWS, "simple_cnn"),
)
def mask_stability(run: Run, network: str, pictures: str) -> Training:
    """Train convolutional networks, and find masks of pairs of classes twice."""
    further = {"num_pairs": PAIRS[run.scale]}
    return picture_training(run, network, pictures, measure_stability, SEEDS[run.scale], further)
