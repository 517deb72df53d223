"""What the tables on masks of arithmetic share: tasks, networks and how masks are found."""

from __future__ import annotations

from functools import partial
from typing import Any

from torch import Tensor

from wug.experiments.csordas2023._masks import masking
from wug.study.experiment import Scale
from wug.study.trainings import Run, Training, registered
from wug.tasks.modularity._digits import wrong_answers
from wug.tasks.modularity.add_mul import AddMul
from wug.tasks.modularity.double_addition import DoubleAddition
from wug.training.plan import Clip, Observe, Plan

TASKS: dict[str, Any] = {
    "double_addition": DoubleAddition(asked="either", evaluation_size=2_000),
    "add_mul": AddMul(evaluation_size=2_000),
}
HIDDEN: dict[Scale, dict[str, tuple[int, ...]]] = {
    "smoke": {"fnn": (12, 12, 12), "fnn_big": (14, 14, 14)},
    "laptop": {"fnn": (400, 400, 200), "fnn_big": (800,) * 4},
    "paper": {"fnn": (800,) * 4, "fnn_big": (2000,) * 4},
}
SEEDS = {"smoke": 1, "laptop": 3, "paper": 10}
PLANS = {
    "smoke": Plan(steps=20, evaluate_every=10, engine="single"),
    "laptop": Plan(steps=5_000, evaluate_every=1_000, clip=Clip(norm=1.0), engine="single"),
    "paper": Plan(steps=20_000, evaluate_every=1_000, clip=Clip(norm=1.0), engine="single"),
}
# Appendices B.3.4 and B.3.5.
BETAS = {"double_addition": 4e-4, "add_mul": 1e-4}
LAPTOP = (
    "At laptop scale the FNN has hidden layers of 400, 400 and 200 units (instead of four of 800), "
    "or four of 800 (instead of 2000), and is trained for 5,000 steps; masks have 2,000 steps with "
    "a learning rate of 0.1 instead of 0.01, and the paper's betas."
)


def right(prediction: Tensor, target: Tensor) -> Tensor:
    """Return which rows are right."""
    return (~wrong_answers(prediction, target)).float()


def number_training(run: Run, network: str, task: str, measure: Observe) -> Training:
    """Return the training of an FNN whose mask of the full task is measured.

    Args:
        run: What all cells share.
        network: The row.
        task: Its name.
        measure: (network, task, how, folder) -> numbers.
    """
    learnt, beta = TASKS[task], BETAS[task]
    how = {
        "smoke": masking(3, 1e-3, evaluation_size=50),
        "laptop": masking(2_000, beta, 0.1, evaluation_size=2_000),
        "paper": masking(20_000, beta),
    }[run.scale]
    return Training(
        build=registered("fnn", learnt, hidden=HIDDEN[run.scale][network]),
        task=learnt,
        plan=PLANS[run.scale],
        observe=partial(measure, how=how),
        seeds=SEEDS[run.scale],
        config={"masks": how.config},
    )
