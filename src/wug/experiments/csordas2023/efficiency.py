"""Time and memory of one layer against its sizes (figures 7.2, F.5 and F.6).

The cells: (layer, sizes). A forward and backward pass of a single layer on one processor core; the
figures are of a graphics card. They have curves, the text comparisons: there are claims and no
numbers. Seeds are repeated measurements. Other layers than those of the figures are measured at one
size.

References:
    csordas2023
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn

from wug.analysis.language_cost import saved_bytes
from wug.core.schedules import Constant
from wug.functional.output import Output
from wug.models.transformer_xl import TransformerXL
from wug.stats.measures import Measure
from wug.study.claims import Claim
from wug.study.experiment import Scale
from wug.study.judgements import all_of
from wug.study.paper_table import PaperTable
from wug.study.predicates import larger
from wug.study.trainings import Run, Training
from wug.tasks.language.wug_test import WugTest
from wug.training.plan import Plan

# Features, number of experts, and units of an expert; the middle of each figure is the same.
EXPERTS = {f"N_E={number}": (512, number, 128) for number in (4, 8, 16, 32, 64, 128)}
UNITS = {f"G={units}": (512, 32, units) for units in (32, 64, 128, 256)}
FEATURES = {f"d={features}": (features, 32, 128) for features in (128, 256, 512, 1024)}
COLUMNS = {**EXPERTS, **UNITS, **FEATURES}
COMPARED = ("dense", "sigma_moe")
# What else can stand in a block, each beside the dense block of 16 experts of 128.
OTHERS: Mapping[str, Mapping[str, Any]] = {
    "top_k_mlp": {"hidden_features": 2_048, "top_k": 128},
    "product_key_memory": {"num_sub_keys": 62, "top_k": 128, "feed_forward_heads": 4},
    "peer": {"num_sub_keys": 45, "top_k": 32, "feed_forward_heads": 4},
    "softmax_moe": {"num_experts": 16, "expert_features": 128, "top_k": 4},
    "sparsely_gated_moe": {"num_experts": 16, "expert_features": 128, "top_k": 4},
    "loss_free_moe": {"num_experts": 16, "expert_features": 128, "top_k": 4},
    "sinkhorn_moe": {"num_experts": 16, "expert_features": 128, "top_k": 4},
    "switch_moe": {"num_experts": 4, "expert_features": 512, "top_k": 1},
}
LAYERS = (*COMPARED, *OTHERS)
USUAL = "N_E=16"
TOKENS: Mapping[Scale, int] = {"smoke": 32, "laptop": 2_048, "paper": 32_768}
SEEDS: Mapping[Scale, int] = {"smoke": 1, "laptop": 3, "paper": 3}
REPEATS: Mapping[Scale, int] = {"smoke": 1, "laptop": 2, "paper": 5}
SMOKE = ("N_E=4", "N_E=16")
TASK = WugTest(length=4, num_blocks=1, train_bytes=200, held_out_bytes=100)

SECONDS = Measure(
    name="layer_seconds", title="Time of a layer", unit="s", path="observed.layer_seconds",
    interval="student-t", about="Processor time of a forward and backward pass, mean of all",
)  # fmt: skip
BYTES = Measure(
    name="layer_bytes", title="Memory of a layer", unit="bytes", path="observed.layer_bytes",
    notation="scientific", interval="student-t",
    about="What a forward pass keeps for the backward pass, mean of all",
)  # fmt: skip
FIGURES = "csordas2023, section F.1.5 and figures 7.2, F.5 and F.6"
FROM_16 = ("N_E=16", "N_E=32", "N_E=64", "N_E=128")


def cheaper(measure: str) -> Any:
    """Return the predicate: from 16 experts on, dense blocks need more of something."""
    return lambda t: all_of(
        larger(t.at("dense", column), t.at("sigma_moe", column), measure) for column in FROM_16
    )


CLAIMS = (
    Claim("faster_from_16_experts", "From 16 experts on, sigma-MoE is faster than a dense block "
          "with the same parameters.", FIGURES, cheaper("layer_seconds")),
    Claim("smaller_from_16_experts", "From 16 experts on, it needs less memory for activations.",
          FIGURES, cheaper("layer_bytes")),
    Claim("time_hardly_depends_on_the_number_of_experts", "Eight times the experts, at constant K "
          "and size, take less than twice the time.", FIGURES,
          lambda t: larger(t.at("sigma_moe", "N_E=16"), t.at("sigma_moe", "N_E=128"),
                           "layer_seconds", 0.5)),
    Claim("dense_time_grows_with_the_number_of_experts", "A dense block of as many parameters then "
          "takes at least six times the time.", FIGURES,
          lambda t: larger(t.at("dense", "N_E=128"), t.at("dense", "N_E=16"), "layer_seconds", 6)),
)  # fmt: skip


def watch(tokens: int, repeats: int) -> Callable[[nn.Module, Any], dict[str, float]]:
    """Return what measures a network's first feed-forward layer on so many tokens."""

    @torch.enable_grad()  # type: ignore[untyped-decorator, unused-ignore]
    def measure(network: nn.Module, task: Any) -> dict[str, float]:
        layer: Any = network.get_submodule("layers.0.feed_forward").train()
        generator = torch.Generator().manual_seed(0)
        x = torch.randn(1, tokens, layer.in_features, generator=generator).requires_grad_()

        def forward() -> Tensor:
            answer: Tensor = Output.of(layer(x)).answer
            return answer.sum()

        seconds = []
        for _ in range(repeats + 1):
            layer.zero_grad(set_to_none=True)
            began = time.process_time()
            forward().backward()
            seconds.append(time.process_time() - began)
        kept = saved_bytes(layer, forward)
        return {
            "layer_seconds": median(seconds[1:]),
            "layer_bytes": float(kept),
            "layer_parameters": float(sum(one.numel() for one in layer.parameters())),
        }

    return measure


