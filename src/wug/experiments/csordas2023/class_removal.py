"""Do classes of pictures have weights of their own (figures 3.7, B.10-B.13)?

A row is a network. A mask of all classes is trained, then one for each class that is left out, in
which the output layer keeps the mask of all classes. What the network then loses is measured by the
difference of the confusion matrices. The sources are figures: there are claims and no numbers.

References:
    csordas2023
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from torch import nn

from wug.analysis.masks.judging import confusion
from wug.experiments.csordas2023._masks import (
    CIFAR,
    COMMON,
    Masking,
    masking,
    picture_stream,
    picture_task,
    share,
)
from wug.study.claims import Claim
from wug.study.judgements import all_of
from wug.study.paper_table import PaperTable, below_paper
from wug.study.predicates import above, below, larger
from wug.study.trainings import Run, Training, registered
from wug.tasks.modularity.image_classes import NUM_CLASSES, ImageClasses
from wug.training.plan import Clip, Plan

ROWS = ("cnn", "cnn_no_dropout")
COLUMNS = ("mnist", "cifar10")
TEXT = "csordas2023, section 3.4"
MEASURES = (
    share("target_drop", "Loss of the class that is left out", "higher"),
    share("other_drop", "Largest loss of another class / loss of that class", "lower"),
    share("control_accuracy", "Right under the mask of all classes"),
    share("full_accuracy", "Right with all weights"),
    share("kept_all", "Weights of all classes", "lower"),
)


def measure_classes(
    network: nn.Module, task: ImageClasses, *, how: Masking, classes: tuple[int, ...]
) -> Mapping[str, float]:
    """Leave out one class after the other, and return what is lost."""
    finder = how.finder(network, task.loss)
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
    drops, others, found = [], [], {}
    for one in classes:
        rest = replace(task, without=(one,))
        name = f"without {one}"
        trained = finder.train(name, picture_stream(rest, how.batch_size, name), pinned=pinned)
        after = confusion(network, trained.masks()[0], data, NUM_CLASSES)
        lost = (before - after).diagonal() / np.maximum(before.diagonal(), 1e-9)
        drops.append(float(lost[one]))
        most = float(np.nanmax(np.delete(lost, one)))
        others.append(max(most, 0.0) / lost[one] if lost[one] > 0 else 1.0)
        found[f"drop_{one}"] = float(lost[one])
        found |= {f"change_{one}_{k}": float(v) for k, v in enumerate((after - before)[one])}
    return {
        **found,
        "target_drop": float(np.mean(drops)),
        "other_drop": float(min(np.mean(others), 1.0)),
        "control_accuracy": float(np.nanmean(before.diagonal())),
        "full_accuracy": float(np.nanmean(full.diagonal())),
        "kept_all": control.masks()[0].share,
    }


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
        "digits_have_weights_of_their_own",
        "The same of MNIST, which is ours to ask: a digit loses more than any other.",
        "none",
        lambda t: all_of(below(t.at(row, "mnist"), 0.5, "other_drop") for row in ROWS),
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
CLASSES = {"smoke": (0,), "laptop": (0, 3, 8), "paper": tuple(range(NUM_CLASSES))}
SEEDS = {"smoke": 1, "laptop": 3, "paper": 10}


@PaperTable(
    name="Removal of classes",
    title="Masks without one class of pictures (Csordás, 2023, figures 3.7 and B.10-B.12)",
    references=("csordas2023", "csordas2021masks"),
    source="figures 3.7, B.10, B.11 and B.12",
    labels=("network", "pictures"),
    rows=ROWS,
    columns=COLUMNS,
    usual=below_paper(pictures=("mnist",)),
    claims=CLAIMS,
    departures=(
        *COMMON,
        "ResNet-110 (figure B.13) is not a row.",
        "At laptop scale pictures are those of MNIST, the network has a quarter of the channels, "
        "three classes are removed, and masks are trained for 600 steps with a learning rate of "
        "0.1 and a beta of 0.001. At smoke scale pictures are random patterns.",
        CIFAR,
    ),
    measures=MEASURES,
    measure="target_drop",
    row_units=dict.fromkeys(ROWS, "simple_cnn"),
)
def class_removal(run: Run, network: str, pictures: str) -> Training:
    """Train convolutional networks, and remove the weights that single classes need."""
    learnt = picture_task(run.scale, pictures)
    options: dict[str, Any] = {"widths": WIDTHS[run.scale]}
    if network == "cnn_no_dropout":
        options["dropout"] = (0.0, 0.0)
    if learnt.data == "cifar10":
        options["channels"] = 3
    how, classes = MASKS[run.scale], CLASSES[run.scale]
    return Training(
        build=registered("simple_cnn", learnt, **options),
        task=learnt,
        plan=PLANS[run.scale],
        observe=partial(measure_classes, how=how, classes=classes),
        seeds=SEEDS[run.scale],
        config={"masks": how.config, "classes": list(classes)},
    )
