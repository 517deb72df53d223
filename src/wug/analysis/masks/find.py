"""One call: the masks of a network's functions, with their controls."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
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
from wug.analysis.masks.found import FoundMasks
from wug.analysis.masks.gates import (
    Blocks,
    Gates,
    Granularity,
    chosen_parameters,
    make_gates,
)
from wug.analysis.masks.judging import Matrix, curve, scores_under
from wug.analysis.masks.mask import Mask, model_hash
from wug.analysis.masks.problem import (
    Loss,
    Score,
    Stream,
    batches,
    first_batches,
    is_pair,
    mean_score,
    right_answers,
)
from wug.analysis.masks.sampling import WAYS, Way
from wug.analysis.masks.training import MaskTraining, Setting
from wug.core.configs import as_config
from wug.core.errors import UserError, require_choice
from wug.core.registry import register
from wug.functional.streams import generator_for
from wug.records import Json, config_hash
from wug.training.checkpoint import load_checkpoint, save_checkpoint

SHARES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
CHECKPOINT_SECONDS = 20.0
# Of beta, in the search: what it begins with, and by how much it grows.
FIRST_BETA, GROWTH, MOST_TRIES = 1e-6, 3.0, 14
ENOUGH = 0.95

Report = Callable[[str, int, int], None]


class Finder:
    """Trains the masks of one network, one function after the other.

    Args:
        model: The network.
        gates: Which weights are masked.
        loss: Of all functions.
        setting: How to train.
        folder: Of checkpoints; None for none.
        report: Called with the function's name, the step and the number of steps.
    """

    def __init__(
        self,
        model: nn.Module,
        gates: Gates,
        loss: Loss,
        setting: Setting,
        *,
        folder: Path | None = None,
        report: Report | None = None,
    ) -> None:
        self.model, self.gates, self.loss, self.setting = model, gates, loss, setting
        self.folder, self.report = folder, report

    def train(
        self,
        name: str,
        stream: Stream,
        *,
        model: nn.Module | None = None,
        pinned: dict[str, Tensor] | None = None,
    ) -> MaskTraining:
        """Train the masks of a function, from a checkpoint if there is one.

        Args:
            name: Of the function.
            stream: Its batches.
            model: Another network of the same shape.
            pinned: Logits that stay as they are, by group.
        """
        network = self.model if model is None else model
        training = MaskTraining(
            network, self.gates, self.loss, self.setting, name=name, pinned=pinned
        )
        path = fingerprint = None
        if self.folder is not None:
            path = self.folder / f"{config_hash({'name': name})}.safetensors"
            facts = {"name": name, "model": model_hash(network), **describe(self.setting)}
            fingerprint = config_hash({**facts, "gates": dict(self.gates.numbers)})
            if (saved := load_checkpoint(path, fingerprint)) is not None:
                training.load_state(saved[0])
        stops = self.setting.steps
        source = batches(stream, training.step_number)
        last = time.monotonic()
        while training.step_number < stops:
            training.step(next(source))
            over = training.step_number == stops
            if path and fingerprint and (over or time.monotonic() - last > CHECKPOINT_SECONDS):
                save_checkpoint(path, training.state(), {}, fingerprint)
                last = time.monotonic()
            if self.report is not None:
                self.report(name, training.step_number, stops)
        return training


def describe(setting: Setting) -> dict[str, Json]:
    """Return a setting as plain data; how it is computed does not matter."""
    found: Any = as_config(replace(setting, compiled=None))
    return dict(found)


def find_beta(
    finder: Finder, stream: Stream, data: Sequence[Any], score: Score, enough: float = ENOUGH
) -> float:
    """Find the strength of the regulariser by training masks on the full task.

    The heuristic of csordas2023, appendix B.3.3: make it larger as long as the score does not
    drop, then smaller until enough of the full network's score is left.

    Args:
        finder: With any beta.
        stream: Of the full task.
        data: Batches of it, for the score.
        score: See `find_masks`.
        enough: Share of the full network's score that must be left.

    Raises:
        UserError: Even the weakest regulariser loses too much.
    """
    full = mean_score(finder.model.eval(), data, score)
    beta, best = FIRST_BETA, None
    for number in range(MOST_TRIES):
        trial = Finder(
            finder.model, finder.gates, finder.loss,
            replace(finder.setting, beta=beta, seeds=finder.setting.seeds[:1]),
            report=finder.report,
        )  # fmt: skip
        mask = trial.train(f"beta {beta:.2g}", stream).masks()[0]
        if scores_under(finder.model, mask, {"": data}, score)[""] >= enough * full:
            if best is not None and best > beta:
                return beta
            best, beta = beta, beta * GROWTH
        elif best is not None:
            return best
        elif number and beta < FIRST_BETA / 100:
            break
        else:
            beta /= GROWTH
    if best is None:
        raise UserError(
            f"find_masks: even with beta {beta:.1g} a mask of the full task keeps less than "
            f"{enough:.0%} of its score; train for more steps or with more samples."
        )
    return best


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
    if not functions:
        raise UserError("find_masks: functions must name at least one.")
    for name in controls:
        require_choice("find_masks", "controls", name, CONTROLS)
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
    with _Bar(progress) as report:
        finder = Finder(
            model, gates, loss, setting, folder=None if resume is None else Path(resume),
            report=report,
        )  # fmt: skip
        if beta == "search":
            every = [batch for batches_ in data.values() for batch in batches_]
            found_beta = find_beta(finder, _in_turn(list(functions.values())), every, judge)
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


def _in_turn(streams: Sequence[Stream]) -> Stream:
    """Return batches of all functions in turn."""
    sources: dict[int, Any] = {}

    def batch(step: int) -> Any:
        index = step % len(streams)
        if step == index or index not in sources:
            sources[index] = batches(streams[index], step // len(streams))
        return next(sources[index])

    return batch


class _Bar:
    """A progress bar with a line for each function, or nothing."""

    def __init__(self, shown: bool) -> None:
        self.bar: Any = None
        if shown:
            from rich.progress import Progress

            self.bar = Progress()
        self.lines: dict[str, Any] = {}

    def __enter__(self) -> Report | None:
        if self.bar is None:
            return None
        self.bar.start()
        return self._report

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def _report(self, name: str, step: int, steps: int) -> None:
        if name not in self.lines:
            self.lines[name] = self.bar.add_task(name, total=steps)
        self.bar.update(self.lines[name], completed=step)
