"""wug lm: train a language model on a text of your own, and let it continue one."""

from __future__ import annotations

import codecs
import os
import shlex
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from wug.core.errors import UserError, require_at_least
from wug.core.folders import RUNS

Layer = Literal[
    "sigma_moe", "dense", "softmax_moe", "switch_moe", "sinkhorn_moe", "loss_free_moe",
    "sparsely_gated_moe", "top_k_mlp", "product_key_memory", "peer",
]  # fmt: skip


def train_model(
    file: Annotated[Path, tyro.conf.Positional],
    *,
    layer: Layer = "sigma_moe",
    features: int = 128,
    layers: int = 4,
    repeats: int = 1,
    heads: int = 4,
    experts: int = 16,
    expert_size: int = 128,
    top_k: int = 4,
    length: int = 128,
    rows: int = 16,
    steps: int = 2_000,
    learning_rate: float = 2e-3,
    dropout: float = 0.0,
    pieces: int = 0,
    bfloat16: bool = False,
    seed: int = 0,
    out: Path | None = None,
    fresh: bool = False,
    device: str = "cpu",
    shard: bool = False,
) -> int:
    """Train a language model on a text; the same command goes on where it was stopped.

    The first 90 % of the text are for training, 5 % for validation, and 5 % are the test.

    Args:
        file: A text file, or a folder whose files are read one after the other.
        layer: The feed-forward layers; those without experts have the parameters of sigma_moe.
        features: Number of features of a token.
        layers: Number of layers.
        repeats: How often the layers are applied, all of them in turn (MoEUT, with sigma_moe).
        heads: Number of heads of the attention.
        experts: Number of experts of a layer.
        expert_size: Hidden units of an expert.
        top_k: Experts that a token uses.
        length: Tokens of a row in one step, and of the memory.
        rows: Rows of a batch.
        steps: Optimiser steps.
        learning_rate: The highest; it rises and falls.
        dropout: Share of what layers return that is dropped in training.
        pieces: Size of a vocabulary of word pieces (needs SentencePiece); bytes if not given.
        bfloat16: Train in this precision where it is safe.
        seed: Of weights and text.
        out: The run's folder; runs/lm/TEXT if not given.
        fresh: Remove what an earlier run left in the folder.
        device: Where to train, such as cpu or cuda.
        shard: Under torchrun, let each process hold a part of the weights only.
    """
    sizes = {
        "features": features, "layers": layers, "repeats": repeats, "heads": heads,
        "experts": experts, "expert-size": expert_size, "top-k": top_k, "length": length,
        "rows": rows, "steps": steps,
    }  # fmt: skip
    for name, size in sizes.items():
        require_at_least("lm train", name, size, 1)
    require_at_least("lm train", "seed", seed, 0)
    if not learning_rate > 0:
        raise UserError(f"lm train: learning-rate must be above 0; got {learning_rate}.")
    if not file.exists():
        raise UserError(f"lm train: there is no file or folder {file}.")

    from rich.console import Console

    quiet = os.environ.get("RANK", "0") != "0"  # of torchrun's processes one speaks
    console = Console(highlight=False, quiet=quiet)
    with console.status("loading torch"):
        from wug.records import RunStore, clear_run, read_run
        from wug.report.table_text import print_table
        from wug.stats.comparison_table import make_table
        from wug.study.catalog import make_catalog
        from wug.study.language_run import LanguageOptions, language_run
        from wug.study.traces import write_traces
        from wug.training.crew import require_device, train_missing
        from wug.training.engine import initial_module
        from wug.training.rank_work import dismiss, take_part
        from wug.training.work import WorkOptions

        require_device(device)
        options = LanguageOptions(
            path=str(file), layer=layer, features=features, num_layers=layers,
            num_repeats=repeats, num_heads=heads, num_experts=experts, expert_features=expert_size,
            top_k=top_k, length=length, rows=rows, steps=steps,
            learning_rate=learning_rate, dropout=dropout, pieces=pieces,
            precision="bfloat16" if bfloat16 else "float32", seed=seed,
        )  # fmt: skip
        num_tokens = options.require_text()
        plan = language_run(options)
        network = initial_module(plan.lots[0], seed)
        part = take_part(plan, WorkOptions(compile="off", device=device, shard=shard))
        if part is None:
            return 0
        work, together = part
    folder = out or RUNS / "lm" / options.text_name
    if fresh:
        clear_run(folder)
    store = RunStore.open(folder, plan.name, plan.settings)
    size = sum(parameter.numel() for parameter in network.parameters())
    splits = ", ".join(f"{number:,} {name}" for name, number in num_tokens.items())
    epochs = steps * rows * length / num_tokens["train"]
    console.print(f"{file}: {splits} tokens; {size:,} parameters; in {folder}", soft_wrap=True)
    console.print(f"{steps:,} steps of {rows * length:,} tokens read the text {epochs:.2g} times")
    target = "wug.study.language_run:language_run"
    train_missing(target, options, plan, store, work, 1, console, together)
    dismiss()
    for reason in write_traces(folder)[1]:
        console.print(f"not traced: {reason}", style="yellow", markup=False)
    finished = read_run(folder)
    command = f"wug lm train {shlex.quote(str(file))} --layer {layer} --steps {steps}"
    records = list(finished.records())
    store.write_catalog(make_catalog(plan, records, command, finished=finished.last_day()))
    print_table(finished, make_table(finished))
    observed: Any = records[-1].outcome["observed"]
    console.print(costs(observed), soft_wrap=True)
    path = folder / "models" / f"{plan.lots[0].name}.safetensors"
    console.print(f"Continue a text with it: wug lm generate {path} --prompt ...", soft_wrap=True)
    return 0


