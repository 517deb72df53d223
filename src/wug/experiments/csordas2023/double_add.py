"""Is one function that is computed twice computed by one module (table 3.1, B.2, figures 3.3, B.2)?

A row is a network that adds two pairs of numbers; its record has the accuracies of both pairs under
the masks that were found for either. The published numbers are means of ten seeds.

References:
    csordas2023
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from wug.analysis.masks.mask import Mask
from wug.analysis.masks.overlap import iou, sharing
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
from wug.study.claims import Claim, Table
from wug.study.judgements import Judgement, all_of
from wug.study.paper_table import PaperTable
from wug.study.predicates import above, below
from wug.study.trainings import Run, Training, registered
from wug.tasks.modularity.double_addition import DoubleAddition
from wug.training.plan import Clip, Plan

TASK = "double_addition"
PAIRS = {"first": "Pair 1", "second": "Pair 2"}
ROWS = ("fnn", "lstm", "lstm_forced", "fnn_copied")
# What inverted masks do with the outer layers: nothing else, the mask of both pairs, no mask.
TREATMENTS = {"": "", "hidden_": ", hidden layers", "free_": ", hidden layers, outer ones free"}

MEASURES = (
    *(
        share(f"{pair}_under_{mask}", f"{PAIRS[pair]} under {title}")
        for mask, title in (
            ("full", "all weights"), ("both", "the mask of both"), ("first", "pair 1's mask"),
            ("second", "pair 2's mask"),
            *(
                (f"{kind}not_{other}", f"pair {number}'s mask inverted{text}")
                for kind, text in TREATMENTS.items()
                for number, other in enumerate(PAIRS, 1)
            ),
        )
        for pair in PAIRS
    ),
    share("sharing_hidden", "Shared weights of hidden layers", "lower"),
    share("sharing_outer", "Shared weights of first and last layer", "lower"),
    share("mask_iou", "Overlap of both masks", "lower"),
)  # fmt: skip
TEXT = "csordas2023, section 3.2.2"


def outer(names: Iterable[str]) -> list[str]:
    """Return the parameters of the first and the last layer."""
    names = list(names)
    recurrent = [name for name in names if name in ("weight", "input_weights.0")]
    return recurrent or [names[0], names[-1]]


def copy_first_pair(network: nn.Module) -> None:
    """Give the second pair the input and output weights of the first (appendix B.3.1)."""
    named = dict(network.named_parameters())
    first, last = (named[name] for name in outer(n for n in named if "bias" not in n))
    bias = [value for name, value in named.items() if "bias" in name][-1]
    with torch.no_grad():
        first[:, first.shape[1] // 2 :] = first[:, : first.shape[1] // 2]
        for value in (last, bias):
            value[len(value) // 2 :] = value[: len(value) // 2].clone()


def measure_masks(
    network: nn.Module,
    task: DoubleAddition,
    *,
    how: Masking,
    copied: bool,
    folder: Path | None = None,
) -> Mapping[str, float | str]:
    """Find the masks of both pairs, and of each, and measure everything of the tables."""
    if copied:
        copy_first_pair(network)
    tasks = {
        "both": DoubleAddition(asked="either" if task.asked == "either" else "both"),
        "first": DoubleAddition(asked="first"),
        "second": DoubleAddition(asked="second"),
    }
    finder = how.finder(network, task.loss, folder)
    streams = {name: how.stream(one, name) for name, one in tasks.items()}
    masks = {name: found.masks()[0] for name, found in train_all(finder, streams).items()}
    data: dict[str, list[Any]] = {pair: how.data(tasks[pair]) for pair in PAIRS}
    ends = outer(masks["both"].kept)
    every = masks["both"] | ~masks["both"]
    own = {pair: masks[pair] for pair in PAIRS}
    shown: dict[str, Mask | None] = {"full": None, **masks, **random_masks(own)}
    for pair in PAIRS:
        inverse = ~masks[pair]
        shown |= {
            f"not_{pair}": inverse,
            f"hidden_not_{pair}": inverse.replaced(masks["both"], *ends),
            f"free_not_{pair}": inverse.replaced(every, *ends),
        }
    found = under_masks(network, shown, data, right)
    shares = [sharing(masks[a], [masks[b]]) for a, b in (("first", "second"), ("second", "first"))]
    hidden = [value for one in shares for name, value in one.items() if name not in ends]
    found["sharing_hidden"] = mean_of(hidden)
    found["sharing_outer"] = mean_of(one[name] for one in shares for name in ends)
    found["mask_iou"] = iou(masks["first"], masks["second"])
    for name, mask in masks.items():
        found[f"kept_{name}"] = mask.share
    finite = {name: value for name, value in found.items() if math.isfinite(value)}
    return {**finite, **by_layer(own)}


def each(
    table: Table,
    judge: Callable[..., Judgement],
    bound: float,
    measures: Iterable[str],
    row: str,
) -> Judgement:
    """Judge some measures of a network."""
    return all_of(judge(table.at(row, TASK), bound, name) for name in measures)


def _inverted(kind: str, same: bool) -> list[str]:
    return [
        f"{pair}_under_{kind}not_{other}"
        for pair in PAIRS
        for other in PAIRS
        if (pair == other) == same
    ]


def claims_of(row: str, name: str) -> tuple[Claim, ...]:
    """Return what the tables say of one network."""

    def judged(*parts: tuple[Callable[..., Judgement], float, list[str]]) -> Callable[..., Any]:
        return lambda t: all_of(each(t, judge, bound, names, row) for judge, bound, names in parts)

    own = [f"{pair}_under_{pair}" for pair in PAIRS]
    free = _inverted("free_", same=True) + _inverted("free_", same=False)
    return (
        Claim(
            f"{row}_masks_keep_their_pair",
            f"{name}: under the mask of a pair its sums are right (above 95 %).",
            "csordas2023, table 3.1",
            judged((above, 0.95, own)),
        ),
        Claim(
            f"{row}_masks_lose_the_other_pair",
            f"{name}: under the mask of a pair the sums of the other are at chance (below 5 %).",
            "csordas2023, table 3.1",
            judged((below, 0.05, ["first_under_second", "second_under_first"])),
        ),
        Claim(
            f"{row}_other_pair_survives",
            f"{name}: without the weights of a pair the other gets only slightly worse (above "
            "90 %).",
            TEXT,
            judged((above, 0.9, _inverted("", same=False))),
        ),
        Claim(
            f"{row}_own_pair_does_not_survive",
            f"{name}: without its weights a pair is lost (below 25 %).",
            "csordas2023, table 3.1",
            judged((below, 0.25, _inverted("", same=True))),
        ),
        Claim(
            f"{row}_hidden_layers_are_separate",
            f"{name}: with hidden layers inverted alone, the other pair does better than the own "
            "one (above 60 % against below 45 %).",
            "csordas2023, appendix B.3.5 and table B.2",
            judged(
                (above, 0.6, _inverted("hidden_", same=False)),
                (below, 0.45, _inverted("hidden_", same=True)),
            ),
        ),
        Claim(
            f"{row}_free_outer_layers_rescue_both",
            f"{name}: with hidden layers inverted and outer ones unmasked, both pairs do well "
            "(around 90 %; above 80 % here).",
            "csordas2023, appendix B.3.5",
            judged((above, 0.8, free)),
        ),
        Claim(
            f"{row}_little_is_shared",
            f"{name}: pairs share few weights of hidden layers (below half).",
            f"{TEXT} and figure 3.3",
            judged((below, 0.5, ["sharing_hidden"])),
        ),
        Claim(
            f"{row}_outer_layers_share_nothing",
            f"{name}: first and last layers have no shared weights (below 1 %).",
            "csordas2023, figure 3.3",
            judged((below, 0.01, ["sharing_outer"])),
        ),
    )


CLAIMS: tuple[Claim, ...] = (
    *claims_of("fnn", "FNN"),
    *claims_of("lstm", "LSTM"),
    *claims_of("lstm_forced", "LSTM, one pair after the other"),
    Claim(
        "planted_sharing_is_found",
        "If the second pair gets the outer weights of the first, sharing in hidden layers is "
        "almost perfect (above 90 %).",
        "csordas2023, appendix B.3.1 and figure B.2",
        lambda t: each(t, above, 0.9, ["sharing_hidden"], "fnn_copied"),
    ),
)

NETWORKS: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "smoke": {
        "fnn": ("fnn", {"hidden": (16, 16, 16)}),
        "lstm": ("repeated_lstm", {"features": 8, "num_layers": 1, "num_steps": 2}),
    },
    "laptop": {
        "fnn": ("fnn", {"hidden": (800, 800, 800, 800)}),
        "lstm": ("repeated_lstm", {"features": 256, "num_layers": 2, "num_steps": 6}),
    },
    "paper": {
        "fnn": ("fnn", {"hidden": (2000, 2000, 2000, 2000)}),
        "lstm": ("repeated_lstm", {"features": 256, "num_layers": 2, "num_steps": 6}),
    },
}
SEEDS = {"smoke": 1, "laptop": 5, "paper": 10}
STEPS = {"smoke": {}, "laptop": {"fnn": 1_500, "lstm": 2_000}, "paper": {}}
PLANS = {
    "smoke": Plan(steps=20, evaluate_every=10, engine="single"),
    "laptop": Plan(steps=2_000, evaluate_every=250, clip=Clip(norm=1.0), engine="single"),
    "paper": Plan(steps=20_000, evaluate_every=1_000, clip=Clip(norm=1.0), engine="single"),
}
MASKS = {
    "smoke": dict.fromkeys(("fnn", "lstm"), masking(3, 1e-3, evaluation_size=50)),
    "laptop": {
        "fnn": masking(1_000, 4e-4, 0.1, evaluation_size=2_000),
        "lstm": masking(1_000, 1e-4, 0.1, evaluation_size=2_000),
    },
    "paper": {"fnn": masking(20_000, 4e-4), "lstm": masking(20_000, 1e-4)},
}  # fmt: skip


@PaperTable(
    name="Double addition",
    title="Masks of two additions in one network (Csordás, 2023, tables 3.1 and B.2)",
    references=("csordas2023", "csordas2021masks"),
    source="tables 3.1 and B.2, figures 3.3 and B.2, appendix B.3.5",
    labels=("network", "task"),
    rows=ROWS,
    columns=(TASK,),
    trials=10,
    claims=CLAIMS,
    departures=(
        *COMMON,
        "The LSTM of both pairs at once sees them for twice as many steps as one that is given one "
        "after the other, as in the paper; while a mask is trained or judged the pair that is not "
        "asked for is 0, as in the authors' code.",
        "At laptop scale the FNN is the paper's smaller one, with four hidden layers of 800 units "
        "instead of 2000. FNNs are trained for 1,500 steps instead of 20,000, LSTMs for 2,000, and "
        "masks for 1,000 instead of 20,000, with a mask learning rate of 0.1 instead of 0.01. Beta "
        "is the paper's: of 4e-4, 2e-3 and 1e-2 it was the largest that left 95 % of the score of "
        "the mask of both pairs on the validation split of one FNN that is none of the table's.",
        DEVIATIONS,
    ),
    measures=MEASURES,
    measure="second_under_not_first",
    row_units={"lstm_forced": "repeated_lstm", "fnn_copied": "fnn"},
)
def double_add(run: Run, network: str, task: str) -> Training:
    """Train networks to add two pairs of numbers, and find the weights of each pair."""
    family = network.split("_")[0]
    model, options = NETWORKS[run.scale][family]
    if family == "lstm":
        turns = 2 if network == "lstm_forced" else 1
        options = {**options, "turns": turns, "num_steps": options["num_steps"] // turns}
    how, plan = MASKS[run.scale][family], PLANS[run.scale]
    learnt = DoubleAddition(asked="either" if family == "fnn" else "both", evaluation_size=2_000)
    return Training(
        build=registered(model, learnt, **options),
        task=learnt,
        plan=replace(plan, steps=STEPS[run.scale].get(family, plan.steps)),
        observe=partial(measure_masks, how=how, copied=network == "fnn_copied"),
        seeds=SEEDS[run.scale],
        config={"masks": how.config, "copied": network == "fnn_copied"},
    )
