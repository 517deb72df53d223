"""The encoder-decoders of chapter 4: rows, sizes and trainings that its tables share.

Tables of this chapter show the accuracy of the last weights: the thesis trains for a fixed number
of steps and reports what is there in the end (section 4.2.2 says why).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor, nn

from wug.core.schedules import Schedule
from wug.experiments.csordas2023._networks import Setting
from wug.functional.transduction import oracle_match
from wug.interfaces.interface import EarlyStopping, Selection
from wug.interfaces.registered import interface
from wug.sources.pairs import PairTask
from wug.sources.samplers import Drawn
from wug.stats.measures import MEASURES, Measure
from wug.study.trainings import SizedLater, Training
from wug.study.writing_plans import laptop_writing_plan
from wug.training.optimisers import Adam
from wug.training.plan import Clip, Plan

Scaling: TypeAlias = Literal["none", "teu", "ped", "ped_as_published", "xavier"]

# Our key -> the thesis' name, in the order of table 4.4.
MODELS = {
    "transformer": "Trafo",
    "universal": "Uni. Trafo",
    "relative": "Rel. Trafo",
    "relative_universal": "Rel. Uni. Trafo",
}
OPTIONS: dict[str, dict[str, Any]] = {
    "transformer": {"positions": "absolute", "shared": False},
    "universal": {"positions": "absolute", "shared": True},
    "relative": {"positions": "relative", "shared": False},
    "relative_universal": {"positions": "relative", "shared": True},
}
# Our key -> the thesis' name, in the order of table C.5.
SCALINGS = {"ped": "PED", "teu": "TEU", "none": "NoS"}
# The best scaling of networks with absolute positions (table C.5), where there is any.
BEST_SCALING: dict[tuple[str, str], Scaling] = {
    **{(split, model): "ped" for split in ("pcfg_productivity", "pcfg_systematicity")
       for model in ("transformer", "universal")},
    ("cogs", "transformer"): "ped",
    ("cogs", "universal"): "teu",
    ("place_value", "universal"): "ped",
}  # fmt: skip

LAST = (
    "Accuracies are those of the last weights, as in the thesis; the weights that OOD validation "
    "selects are in the records as well. What is observed apart, the published oracle and accuracy "
    "with all distances, is of the last weights where a record says so (observed_weights), else of "
    "the selected ones: so in the records that ship."
)
OOD_VALIDATION = (
    "A tenth of the test set, chosen by a hash, is the OOD validation set, which the thesis lacks; "
    "the other nine tenths are the test."
)
INITIAL = (
    "PED's embeddings begin as printed, with a deviation of 1 / sqrt(d), at laptop scale, and as "
    "in the published code, sqrt(2 / d), at paper scale; with relative positions they begin "
    "Xavier-uniform, as in the code, and not as N(0, 1), as printed."
)
DEVIATIONS = "Published numbers are means; their standard deviations are in the source of a cell."
_OPTIMISED = (
    "in mixed precision; the optimiser is Muon at a rate that falls to zero at the end, weights "
    "are averaged, and a training ends once OOD validation has been solved for a while."
)
LAPTOP = (
    "At laptop scale batches are smaller and go through the network in two parts of similar "
    f"lengths, {_OPTIMISED} On SCAN, distances beyond the longest output of training count as this "
    "length in relative attention (shaw2018); in the thesis all differ."
)
LAPTOP_WHOLE = (
    "At laptop scale batches are smaller, of pairs of similar lengths, and go through the network "
    f"whole, {_OPTIMISED}"
)

# What could pick the network of a training (section 4.2.2), beside its last step: IID validation
# with early stopping as in kim2020, or OOD validation, each by accuracy and by loss.
POLICIES: dict[str, Selection] = {
    "iid_accuracy": EarlyStopping(split="validation", patience=5),
    "iid_loss": EarlyStopping(split="validation", measure="loss", patience=5),
    "ood_accuracy": Selection(split="ood_validation"),
    "ood_loss": Selection(split="ood_validation", measure="loss"),
}


def of_last_weights(name: str, **changes: Any) -> Measure:
    """Return a measure of the test with the last weights in place of the selected ones."""
    measure = MEASURES[name]
    path = measure.path.replace("selected.", "final.")
    complement = measure.complement.replace("selected.", "final.")
    return replace(measure, path=path, complement=complement, **changes)


# What tables of chapter 4 show: of the last weights.
MEASURED = tuple(
    of_last_weights(name)
    for name in ("accuracy", "error", "stopped_wrongly", "wrote_wrongly", "oracle_accuracy")
)


def policy_measures() -> tuple[Measure, ...]:
    """Return the accuracies of what each policy picks, as measures."""
    return tuple(
        replace(
            MEASURES["accuracy"],
            name=f"picked_by_{policy}",
            title=f"Right, picked by {policy.replace('_', ' ')}",
            path=f"policies.{policy}.test.accuracy",
            heading="",
            inside="",
        )
        for policy in POLICIES
    )


def network_options(model: str, scaling: Scaling, *, as_published: bool) -> dict[str, Any]:
    """Return the keyword arguments of a row's network beside its sizes.

    Args:
        model: One of `MODELS`.
        scaling: Of embeddings; with relative positions there is none.
        as_published: Whether PED's embeddings begin as in the published code.
    """
    # The output is tied to the embeddings: from N(0, 1), a relative universal transformer learns
    # short commands of SCAN as fast, but not when longer ones end (docs/sequences.md).
    if model.startswith("relative") and scaling == "none":
        scaling = "xavier"
    elif scaling == "ped" and as_published:
        scaling = "ped_as_published"
    return {**OPTIONS[model], "scaling": scaling}


def trained(
    setting: Setting, task: PairTask, model: str, scaling: Scaling = "none",
    *, as_published: bool = False,
) -> Training:  # fmt: skip
    """Return the training of a row's network on a task."""
    options = network_options(model, scaling, as_published=as_published)
    return Training(
        build=SizedLater(
            model="encoder_decoder", options={**setting.options, **options}, task=task
        ),
        task=task,
        plan=setting.plan,
        seeds=setting.seeds,
        observe=published_oracle,
        observes="last",
    )


