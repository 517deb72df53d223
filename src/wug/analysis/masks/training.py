"""Train masks of a frozen network: several samples per batch, seeds stacked.

References:
    csordas2023, section 3.1 and appendix B.3.2
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import vmap

from wug.analysis.masks.gates import Gates, masked_parameters
from wug.analysis.masks.mask import Mask, model_hash
from wug.analysis.masks.problem import Loss, call, cut_rows, num_rows, part, to_device
from wug.analysis.masks.sampling import GumbelSigmoid, Way, initial_logit
from wug.core.errors import UserError, require_at_least
from wug.core.freed_memory import keep_freed_memory
from wug.functional.fast_linear import FastLinear
from wug.functional.streams import generator_for, random_bits, stream_key, to_unit
from wug.training.engine import Tree
from wug.training.objective import with_tensors

# A compiled loop pays once so many numbers are drawn in all.
WORTH_COMPILING = 2_000_000_000
# From so many gates on a sample fills a core, and a program of several has nothing to save.
FILLS_A_CORE = 100_000

Nested = dict[str, list[Sequence[Tensor]]]
"""Masked parameters or their gradients: for each seed, one for each sample."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """How masks are trained.

    Args:
        steps: Number of steps.
        beta: Strength of the regulariser; what is added to the gradient of a logit is beta /
            rows of a batch.
        learning_rate: Of Adam.
        samples: Masks that are drawn in a step, each for its part of the batch.
        probability: That a weight is kept, at the beginning.
        clip: Greatest norm of all gradients together; None for any.
        way: From logits to masks.
        seeds: Of the noise; their masks are trained together.
        compiled: Whether noise, masks and gradients are made in compiled loops; None means: if it
            is worth the wait.

    Raises:
        UserError: A number is too small.
    """

    steps: int = 20_000
    beta: float = 1e-4
    learning_rate: float = 1e-2
    samples: int = 4
    probability: float = 0.9
    clip: float | None = 1.0
    way: Way = field(default_factory=GumbelSigmoid)
    seeds: tuple[int, ...] = (0,)
    compiled: bool | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name, least in (("steps", 1), ("samples", 1), ("beta", 0), ("learning_rate", 0)):
            require_at_least("find_masks", name, getattr(self, name), least)
        require_at_least("find_masks", "number of seeds", len(self.seeds), 1)
        initial_logit(self.probability)


def masked(way: Way, weight: Tensor, logits: Tensor, uniform: Tensor) -> Tensor:
    """Return a parameter under some samples of its mask, one gate for each weight.

    Shape:
        weight, logits (weight,); uniform (sample, weight) -> (sample, weight).
    """
    return weight * way.sample(logits, uniform)


def masked_gradient(
    way: Way, gradient: Tensor, weight: Tensor, logits: Tensor, uniform: Tensor, alpha: Tensor
) -> Tensor:
    """Return the gradient of the logits, regulariser included, from that of the masked parameter.

    Shape:
        gradient, uniform (sample, weight); weight, logits (weight,) -> (weight,).
    """
    return weight * (gradient * way.slope(logits, uniform)).sum(0) + alpha * way.cost_slope(logits)


def hashed(key: Tensor, step: Tensor, samples: int, number: int) -> Tensor:
    """Return the uniform numbers of a step from a hash, which a compiler fuses with their use."""
    return to_unit(random_bits(key, step, (samples, number)))


def hashed_masked(
    way: Way, weight: Tensor, logits: Tensor, key: Tensor, step: Tensor, samples: int
) -> list[Tensor]:
    """Return what `masked` does, sample by sample, in one loop with the noise."""
    uniform = hashed(key, step, samples, logits.shape[0])
    return [weight * way.sample(logits, uniform[index]) for index in range(samples)]


def hashed_gradient(
    out: Tensor, way: Way, gradients: list[Tensor], weight: Tensor, logits: Tensor, key: Tensor,
    step: Tensor, alpha: Tensor,
) -> None:  # fmt: skip
    """Write what `masked_gradient` does; the noise is drawn again instead of being kept."""
    uniform = hashed(key, step, len(gradients), logits.shape[0])
    # Sample by sample, so that a compiler needs no copy of all gradients beside each other.
    terms = [g * way.slope(logits, uniform[index]) for index, g in enumerate(gradients)]
    out.copy_(weight * sum(terms[1:], terms[0]) + alpha * way.cost_slope(logits))


class MaskTraining:
    """Masks of one function of a network, at work.

    Args:
        model: The network; neither its weights nor its mode are changed.
        gates: Which weights are masked.
        loss: Of the function.
        setting: How to train.
        name: Of the function; it names the noise.
        pinned: Logits that stay as they are, by the name of their group.
    """

    def __init__(
        self,
        model: nn.Module,
        gates: Gates,
        loss: Loss,
        setting: Setting,
        *,
        name: str = "",
        pinned: dict[str, Tensor] | None = None,
    ) -> None:
        self.model, self.gates, self.setting = model, gates, setting
        self.weights = masked_parameters(model, gates)
        self.device = next(iter(self.weights.values())).device
        self.rest = {
            n: p.detach() for n, p in model.named_parameters() if n not in self.weights
        } | {n: b.detach() for n, b in model.named_buffers()}
        start = initial_logit(setting.probability)
        shape = (len(setting.seeds), gates.total)
        self.logits = torch.full(shape, start, device=self.device)
        self.gradient = torch.empty_like(self.logits)
        self.pinned = pinned or {}
        for group, value in self.pinned.items():
            gates.split(self.logits)[group].copy_(value.reshape(len(setting.seeds), -1))
        self.optimiser = torch.optim.Adam([self.logits], lr=setting.learning_rate, fused=True)
        self.keys = {
            group: torch.tensor(
                [stream_key("mask", name, group, seed) for seed in setting.seeds],
                device=self.device,
            )
            for group in gates.numbers
        }
        self.step_number = 0
        self.losses: list[float] = []
        self._apply = with_tensors(model, lambda network, batch: call(loss, network, batch))
        large = gates.total >= FILLS_A_CORE
        if large:
            keep_freed_memory()
        self._stacks: bool | None = False if large or not stackable(model) else None
        drawn = setting.steps * setting.samples * len(setting.seeds) * gates.total
        compiled = drawn >= WORTH_COMPILING if setting.compiled is None else setting.compiled
        self.compiled = compiled
        self._masked: Callable[..., list[Tensor]] = hashed_masked
        self._gradient: Callable[..., None] = hashed_gradient
        if compiled:
            self._masked = torch.compile(hashed_masked, dynamic=True)
            self._gradient = torch.compile(hashed_gradient, dynamic=True)
        self._drawn: dict[tuple[str, int], Tensor] = {}

    @property
    def share(self) -> float:
        """How much of the training is done."""
        return self.step_number / self.setting.steps

    def _samples(self, way: Way, step: Tensor, number: int) -> Nested:
        """Return the masked parameters, for each seed and sample."""
        gates, logits = self.gates, self.gates.split(self.logits)
        found: Nested = {}
        for name, weight in self.weights.items():
            group, flat = gates.group(name), weight.reshape(-1)
            own, keys = logits[group], self.keys[group]
            rows: list[Sequence[Tensor]] = []
            for i in range(len(own)):
                if name in gates.blocks:
                    gate = way.sample(own[i], self.uniform(group, i, number))
                    rows.append((weight * gates.factors(name, gate)).unbind(0))
                    continue
                if self.compiled:
                    mine: Sequence[Tensor] = self._masked(way, flat, own[i], keys[i], step, number)
                else:
                    mine = masked(way, flat, own[i], self.uniform(group, i, number)).unbind(0)
                rows.append([one.view(weight.shape) for one in mine])
            found[name] = rows
        return found

    def uniform(self, group: str, index: int, number: int) -> Tensor:
        """Return the uniform numbers of a group and a seed in this step, for so many samples.

        They depend on function, group, seed and step alone. A hash is the faster way for a
        compiler, torch's generator without one.
        """
        if (group, index) not in self._drawn:
            size, keys = self.gates.numbers[group], self.keys[group][index]
            if self.compiled:
                step = torch.tensor(self.step_number, device=self.device)
                drawn = hashed(keys, step, number, size)
            else:
                generator = generator_for("mask", *keys.tolist(), self.step_number)
                drawn = torch.rand(number, size, generator=generator).to(self.device)
            self._drawn[group, index] = drawn
        return self._drawn[group, index]

    def _logit_gradients(self, way: Way, step: Tensor, gradients: Nested, alpha: Tensor) -> None:
        """Write the gradients of the logits into `gradient`."""
        gates, logits = self.gates, self.gates.split(self.logits)
        found = gates.split(self.gradient)
        sums: dict[str, Tensor] = {}
        for name, gradient in gradients.items():
            group, weight = gates.group(name), self.weights[name]
            if name in gates.blocks:
                whole = torch.stack([torch.stack(list(samples)) for samples in gradient])
                total = gates.blocks[name].gather(whole * weight, 2)
                sums[group] = sums[group] + total if group in sums else total
                continue
            own, keys, flat = logits[group], self.keys[group], weight.reshape(-1)
            for i, samples in enumerate(gradient):
                mine, out = [one.reshape(-1) for one in samples], found[group][i]
                if self.compiled:
                    self._gradient(out, way, mine, flat, own[i], keys[i], step, alpha)
                else:
                    uniform = self.uniform(group, i, len(mine))
                    out.copy_(masked_gradient(way, torch.stack(mine), flat, own[i], uniform, alpha))
        for group, total in sums.items():
            own = logits[group]
            slopes = [
                way.slope(own[i], self.uniform(group, i, total.shape[1])) for i in range(len(own))
            ]
            found[group].copy_((total * torch.stack(slopes)).sum(1) + alpha * way.cost_slope(own))

    def _gradients(self, masked: Nested, parts: Any, number: int) -> Nested:
        """Return the gradients of the masked parameters, and note the mean loss."""
        if self._stacks is not False:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error", UserWarning)  # an operation without a rule
                    found = self._at_once(masked, parts, number)
                self._stacks = True
                return found
            except (RuntimeError, NotImplementedError, ValueError, TypeError, UserWarning):
                if self._stacks:  # it had worked before: the fault is another one
                    raise
                self._stacks = False
        return self._in_turn(masked, parts, number)

    def _one(self, values: dict[str, Tensor], batch: Any) -> Tensor:
        loss: Tensor = self._apply({**self.rest, **values}, batch)
        if loss.numel() != 1:
            raise UserError(
                "find_masks: the loss must be one number, such as a mean over rows; got the shape "
                f"{tuple(loss.shape)}."
            )
        return loss.reshape(())

    def _at_once(self, masked: Nested, parts: Any, number: int) -> Nested:
        """Run all seeds and samples as one program."""
        leaves = {
            name: torch.stack([torch.stack(list(seed)) for seed in seeds]).requires_grad_()
            for name, seeds in masked.items()
        }
        losses: Tensor = vmap(vmap(self._one), in_dims=(0, None))(leaves, parts)
        found = torch.autograd.grad(
            losses.mean(1).sum(), list(leaves.values()), allow_unused=True, materialize_grads=True
        )
        self.losses.append(float(losses.detach().mean()))
        return {n: [seed.unbind(0) for seed in g] for n, g in zip(leaves, found, strict=True)}

    def _in_turn(self, masked: Nested, parts: Any, number: int) -> Nested:
        """Run one sample after the other, each with leaves of its own."""
        gradients: Nested = {name: [[] for _ in self.setting.seeds] for name in masked}
        total = 0.0
        for i, k in product(range(len(self.setting.seeds)), range(number)):
            leaves = {name: v[i][k].detach().requires_grad_() for name, v in masked.items()}
            with FastLinear():
                loss = self._one(leaves, part(parts, k)) / number
            found = torch.autograd.grad(
                loss, list(leaves.values()), allow_unused=True, materialize_grads=True
            )
            for name, gradient in zip(leaves, found, strict=True):
                gradients[name][i].append(gradient)  # type: ignore[attr-defined]
            total += float(loss.detach())
        self.losses.append(total / len(self.setting.seeds))
        return gradients

    @property
    def stacks(self) -> bool | None:
        """Whether samples run as one program; None before the first step."""
        return self._stacks

    def step(self, batch: Any) -> None:
        """Take one step."""
        setting, way = self.setting, self.setting.way.at(self.share)
        batch = to_device(batch, self.device)
        rows = num_rows(batch)
        number = min(setting.samples, rows)
        parts = cut_rows(batch, number)
        when = torch.tensor(self.step_number, device=self.device)
        with torch.no_grad():
            samples = self._samples(way, when, number)
        modes = {module: module.training for module in self.model.modules()}
        self.model.eval()  # no dropout, running statistics
        try:
            with torch.enable_grad():
                gradients = self._gradients(samples, parts, number)
        finally:
            for module, mode in modes.items():
                module.training = mode
        self._move(way, when, gradients, rows)
        self.step_number += 1

    @torch.no_grad()
    def _move(self, way: Way, when: Tensor, gradients: Nested, rows: int) -> None:
        """Add the regulariser, clip each seed's gradient, and let Adam step."""
        alpha = torch.tensor(self.setting.beta / rows, device=self.device)
        self._logit_gradients(way, when, gradients, alpha)
        total = self.gradient
        for group in self.pinned:
            self.gates.split(total)[group].zero_()
        if self.setting.clip is not None:
            norms = total.norm(dim=1, keepdim=True)
            if bool((norms > self.setting.clip).any()):
                total *= (self.setting.clip / (norms + 1e-6)).clamp(max=1)
        self.logits.grad = total
        self.optimiser.step()
        self._drawn.clear()

    def state(self) -> Tree:
        """Return where it is, for a checkpoint."""
        slots = self.optimiser.state_dict()["state"].get(0, {})
        return {
            "logits": self.logits,
            "step": torch.tensor(self.step_number),
            "losses": torch.tensor(self.losses, dtype=torch.float64),
            "adam": {name: torch.as_tensor(value) for name, value in slots.items()},
        }

    def load_state(self, tree: Tree) -> None:
        """Go on from there."""
        self.logits.copy_(tree["logits"].to(self.device))
        self.step_number = int(tree["step"])
        self.losses = tree["losses"].tolist()
        groups = self.optimiser.state_dict()["param_groups"]
        state = {0: dict(tree["adam"])} if "adam" in tree else {}
        self.optimiser.load_state_dict({"state": state, "param_groups": groups})

    def masks(self) -> list[Mask]:
        """Return the mask of each seed: logits above 0."""
        mark = model_hash(self.model)
        return [Mask(self.gates.expand(row > 0), mark) for row in self.logits]

    def scores(self) -> list[dict[str, Tensor]]:
        """Return the logits of each seed, one for each weight."""
        return [self.gates.expand(row) for row in self.logits]


def stackable(model: nn.Module) -> bool:
    """Say whether samples of a network may run as one program, as far as can be told."""
    return not any(
        isinstance(module, nn.RNNBase) or getattr(module, "stackable", True) is False
        for module in model.modules()
    )
