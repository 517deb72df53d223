"""Does a network keep weights for each of two functions (figures 3.1, 3.2, B.4-B.6, table B.1)?

A row is a network that adds and multiplies modulo 100; a column is the strength of the mask's
regulariser, as a multiple of the chosen one. A record has the accuracies of both operations under
both masks, and which operation is performed instead. The published numbers are means of ten seeds.

References:
    csordas2023
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from wug.analysis.masks.mask import Mask, with_weights
from wug.analysis.masks.overlap import io_min, iou, sharing, total_sharing
from wug.experiments.csordas2023._masks import (
    COMMON,
    DEVIATIONS,
    Masking,
    by_layer,
    masking,
    mean_of,
    random_masks,
    share,
    train_all,
    under_masks,
)
from wug.experiments.csordas2023._number_masks import right
from wug.stats.measures import Measure
from wug.study.claims import Claim, Table
from wug.study.judgements import Judgement, all_of
from wug.study.paper_table import PaperTable, below_paper
from wug.study.predicates import above, exceeds, larger
from wug.study.trainings import Run, Training, registered
from wug.tasks.modularity._digits import decode
from wug.tasks.modularity.add_mul import OPERATIONS, AddMul
from wug.training.plan import Clip, Plan

# Multiples of the chosen beta (figure B.4).
BETAS = ("0.1", "0.3", "1", "3", "10")
CHOSEN = "1"
ROWS = ("fnn_small", "fnn_medium", "fnn_big", "fnn_huge", "lstm")
OTHER = {"add": "mul", "mul": "add"}
TEXT = "csordas2023, section 3.2.1"

MEASURES = (
    *(
        share(f"{name}_under_{mask}", f"{name} under {title}")
        for mask, title in (
            ("full", "all weights"), ("both", "the mask of both"), ("add", "the mask of add"),
            ("mul", "the mask of mul"), ("not_add", "the mask of add inverted"),
            ("not_mul", "the mask of mul inverted"),
        )
        for name in OPERATIONS
    ),
    *(
        share(f"{kind}_of_{name}_under_{OTHER[name]}", f"{title} of {name} under the other's mask")
        for name in OPERATIONS
        for kind, title in (("other", "The other operation instead"), ("none", "Neither"))
    ),
    share("sharing_outer", "Shared weights of first and last layer"),
    share("sharing_hidden", "Shared weights of hidden layers", "lower"),
    share("sharing_add", "Shared weights of add"),
    share("total_sharing", "Shared weights of all"),
    share("mask_iou", "Overlap of both masks"),
    share("mask_io_min", "Overlap, of the smaller mask"),
    Measure(
        name="weight_ratio", title="Weights of mul / weights of add", better="higher",
        path="observed.weight_ratio", about="Mean of all networks",
    ),
)  # fmt: skip


@torch.no_grad()
def performed(network: nn.Module, mask: Mask, x: Tensor, own: str) -> dict[str, float]:
    """Return how often another operation than the one asked for, or neither, is performed."""
    numbers = x[:, :40].unflatten(-1, (2, 20))
    first, second = decode(numbers).unbind(-1)
    results = {"add": (first + second) % 100, "mul": (first * second) % 100}
    with with_weights(network, mask.weights(network)) as masked:
        answer = decode(masked(x))
    differ = results["add"] != results["mul"]
    other = (answer == results[OTHER[own]]) & differ
    none = (answer != results["add"]) & (answer != results["mul"])
    number = int(differ.sum())
    return {
        "other": int(other.sum()) / number,
        "none": int((none & differ).sum()) / number,
    }


def measure_masks(
    network: nn.Module, task: AddMul, *, how: Masking, folder: Path | None = None
) -> Mapping[str, float | str]:
    """Find the masks of both operations, and of each, and measure everything of the figures."""
    alone = {name: AddMul(operations=(name,)) for name in OPERATIONS}
    tasks = {"both": AddMul(), **alone}
    finder = how.finder(network, task.loss, folder)
    streams = {name: how.stream(one, name) for name, one in tasks.items()}
    masks = {name: found.masks()[0] for name, found in train_all(finder, streams).items()}
    data: dict[str, list[Any]] = {name: how.data(tasks[name]) for name in OPERATIONS}
    own = {name: masks[name] for name in OPERATIONS}
    shown: dict[str, Mask | None] = {"full": None, **masks, **random_masks(own)}
    shown |= {f"not_{name}": ~masks[name] for name in OPERATIONS}
    found = under_masks(network, shown, data, right)
    for name in OPERATIONS:
        instead = performed(network, masks[OTHER[name]], data[name][0][0], name)
        found |= {f"{kind}_of_{name}_under_{OTHER[name]}": v for kind, v in instead.items()}
    names = list(masks["add"].kept)
    ends = [n for n in names if n in ("weight", "input_weights.0")] or [names[0], names[-1]]
    shares = {name: sharing(masks[name], [masks[OTHER[name]]]) for name in OPERATIONS}
    outer = [one[name] for one in shares.values() for name in ends]
    hidden = [value for one in shares.values() for name, value in one.items() if name not in ends]
    add, mul = own["add"], own["mul"]
    found |= {
        "sharing_outer": mean_of(outer),
        "sharing_hidden": mean_of(hidden),
        "sharing_add": (add & mul).count / max(add.count, 1),
        "total_sharing": total_sharing([add, mul]),
        "mask_iou": iou(add, mul),
        "mask_io_min": io_min(add, mul),
        "weight_ratio": mul.count / max(add.count, 1),
    }
    finite = {name: value for name, value in found.items() if math.isfinite(value)}
    return {**finite, **by_layer(own)}


def _keeps(table: Table, *rows: str) -> Judgement:
    names = [f"{name}_under_{name}" for name in OPERATIONS]
    return all_of(above(table.at(row, CHOSEN), 0.95, name) for row in rows for name in names)


def _instead(table: Table, row: str, kind: str) -> Judgement:
    names = [f"{kind}_of_{name}_under_{OTHER[name]}" for name in OPERATIONS]
    return all_of(above(table.at(row, CHOSEN), 0.5, name) for name in names)


def _outer_layers_share_more(table: Table, *rows: str) -> Judgement:
    return all_of(
        exceeds(table.at(name, CHOSEN), "sharing_outer", "sharing_hidden") for name in rows
    )


OURS = "none: the paper says it of larger networks"
CLAIMS: tuple[Claim, ...] = (
    Claim(
        "masks_keep_their_operation",
        "Under its mask an operation is right (above 95 %).",
        "csordas2023, table B.1",
        lambda t: _keeps(t, "fnn_big", "lstm"),
    ),
    Claim(
        "multiplication_uses_more_weights",
        "Multiplication uses 3.8 times the weights of addition (above 2 here).",
        TEXT,
        lambda t: above(t.at("fnn_big", CHOSEN), 2.0, "weight_ratio"),
    ),
    Claim(
        "the_fnn_performs_the_masks_operation",
        "Under the other operation's mask, an FNN performs that operation (more than half).",
        f"{TEXT} and figure 3.2",
        lambda t: _instead(t, "fnn_big", "other"),
    ),
    Claim(
        "the_lstm_performs_neither",
        "Under the other operation's mask, an LSTM performs neither (more than half).",
        f"{TEXT} and figure 3.2",
        lambda t: _instead(t, "lstm", "none"),
    ),
    Claim(
        "outer_layers_share_more",
        "First and last layers share more weights than hidden ones.",
        f"{TEXT} and figure 3.1",
        lambda t: _outer_layers_share_more(t, "fnn_big", "lstm"),
    ),
    Claim(
        "larger_networks_share_otherwise",
        "How much is shared changes with the size: a small network shares more than a big one.",
        "csordas2023, figure B.5",
        lambda t: larger(t.at("fnn_small", CHOSEN), t.at("fnn_big", CHOSEN), "sharing_add"),
    ),
    Claim(
        "small_masks_keep_their_operation",
        "The same of the small FNN: under its mask an operation is right (above 95 %).",
        OURS,
        lambda t: _keeps(t, "fnn_small"),
    ),
    Claim(
        "small_multiplication_uses_more_weights",
        "The same of the small FNN: multiplication uses more than twice the weights.",
        OURS,
        lambda t: above(t.at("fnn_small", CHOSEN), 2.0, "weight_ratio"),
    ),
    Claim(
        "the_small_fnn_performs_the_masks_operation",
        "The same of the small FNN: it performs the mask's operation (more than half).",
        OURS,
        lambda t: _instead(t, "fnn_small", "other"),
    ),
    Claim(
        "small_outer_layers_share_more",
        "The same of the small FNN: first and last layers share more weights than hidden ones.",
        OURS,
        lambda t: _outer_layers_share_more(t, "fnn_small"),
    ),
)

SIZES: dict[str, dict[str, Any]] = {
    "fnn_small": {"hidden": (400, 400, 200)},
    "fnn_medium": {"hidden": (800,) * 4},
    "fnn_big": {"hidden": (2000,) * 4},
    "fnn_huge": {"hidden": (4000,) * 4},
    "lstm": {"features": 256, "num_layers": 2, "num_steps": 3},
}
SMOKE: dict[str, dict[str, Any]] = {
    "fnn_small": {"hidden": (8, 8)},
    "fnn_medium": {"hidden": (12, 12)},
    "fnn_big": {"hidden": (16, 16)},
    "fnn_huge": {"hidden": (20, 20)},
    "lstm": {"features": 6, "num_layers": 1, "num_steps": 2},
}
SEEDS = {"smoke": 1, "laptop": 5, "paper": 10}
PLANS = {
    "smoke": Plan(steps=20, evaluate_every=10, engine="single"),
    "laptop": Plan(steps=5_000, evaluate_every=500, clip=Clip(norm=1.0), engine="single"),
    "paper": Plan(steps=20_000, evaluate_every=1_000, clip=Clip(norm=1.0), engine="single"),
}
MASKS = {
    "smoke": masking(3, 1e-3, evaluation_size=50),
    "laptop": masking(3_000, 1e-4, 0.1, evaluation_size=2_000),
    "paper": masking(20_000, 1e-4),
}


@PaperTable(
    name="Addition and multiplication",
    title="Masks of two operations in one network (Csordás, 2023, figure 3.1 and table B.1)",
    references=("csordas2023", "csordas2021masks"),
    source="figures 3.1, 3.2, B.4, B.5 and B.6, table B.1",
    labels=("network", "beta"),
    rows=ROWS,
    columns=BETAS,
    usual={
        **below_paper(network=("fnn_small", "lstm"), beta=(CHOSEN,)),
        "paper": {"beta": (CHOSEN,)},
    },
    trials=10,
    claims=CLAIMS,
    departures=(
        *COMMON,
        "Unless --only names rows, masks are trained with the chosen beta alone.",
        "At laptop scale the small FNN and the LSTM are trained, for 5,000 steps instead of "
        "20,000, and masked for 3,000 with a mask learning rate of 0.1 instead of 0.01. Beta is "
        "the paper's: of 1e-4, 3e-4 and 1e-3 it was the largest that left 95 % of the score of the "
        "mask of both operations on the validation split of one FNN that is none of the table's.",
        DEVIATIONS,
    ),
    measures=MEASURES,
    measure="sharing_add",
    row_units={row: "fnn" for row in ROWS[:4]} | {"lstm": "repeated_lstm"},
)
def add_mul(run: Run, network: str, beta: str) -> Training:
    """Train networks to add and multiply modulo 100, and find the weights of each operation."""
    chosen = MASKS[run.scale]
    setting = replace(chosen.setting, beta=chosen.setting.beta * float(beta))
    how = replace(chosen, setting=setting)
    learnt = AddMul(evaluation_size=2_000)
    model = "repeated_lstm" if network == "lstm" else "fnn"
    options = (SMOKE if run.scale == "smoke" else SIZES)[network]
    return Training(
        build=registered(model, learnt, **options),
        task=learnt,
        plan=PLANS[run.scale],
        observe=partial(measure_masks, how=how),
        seeds=SEEDS[run.scale],
        config={"masks": how.config},
    )