def costs(observed: Mapping[str, float]) -> str:
    """Say what a network costs here, and how it uses its experts.

    Example:
        >>> cost = {"tokens_per_second": 9468, "activation_bytes": 4e4, "flops_per_token": 2.5e6}
        >>> costs(cost | {"usage_entropy": 0.82})
        '9,468 tokens per second, 40.0 kB and 2.50 MFLOPs per token; evenness of experts 0.82'
    """
    paid = (
        f"{observed['tokens_per_second']:,.0f} tokens per second, "
        f"{observed['activation_bytes'] / 1e3:.1f} kB and "
        f"{observed['flops_per_token'] / 1e6:.2f} MFLOPs per token"
    )
    names = {"usage_entropy": "evenness of experts",
             "same_experts": "same experts at successive repeats"}  # fmt: skip
    used = [f"{text} {observed[name]:.2f}" for name, text in names.items() if name in observed]
    return "; ".join(filter(None, (paid, ", ".join(used))))


def generate(
    network: Annotated[Path, tyro.conf.Positional],
    *,
    prompt: str,
    length: int = 200,
    temperature: float = 0.8,
    seed: int = 0,
    device: str = "cpu",
) -> int:
    """Continue a text with a trained language model.

    Args:
        network: A file that lm train kept (RUN/models/*.safetensors), or a run's folder with one.
        prompt: The text to continue.
        length: How many tokens to write.
        temperature: How daring: 0 writes the most likely token, 1 draws as the network thinks.
        seed: Of the draws.
        device: Where to run it.
    """
    require_at_least("lm generate", "length", length, 1)
    require_at_least("lm generate", "temperature", temperature, 0)
    path = find_network(network)
    import torch

    from wug.interfaces.next_token import continued
    from wug.training.crew import require_device
    from wug.training.kept_networks import load

    require_device(device)
    model, task = load(path, device)
    if task is None or task.interface != "next_token":
        raise UserError(f"lm generate: {path} is no language model.")
    tokens = task.encode(prompt)
    generator = torch.Generator(device).manual_seed(seed)
    drawn = continued(model, tokens, temperature=temperature, generator=generator)
    print(prompt, end="", flush=True)
    for piece in pieces_of(task, islice(drawn, length)):
        print(piece, end="", flush=True)
    print()
    return 0


def pieces_of(task: Any, tokens: Any) -> Any:
    """Yield the text of tokens as they come; letters of several bytes when they are whole."""
    if task.pieces:
        yield task.decode(list(tokens))
        return
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for token in tokens:
        yield decoder.decode(bytes([token]))
    yield decoder.decode(b"", final=True)


def find_network(path: Path) -> Path:
    """Return the file of a network: the path itself, or the one network of a run.

    Raises:
        UserError: There is none, or more than one.
    """
    if path.is_file():
        return path
    if not path.is_dir():
        raise UserError(f"lm generate: there is no file or folder {path}.")
    found = sorted(path.glob("models/*.safetensors"))
    if len(found) != 1:
        names = ", ".join(map(str, found)) or "none; train one with wug lm train"
        raise UserError(f"lm generate: {path} must hold one network; there is {names}.")
    return found[0]


Action = (
    Annotated[Any, tyro.conf.subcommand("train", constructor=train_model)]
    | Annotated[Any, tyro.conf.subcommand("generate", constructor=generate)]
)


def lm(action: Annotated[Action, tyro.conf.arg(name="")]) -> int:
    """Train a language model on a text of your own, and let it continue one."""
    return int(action or 0)
