"""What the tables on classes of pictures share: networks, trainings and masks of each scale."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Any

from torch import Tensor

from wug.analysis.masks.problem import Stream
from wug.core.schedules import Drops
from wug.experiments.csordas2023._masks import Masking, masking
from wug.functional.streams import generator_for
from wug.study.trainings import Run, Training, registered
from wug.tasks.modularity.image_classes import CHANNELS, ImageClasses
from wug.training.optimisers import MomentumSGD
from wug.training.plan import Clip, Observe, Plan

COLUMNS = ("mnist", "cifar10")
CIFAR = "CIFAR-10 is read from the folder that the environment variable WUG_CIFAR10 names."
LAPTOP = (
    "At laptop scale pictures are those of MNIST, the convolutional network has a quarter of the "
    "channels and is trained for 1,000 steps of 64 pictures; masks are trained for 600 steps with "
    "a learning rate of 0.1 instead of 0.001, and a beta of 1e-3: of 1e-4, 1e-3 and 1e-2 the "
    "largest that left 95 % of the score of the mask of all classes on the validation split of one "
    "network that is none of the table's. At smoke scale pictures are random patterns."
)

NETWORKS: dict[str, tuple[str, dict[str, Any]]] = {
    "cnn": ("simple_cnn", {}),
    "cnn_no_dropout": ("simple_cnn", {"dropout": (0.0, 0.0)}),
    "resnet": ("resnet", {}),
}
SIZES: dict[str, dict[str, dict[str, Any]]] = {
    "smoke": {"simple_cnn": {"widths": (2, 2, 4, 4)}, "resnet": {"depth": 8, "widths": (2, 2, 4)}},
    "laptop": {"simple_cnn": {"widths": (8, 16, 32, 64)}, "resnet": {"depth": 20}},
    "paper": {"simple_cnn": {}, "resnet": {"depth": 110}},
}
PLANS = {
    "smoke": Plan(steps=10, batch_size=32, evaluate_every=10, engine="single"),
    "laptop": Plan(
        steps=1_000, batch_size=64, evaluate_every=500, clip=Clip(norm=1.0), engine="single"
    ),
    "paper": Plan(steps=20_000, evaluate_every=1_000, clip=Clip(norm=1.0), engine="single"),
}
# Of csordas2023, appendix B.3.8.
RESNET_PLAN = Plan(
    steps=64_000, evaluate_every=1_000, optimiser=MomentumSGD(), engine="single",
    learning_rate=Drops(0.1, 0.1, (32_000, 48_000)),
)  # fmt: skip
MASKS = {
    "smoke": masking(2, 1e-3, evaluation_size=100, batch_size=16, biases=True),
    "laptop": masking(600, 1e-3, 0.1, evaluation_size=10_000, batch_size=64, biases=True),
    "paper": masking(20_000, 1e-4, 1e-3, biases=True),
}
RESNET_MASKS = masking(30_000, 2e-5, 0.03, batch_size=256, biases=True)


def picture_task(scale: str, network: str, pictures: Any) -> ImageClasses:
    """Return the pictures of a cell; random patterns at smoke scale."""
    if scale == "smoke":
        return ImageClasses(data="drawn", evaluation_size=200)
    folder = os.environ.get("WUG_CIFAR10", "") if pictures == "cifar10" else ""
    size = 10_000 if scale == "paper" else 2_000
    moved = scale == "paper" and network == "resnet"
    return ImageClasses(data=pictures, folder=folder, evaluation_size=size, moved=moved)


def picture_stream(task: ImageClasses, batch_size: int, name: str) -> Stream:
    """Return batches of pictures, as a function of the step."""

    def batch(step: int) -> tuple[Tensor, Tensor]:
        drawn = task.draw(generator_for("masks", name, step), batch_size)
        return drawn["x"], drawn["y"]

    return batch


def picture_masks(scale: str, network: str) -> Masking:
    """Return how the masks of a network are found."""
    return RESNET_MASKS if scale == "paper" and network == "resnet" else MASKS[scale]


def picture_training(
    run: Run,
    network: str,
    pictures: str,
    measure: Observe,
    seeds: int,
    further: Mapping[str, Any],
) -> Training:
    """Return the training of a cell whose masks are measured.

    Args:
        run: What all cells share.
        network: The row.
        pictures: The column.
        measure: (network, task, how, further, folder) -> numbers.
        seeds: How many networks.
        further: Arguments of the measure that records name, too.
    """
    task = picture_task(run.scale, network, pictures)
    model, options = NETWORKS[network]
    how = picture_masks(run.scale, network)
    plan = RESNET_PLAN if run.scale == "paper" and network == "resnet" else PLANS[run.scale]
    sizes = {**SIZES[run.scale][model], "channels": CHANNELS[task.data]}
    return Training(
        build=registered(model, task, **sizes, **options),
        task=task,
        plan=plan,
        observe=partial(measure, how=how, **further),
        seeds=seeds,
        config={"masks": how.config, **further},
    )
