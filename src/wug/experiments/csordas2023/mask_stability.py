"""Do masks of the same function agree (appendix B.2.1)?

For some pairs of classes two masks are trained, with other noise and other batches, and their
overlap is measured. The published number is the mean over ten pairs of each of ten networks.

References:
    csordas2023
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from wug.analysis.masks.judging import scores_under
from wug.analysis.masks.overlap import iou
from wug.experiments.csordas2023._masks import (
    CIFAR,
    COMMON,
    DEVIATIONS,
    Masking,
    masking,
    picture_stream,
    picture_task,
    share,
)
from wug.functional.streams import generator_for
from wug.stats.measures import Measure
from wug.study.claims import Claim
from wug.study.paper_table import PaperTable, below_paper
from wug.study.predicates import above
from wug.study.trainings import Run, Training, registered
from wug.tasks.modularity.image_classes import NUM_CLASSES, ImageClasses
from wug.training.plan import Clip, Plan

ROWS = ("cnn_no_dropout",)
COLUMNS = ("mnist", "cifar10")
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
    network: nn.Module, task: ImageClasses, *, how: Masking, num_pairs: int
) -> Mapping[str, float]:
    """Train two masks for each pair of classes, and return their mean overlap."""
    overlaps, scores = [], []
    for pair in chosen_pairs(num_pairs):
        own = replace(task, only=pair)
        masks = []
        for number in (0, 1):
            name = f"{pair} {number}"
            finder = how.finder(network, task.loss)
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
        "The same of MNIST, which is ours to ask (above 80 %).",
        "none",
        lambda t: above(t.at("cnn_no_dropout", "mnist"), 0.8, "seed_iou"),
    ),
)
WIDTHS = {"smoke": (2, 2, 4, 4), "laptop": (8, 16, 32, 64), "paper": (32, 64, 128, 256)}
PLANS = {
    "smoke": Plan(steps=10, batch_size=32, evaluate_every=10, engine="single"),
    "laptop": Plan(
        steps=1_500, batch_size=64, evaluate_every=500, clip=Clip(norm=1.0), engine="single"
    ),
    "paper": Plan(steps=20_000, evaluate_every=1_000, clip=Clip(norm=1.0), engine="single"),
}
MASKS = {
    "smoke": masking(2, 1e-3, evaluation_size=100, batch_size=16, biases=True),
    "laptop": masking(600, 1e-3, 0.1, evaluation_size=2_000, batch_size=64, biases=True),
    "paper": masking(20_000, 1e-4, 1e-3, biases=True),
}
PAIRS, SEEDS = {"smoke": 1, "laptop": 2, "paper": 10}, {"smoke": 1, "laptop": 3, "paper": 10}


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
        "At laptop scale pictures are those of MNIST, two pairs of classes are tried, the network "
        "has a quarter of the channels, and masks are trained for 600 steps with a learning rate "
        "of 0.1 and a beta of 0.001. At smoke scale pictures are random patterns.",
        CIFAR,
        DEVIATIONS,
    ),
    measures=MEASURES,
    measure="seed_iou",
    row_units=dict.fromkeys(ROWS, "simple_cnn"),
)
def mask_stability(run: Run, network: str, pictures: str) -> Training:
    """Train convolutional networks, and find masks of pairs of classes twice."""
    learnt = picture_task(run.scale, pictures)
    options: dict[str, Any] = {"widths": WIDTHS[run.scale], "dropout": (0.0, 0.0)}
    if learnt.data == "cifar10":
        options["channels"] = 3
    how, num_pairs = MASKS[run.scale], PAIRS[run.scale]
    return Training(
        build=registered("simple_cnn", learnt, **options),
        task=learnt,
        plan=PLANS[run.scale],
        observe=partial(measure_stability, how=how, num_pairs=num_pairs),
        seeds=SEEDS[run.scale],
        config={"masks": how.config, "num_pairs": num_pairs},
    )