@PaperTable(
    name="Efficiency",
    title="Time and memory of one layer (Csordás, 2023, figures 7.2, F.5 and F.6)",
    references=("csordas2023",),
    source="figures 7.2, F.5 and F.6",
    labels=("layer", "sizes"),
    rows=LAYERS,
    columns=COLUMNS,
    claims=CLAIMS,
    departures=(
        "One core of a processor and 2,048 tokens at the laptop scale; the thesis has a graphics "
        "card (RTX 3090) and 32,768 tokens.",
        "Memory is that of activations alone, without weights and their gradients.",
    ),
    row_units={name: "transformer_xl" for name in LAYERS},
    measures=(SECONDS, BYTES),
    measure="layer_seconds",
)
def efficiency(run: Run, layer: str, sizes: str) -> Training | None:
    """Measure the time and the memory of a dense block and of sigma-MoE."""
    if (run.scale == "smoke" and sizes not in SMOKE) or (layer in OTHERS and sizes != USUAL):
        return None
    features, num_experts, units = COLUMNS[sizes]
    options: dict[str, Any] = {"features": features, "num_layers": 1, "memory_length": 0}
    if layer in OTHERS:
        options |= {"feed_forward": layer, **OTHERS[layer]}
    elif layer == "dense":
        options["hidden_features"] = num_experts * units
    else:
        options |= {"feed_forward": layer, "num_experts": num_experts, "expert_features": units,
                    "top_k": 4}  # fmt: skip
    plan = Plan(steps=1, batch_size=1, evaluate_every=1, learning_rate=Constant(0.0),
                engine="single")  # fmt: skip
    tokens, repeats = TOKENS[run.scale], REPEATS[run.scale]
    return Training(
        # No registered model, so that the networks, which learn nothing, are not kept.
        build=lambda generator: TransformerXL(256, **options, generator=generator),
        task=TASK,
        plan=plan,
        observe=watch(tokens, repeats),
        seeds=SEEDS[run.scale],
        config={"options": options, "tokens": tokens, "repeats": repeats},
    )