def published_setting(
    sizes: Mapping[str, Any], *, steps: int, batch_size: int, rate: Schedule, clip: float,
    accumulation: int = 1, seeds: int = 5,
) -> Setting:  # fmt: skip
    """Return a training as published: Adam, evaluated every 500 steps."""
    plan = Plan(
        steps=steps,
        batch_size=batch_size,
        evaluate_every=500,
        learning_rate=rate,
        optimiser=Adam(),
        clip=Clip(norm=clip),
        sampler=Drawn(),
        accumulation=accumulation,
        engine="single",
    )
    return Setting(options=sizes, plan=plan, seeds=seeds)


def laptop_setting(sizes: Mapping[str, Any], *, seeds: int, **plan: Any) -> Setting:
    """Return a training for a laptop: see `LAPTOP` and `laptop_writing_plan`."""
    return Setting(options=sizes, plan=laptop_writing_plan(**plan), seeds=seeds)


# The smoke scale of every table: tiny networks that see a handful of batches.
SMOKE = Setting(
    options={"features": 8, "hidden_features": 16, "num_heads": 2, "num_layers": 1},
    plan=Plan(steps=2, batch_size=16, evaluate_every=2, optimiser=Adam(), engine="single"),
    seeds=1,
)


@torch.no_grad()
def published_oracle(network: nn.Module, task: PairTask) -> dict[str, float]:
    """Measure the oracle of the published code on the test set.

    It decodes as ever and looks up afterwards what was second to an end that came too early. Where
    no end comes too early this is newman2020's oracle, which one pass with the right answer says;
    the others are decoded.

    Returns:
        ``oracle_as_published``: the share of right answers.
    """
    called, source = interface(task.interface), task.source(1)
    decode: Any = network.decode
    right = total = 0
    for index in range(source.num_parts("test")):
        batch = source.part("test", index)
        logits = called.call(task, network, batch)[0].answer  # type: ignore[attr-defined]
        found = oracle_match(logits[..., :-1].argmax(-1), batch["target"], batch["target_lengths"])
        early = ends_early(logits, batch["target_lengths"])
        if early.any():
            some = {name: value[early] for name, value in batch.items()}
            width = some["target"].shape[1]
            written = decode(some["source"], some["source_lengths"], width, oracle="afterwards")
            found[early] = oracle_match(written, some["target"], some["target_lengths"])
        right, total = right + int(found.sum()), total + len(found)
    return {"oracle_as_published": right / total}


def ends_early(logits: Tensor, lengths: Tensor) -> Tensor:
    """Say where the most likely token is the end although the right answer goes on.

    Shape:
        logits (batch, seq + 1, class), lengths (batch,) -> (batch,), boolean.

    Example:
        >>> logits = torch.tensor([[[0.0, 1.0], [0.0, 1.0]]])
        >>> ends_early(logits, torch.tensor([1])), ends_early(logits, torch.tensor([0]))
        (tensor([True]), tensor([False]))
    """
    index = torch.arange(logits.shape[1], device=logits.device)
    ends = logits.argmax(-1) == logits.shape[-1] - 1
    return (ends & (index < lengths.unsqueeze(-1))).any(-1)
