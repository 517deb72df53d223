"""One call: the masks of a network's functions, with their controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from wug.analysis.masks.controls import (
    CONTROLS,
    ablated_scores,
    random_mask_scores,
    seed_overlap,
    trained_controls,
)
from wug.analysis.masks.finder import Bar, Finder, describe, find_beta, in_turn
from wug.analysis.masks.found import FoundMasks
from wug.analysis.masks.gates import (
    Blocks,
    Granularity,
    chosen_parameters,
    make_gates,
)
from wug.analysis.masks.judging import Matrix, curve, scores_under
from wug.analysis.masks.mask import Mask
from wug.analysis.masks.overlap import precision_recall
from wug.analysis.masks.problem import (
    Loss,
    Score,
    Stream,
    first_batches,
    is_pair,
    require_problem,
    right_answers,
)
from wug.analysis.masks.sampling import WAYS, Way
from wug.analysis.masks.training import Setting
from wug.core.errors import UserError, require_choice
from wug.core.registry import register
from wug.functional.streams import generator_for

SHARES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)


@register(
    "analysis",
    key="masks",
    name="Weight masks",
    references=("csordas2023", "csordas2021masks"),
    equation=r"w'_i = w_i b_i, \qquad b_i \sim \mathrm{Bernoulli}(\sigma(l_i))",
)
def find_masks(
    model: nn.Module,
    functions: Mapping[str, Stream],
    loss: Loss,
    *,
    score: Score | None = None,
    evaluation: Mapping[str, Sequence[Any]] | None = None,
    parameters: str | Sequence[str] = "*",
    skip: str | Sequence[str] = (),
    biases: bool = False,
    embeddings: bool = False,
    granularity: Granularity = "weight",
    blocks: Mapping[str, Blocks] | None = None,
    method: str | Way = "gumbel",
    beta: float | Literal["search"] = 1e-4,
    steps: int = 20_000,
    learning_rate: float = 1e-2,
    samples: int = 4,
    probability: float = 0.9,
    clip: float | None = 1.0,
    seeds: int | Sequence[int] = 2,
    controls: Sequence[str] = CONTROLS,
    truth: Mapping[str, Mask] | None = None,
    target: str | int | None = None,
    evaluation_batches: int = 8,
    shares: Sequence[float] = SHARES,
    resume: Path | str | None = None,
    progress: bool = True,
    compiled: bool | None = None,
) -> FoundMasks:
    """Find the weights that each function of a trained network needs.

    The weights are frozen, the network is in evaluation mode, and for each function a binary mask
    is trained that keeps its loss low with few weights.

    Equation (csordas2023, Eq. 3.1, 3.2): w'_i = w_i b_i, b_i = [1(s_i > 0.5) - s_i]_stop + s_i, s_i
    = sigmoid((l_i - log(log U1 / log U2)) / tau), loss + alpha sum_i l_i, M_i = l_i > 0.

    Notation:
        l_i -> logits, alpha -> beta / rows of a batch.

    Departures:
        One uniform number stands for U1 and U2; the distribution is the same. As in the authors'
        code the regulariser is added after the task's gradient and both are clipped together.

    Args:
        model: Any network; it is not changed.
        functions: Name -> batches: a loader, or a function from a step to its batch. A batch that
            is a tuple is inputs and a target; anything else is handed to the loss as it is.
        loss: ``loss(model(*inputs), target)`` for tuples, else ``loss(model, batch)``.
        score: Called as the loss; returns how right each row is, from 0 to 1. By default whether
            the largest output is that of the target class.
        evaluation: Name -> batches that scores are measured on; by default the first ones.
        parameters: Patterns of names of the parameters that are masked.
        skip: Patterns of names of parameters that are left alone.
        biases: Whether biases are masked.
        embeddings: Whether embeddings are masked.
        granularity: What is kept or removed as one: a weight, a neuron, a head, an expert or a
            layer.
        blocks: For parameters by pattern, where their heads or other blocks are.
        method: ``"gumbel"``, ``"hard_concrete"``, ``"continuous"``, or one of
            `wug.analysis.masks.sampling` with its options.
        beta: Strength of the regulariser; ``"search"`` finds it by masks of all functions together.
        steps: Of training, for each function.
        learning_rate: Of Adam.
        samples: Masks that are drawn in a step, each for its part of the batch.
        probability: That a weight is kept, at the beginning.
        clip: Greatest norm of the gradient.
        seeds: How many masks of each function, or their seeds; they are trained together.
        controls: Which of `wug.analysis.masks.controls.CONTROLS`; none leaves a mask without
            anything to compare it with.
        truth: Function -> the weights that it needs, if that is known: masks are compared with it,
            over the weights that are not 0.
        target: Where mappings have their targets, for the control with shuffled labels.
        evaluation_batches: How many batches, if ``evaluation`` is not given.
        shares: Of the weights, for the curves of the score over the number of weights.
        resume: Folder of checkpoints: a call that was interrupted goes on where it stopped. A
            loader that shuffles by torch's global state goes on with other batches.
        progress: Whether to show a bar.
        compiled: Whether to compile; None means: if it is worth the wait.

    Raises:
        UserError: Something does not fit; the sentence says what.

    Example:
        >>> import torch
        >>> x = torch.eye(4)
        >>> model = nn.Linear(4, 2, bias=False)
        >>> _ = model.load_state_dict({"weight": torch.tensor([[9.0, 0, 9, 0], [0.0, 9, 0, 9]])})
        >>> functions = {
        ...     "first": [(x[:2].repeat(16, 1), torch.tensor([0, 1]).repeat(16))],
        ...     "second": [(x[2:].repeat(16, 1), torch.tensor([0, 1]).repeat(16))],
        ... }
        >>> found = find_masks(
        ...     model, functions, nn.functional.cross_entropy, steps=300, learning_rate=0.1,
        ...     beta=0.1, controls=(), seeds=1, progress=False,
        ... )
        >>> found["first"].kept["weight"].int().tolist(), found.specialise.value
        ([[1, 0, 0, 0], [0, 1, 0, 0]], 0.5)

    References:
        csordas2023, csordas2021masks
    """
    require_problem(model, functions, loss)
    for name in controls:
        require_choice("find_masks", "controls", name, CONTROLS)
    for name, true in (truth or {}).items():
        require_choice("find_masks", "truth", name, list(functions))
        if not isinstance(true, Mask):
            raise UserError(f"find_masks: truth must be masks; got {type(true).__name__}.")
    if isinstance(method, str):
        require_choice("find_masks", "method", method, WAYS)
    names = chosen_parameters(
        model, parameters=parameters, skip=skip, biases=biases, embeddings=embeddings
    )
    gates = make_gates(model, names, granularity, blocks)
    setting = Setting(
        steps=steps, beta=0.0 if beta == "search" else beta, learning_rate=learning_rate,
        samples=samples, probability=probability, clip=clip,
        way=WAYS[method] if isinstance(method, str) else method,
        seeds=tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds), compiled=compiled,
    )  # fmt: skip
    data = {
        name: list((evaluation or {}).get(name, ())) or first_batches(stream, evaluation_batches)
        for name, stream in functions.items()
    }
    judge = _score(score, data)
    full = scores_under(model, None, data, judge)
    if not isinstance(seeds, int) and len(set(seeds)) < len(seeds):
        raise UserError(f"find_masks: seeds must be distinct; got {list(seeds)}.")
    with Bar(progress) as report:
        finder = Finder(
            model, gates, loss, setting, folder=None if resume is None else Path(resume),
            report=report,
        )  # fmt: skip
        if beta == "search":
            every = [batch for batches_ in data.values() for batch in batches_]
            found_beta = find_beta(finder, in_turn(list(functions.values())), every, judge)
            finder.setting = setting = replace(setting, beta=found_beta)
        trainings = {name: finder.train(name, stream) for name, stream in functions.items()}
        masks = {name: training.masks() for name, training in trainings.items()}
        logits = {name: training.scores() for name, training in trainings.items()}
        compared = {
            name: _controls(controls, finder, name, stream, masks[name], data[name], judge, target)
            for name, stream in functions.items()
        }
    scores, inverse = _matrices(model, masks, data, judge, len(setting.seeds))
    curves = {}
    if shares:
        curves = {n: curve(model, logits[n][0], data[n], judge, shares) for n in functions}
        random = {n: _random_order(logits[n][0]) for n in functions}
        rows = [curve(model, random[n], data[n], judge, shares) for n in functions]
        curves["random"] = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    return FoundMasks(
        masks=masks, logits=logits, full=full, scores=scores, inverse=inverse, curves=curves,
        shares=tuple(shares), controls=compared,
        truth={n: _compared(model, masks[n], true) for n, true in (truth or {}).items()},
        losses={name: training.losses for name, training in trainings.items()},
        setting={**describe(setting), "granularity": granularity, "parameters": list(names)},
    )  # fmt: skip


def _score(score: Score | None, data: Mapping[str, Sequence[Any]]) -> Score:
    if score is not None:
        return score
    if not all(is_pair(batch) for batches_ in data.values() for batch in batches_):
        raise UserError(
            "find_masks: batches that are no tuples need a score: score(model, batch) returns how "
            "right each row is, from 0 to 1."
        )
    return right_answers


def _controls(
    wanted: Sequence[str],
    finder: Finder,
    name: str,
    stream: Stream,
    masks: Sequence[Mask],
    data: Sequence[Any],
    score: Score,
    target: str | int | None,
) -> dict[str, float]:
    """Return the controls of a function, by name."""
    model = finder.model

    def train(control: str, network: nn.Module, batches_: Stream) -> list[Mask]:
        return finder.train(f"{name}, {control}", batches_, model=network).masks()

    names = list(finder.gates.shapes)
    found = trained_controls(wanted, model, names, stream, target, train, data, score)
    if "random_mask" in wanted:
        values = random_mask_scores(model, masks, data, score)
        found["random_mask"] = sum(values) / len(values)
    if "seeds" in wanted:
        found["seed_iou"] = seed_overlap(masks)
    if "ablations" in wanted:
        ablated = ablated_scores(model, masks, data, score)
        found |= {f"others_{kind}": value for kind, value in ablated.items()}
    return found


def _compared(model: nn.Module, masks: Sequence[Mask], truth: Mask) -> dict[str, float]:
    """Return precision and recall of some masks, over weights that are not 0; means."""
    params = dict(model.named_parameters())
    there = Mask({name: params[name].detach() != 0 for name in truth.kept}, truth.model)
    pairs = [precision_recall(mask & there, truth) for mask in masks]
    precision, recall = (sum(values) / len(pairs) for values in zip(*pairs, strict=True))
    return {"precision": precision, "recall": recall}


def _matrices(
    model: nn.Module,
    masks: Mapping[str, Sequence[Mask]],
    data: Mapping[str, Sequence[Any]],
    score: Score,
    num_seeds: int,
) -> tuple[list[Matrix], list[Matrix]]:
    """Return for each seed the scores of all functions under all masks, and under all inverses."""
    under = partial(scores_under, model, data=data, score=score)
    return (
        [{name: under(own[i]) for name, own in masks.items()} for i in range(num_seeds)],
        [{name: under(~own[i]) for name, own in masks.items()} for i in range(num_seeds)],
    )


def _random_order(logits: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return logits in another order within each parameter."""
    found = {}
    for name, value in logits.items():
        order = torch.randperm(value.numel(), generator=generator_for("curve", name)).to(
            value.device
        )
        found[name] = value.flatten()[order].view_as(value)
    return found
