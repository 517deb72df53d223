"""A language model of a person's own text, as a run like any other."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from torch import nn

from wug.analysis.experts import expert_use
from wug.analysis.language_cost import language_cost
from wug.core.configs import as_config
from wug.core.errors import UserError
from wug.core.schedules import Constant, Trapezoid
from wug.models.transformer_xl import make_feed_forward, matched_hidden_features
from wug.sources.text_task import TextTask
from wug.study.experiment import Experiment, Layout
from wug.study.trainings import Training, lot_name, make_lots, registered
from wug.tasks.language.text_file import TextFile
from wug.training.optimisers import Muon
from wug.training.plan import Clip, Plan

NAME = "lm"
SHARED = "moeut"
# Of the steps: how many the learning rate rises, and the share in which it falls to zero.
WARM_UP, FALLING = 50, 0.5
# Of held-out text, to see which experts are used.
WATCHED_TOKENS = 20_000
# Weights of the terms that keep all experts in use: gamma of csordas2023's networks on enwik8,
# alpha of fedus2022, and a small one for the coefficient of variation. Others need none.
EVEN: Mapping[str, Mapping[str, float]] = {
    **dict.fromkeys(("sigma_moe", "softmax_moe", "sinkhorn_moe", SHARED), {"entropy": 1e-4}),
    "switch_moe": {"load_balance": 0.01},
    "sparsely_gated_moe": {"variation": 0.01},
}


def observe(network: nn.Module, task: TextTask) -> dict[str, float]:
    """Measure what a language model costs and, if it has experts, how evenly they are used."""
    found = language_cost(network, task)
    if any(hasattr(part, "num_experts") for part in network.modules()):
        found |= expert_use(network, task, num_tokens=WATCHED_TOKENS).numbers
    return found


def matched_sub_keys(layer: str, features: int, like: Mapping[str, int], **options: int) -> int:
    """Return how many half keys a layer has with at most the parameters of a sigma-MoE.

    Args:
        layer: ``"product_key_memory"`` or ``"peer"``.
        features: Number of features of a token.
        like: Options of the sigma-MoE.
        **options: Of the layer itself.

    Example:
        >>> like = {"num_experts": 16, "expert_features": 128, "top_k": 4}
        >>> matched_sub_keys("product_key_memory", 512, like, num_heads=4, top_k=128)
        62
    """

    def size(key: str, **own: int) -> int:
        made = make_feed_forward(key, features, device="meta", **own)
        return sum(parameter.numel() for parameter in made.parameters())

    wanted, number = size("sigma_moe", **like), 1
    while size(layer, num_sub_keys=number + 1, **options) <= wanted:
        number += 1
    return number


@dataclass(frozen=True, kw_only=True)
class LanguageOptions:
    """What a person may choose about a language model.

    Args:
        path: The text: a file or a folder.
        layer: Feed-forward layers: ``"sigma_moe"``, another layer with experts, or a block with
            the parameters that sigma-MoE would have: ``"dense"``, ``"top_k_mlp"``,
            ``"product_key_memory"`` or ``"peer"``, which use as many units of it for a token.
        features: Number of features of a token.
        num_layers: Number of layers.
        num_repeats: How often they are applied, all of them in turn; more than once makes it a
            MoEUT, which has experts in its attention too and carries no memory.
        num_heads: Number of heads of the attention.
        num_experts: Number of experts of a layer.
        expert_features: Hidden units of an expert.
        top_k: Experts that a token uses.
        expert_dropout: Share of the experts of sigma-MoE that can't be chosen in a step.
        length: Tokens of a row in one step, and of the memory.
        rows: Rows of a batch.
        steps: Optimiser steps.
        learning_rate: The highest.
        dropout: Share of what layers return that is dropped.
        pieces: Size of a vocabulary of word pieces; 0 means bytes.
        validation_tokens: How many tokens of held-out text are read at each evaluation.
        test_tokens: How many tokens of the test are read at the end.
        precision: Of the training.
        seed: Of weights and text.
    """

    path: str
    layer: str = "sigma_moe"
    features: int = 128
    num_layers: int = 4
    num_repeats: int = 1
    num_heads: int = 4
    num_experts: int = 16
    expert_features: int = 128
    top_k: int = 4
    expert_dropout: float = 0.05
    length: int = 128
    rows: int = 16
    steps: int = 2_000
    learning_rate: float = 2e-3
    dropout: float = 0.0
    pieces: int = 0
    validation_tokens: int = 50_000
    test_tokens: int = 200_000
    precision: Literal["float32", "bfloat16"] = "float32"
    seed: int = 0

    @property
    def text_name(self) -> str:
        """What the text is called: the stem of its file."""
        return re.sub(r"[^\w-]+", "_", Path(self.path).resolve().stem).strip("_") or "text"

    @property
    def task(self) -> TextFile:
        """The text, which is opened when it is read."""
        return TextFile(
            path=str(Path(self.path).resolve()), length=self.length, pieces=self.pieces,
            validation_tokens=self.validation_tokens, test_tokens=self.test_tokens, num_blocks=10,
        )  # fmt: skip

    @property
    def key(self) -> str:
        """The model's key."""
        return "transformer_xl" if self.num_repeats == 1 else SHARED

    @property
    def model(self) -> str:
        """What tables call the network: its layer, or moeut."""
        return self.layer if self.num_repeats == 1 else SHARED

    @property
    def network(self) -> dict[str, Any]:
        """The options of the network.

        Raises:
            UserError: Layers without sigma-MoE are to be repeated.
        """
        experts: dict[str, Any] = {
            "num_experts": self.num_experts, "expert_features": self.expert_features,
            "top_k": self.top_k,
        }  # fmt: skip
        sizes = {"features": self.features, "num_heads": self.num_heads, "dropout": self.dropout}
        sparse = {**experts, "expert_dropout": self.expert_dropout}
        if self.num_repeats > 1:
            if self.layer != "sigma_moe":
                raise UserError(f"lm: repeated layers have sigma_moe; got {self.layer}.")
            return {
                **sizes, "group_size": self.num_layers, "num_repeats": self.num_repeats, **sparse
            }  # fmt: skip
        sizes |= {"num_layers": self.num_layers, "memory_length": self.length}
        if self.layer == "dense":
            return {**sizes, "matched_to": "sigma_moe", **experts}
        own: dict[str, Any] = sparse if self.layer == "sigma_moe" else experts
        used = self.top_k * self.expert_features
        if self.layer == "top_k_mlp":
            width = matched_hidden_features("sigma_moe", self.features, **experts)
            own = {"hidden_features": width, "top_k": min(used, width)}
        elif self.layer in ("product_key_memory", "peer"):
            chosen = max(used // self.num_heads, 1)
            number = matched_sub_keys(
                self.layer, self.features, experts, num_heads=self.num_heads, top_k=chosen
            )
            own = {"num_sub_keys": number, "feed_forward_heads": self.num_heads, "top_k": chosen}
        return {**sizes, "feed_forward": self.layer, **own}

    @property
    def training(self) -> Training:
        """What is trained."""
        plan = Plan(
            steps=self.steps, batch_size=self.rows, evaluate_every=max(self.steps // 20, 1),
            optimiser=Muon(), clip=Clip(norm=1.0), precision=self.precision, engine="single",
            learning_rate=Trapezoid(
                self.learning_rate, min(WARM_UP, self.steps), self.steps, FALLING
            ),
        )  # fmt: skip
        even = EVEN.get(self.model, {})
        return Training(
            build=registered(self.key, self.task, **self.network), task=self.task, plan=plan,
            penalty={name: Constant(weight) for name, weight in even.items()} or None,
            observe=observe,
        )  # fmt: skip

    def require_text(self) -> dict[str, int]:
        """Return how many tokens each split has.

        Raises:
            UserError: The text can't be read, or is too short for these rows.
        """
        task = self.task
        source = task.source(self.rows)
        source.segments("train").batch(self.seed, 0)
        for split in ("validation", "test"):
            start, stop = task.text.splits[split]
            if stop - start < 2 * task.num_blocks:
                raise UserError(
                    f"lm: {self.path} is too short: its {split} split has {stop - start} tokens, "
                    f"and {2 * task.num_blocks} are needed."
                )
        return {name: stop - start for name, (start, stop) in task.text.splits.items()}


def language_run(options: LanguageOptions) -> Experiment:
    """Return the training of a language model as an experiment."""
    model, text = options.model, options.text_name
    (lot,) = make_lots({(model, text): options.training}, labels=("model", "text"), seeds=1)
    return Experiment(
        name=NAME,
        title=f"Language model of {text}",
        settings={"network": as_config(options)},
        lots=(replace(lot, name=lot_name((model, text, options.seed)), seeds=(options.seed,)),),
        layout=Layout(
            rows=("model",), column="text", row_order=((model,),), column_order=(text,),
            measure="bits_per_character",
        ),
        row_units={model: options.key},
    )  # fmt: skip
