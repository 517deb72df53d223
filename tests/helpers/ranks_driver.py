"""Trains small language models, alone or under torchrun; for test_ranks.py.

Usage: ranks_driver.py OUT TEXT; rank 0 writes into OUT, for each layer:
``LAYER-gradients.safetensors`` (float32, of one step), ``LAYER.json`` (losses of 50 steps in
float64 and in float32, and counts of an evaluation), ``LAYER.safetensors`` (a checkpoint after 10
steps, float64); ``shares.json`` (which rows each rank had), and ``whole`` and ``shard``: json
(losses of ten steps with whole and with sharded weights) and safetensors (a checkpoint).

Usage: ranks_driver.py OUT TEXT DIE_AT: train with checkpoints, and die after a step.

Usage: ranks_driver.py OUT TEXT wrapped: gradients of one step by torch's DistributedDataParallel,
as ``LAYER-wrapped.safetensors``; and ``caches.json``, where each rank keeps compiled programs.
"""

import json
import os
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch.nn.parallel import DistributedDataParallel

from wug.functional.across_ranks import summing_over_ranks
from wug.study.language_run import LanguageOptions, language_run
from wug.training.loop import Training
from wug.training.objective import objective
from wug.training.optimisers import AdamW
from wug.training.plan import Lot
from wug.training.programs import use_cache_folder
from wug.training.ranks import here, join, leave

STEPS = 50
LONGEST_LISTED = 20.0  # seconds


def make_lot(text: str, layer: Any, dtype: torch.dtype, *, plain: bool = False, **plan: Any) -> Lot:
    """Return a small language model without dropout."""
    options = LanguageOptions(
        path=text, layer=layer, features=16, num_layers=2, num_heads=2, num_experts=4,
        expert_features=8, top_k=2, length=16, rows=8, steps=STEPS, expert_dropout=0.0,
        validation_tokens=400, test_tokens=400,
    )  # fmt: skip
    (lot,) = language_run(options).lots
    if plain:
        plan["optimiser"] = AdamW(weight_decay=0.01)
    build = lot.build
    return replace(
        lot, build=lambda generator: build(generator).to(dtype), plan=replace(lot.plan, **plan)
    )


def training(lot: Lot, shard: bool = False) -> Any:
    device = torch.device("cpu")
    return Training(lot, device=device, compiled=False, ranks=here(), shard=shard)


def losses(engine: Any, steps: int) -> list[float]:
    return [engine.advance(i, i + 1, 0, None).losses["train"] for i in range(steps)]


def compare(out: Path, text: str) -> None:
    ranks = here()
    for layer in ("dense", "sigma_moe"):
        engine = training(make_lot(text, layer, torch.float32)).engine
        weights = {name: 0.1 for name in engine.lot.terms(engine.variant)}
        engine.network.train()
        engine._backward(engine.batch(0, 0), weights)
        gradients = {name: p.grad.clone() for name, p in engine.network.named_parameters()}
        single = losses(training(make_lot(text, layer, torch.float32)).engine, STEPS)
        loop = training(make_lot(text, layer, torch.float64, accumulation=2))
        double = losses(loop.engine, 10)
        loop._save(out / f"{layer}.safetensors")
        double += [loop.engine.advance(i, i + 1, 0, None).losses["train"] for i in range(10, STEPS)]
        counts = {
            split: {name: count.tolist() for name, count in found.items()}
            for split, found in loop.engine.evaluate(["validation"]).items()
        }
        if ranks.first:
            save_file(gradients, out / f"{layer}-gradients.safetensors")
            about = {"float64": double, "float32": single, "counts": counts}
            (out / f"{layer}.json").write_text(json.dumps(about))
    rows = torch.arange(8)
    shares = [ranks.rows(rows).tolist()] if not ranks.several else gather(ranks.rows(rows).tolist())
    if ranks.first:
        (out / "shares.json").write_text(json.dumps(shares))


def wrapped(out: Path, text: str) -> None:
    """Take the gradients of one step with the network inside of torch's own wrapper.

    It averages over ranks what we sum.
    """
    ranks = here()
    for layer in ("dense", "sigma_moe"):
        engine = training(make_lot(text, layer, torch.float32)).engine
        network = DistributedDataParallel(engine.network.train(), find_unused_parameters=True)
        batch = engine.batch(0, 0)
        divisors = engine.interface.weights(engine.task, batch)
        weights = {name: 0.1 / ranks.world for name in engine.lot.terms(engine.variant)}
        with summing_over_ranks():
            terms, output = engine.interface.terms(
                engine.task, network, ranks.rows(batch), engine.carried
            )
            terms = {name: (value, divisors[name]) for name, (value, _) in terms.items()}
            params = dict(engine.network.named_parameters())
            (objective(engine.network, params, terms, output, weights) * ranks.world).backward()
        gradients = {name: parameter.grad for name, parameter in params.items()}
        if ranks.first:
            save_file(gradients, out / f"{layer}-wrapped.safetensors")
    use_cache_folder()
    caches = gather(os.environ["TORCHINDUCTOR_CACHE_DIR"])
    if ranks.first:
        (out / "caches.json").write_text(json.dumps(caches))
    torch.distributed.barrier()
    os._exit(0)  # its reducer keeps the threads of the group alive


def gather(value: Any) -> list[Any]:
    found: list[Any] = [None] * here().world
    torch.distributed.all_gather_object(found, value)
    return found


def curve(out: Path, text: str, die_at: int | None) -> None:
    lot = make_lot(text, "sigma_moe", torch.float64, steps=20, evaluate_every=5)

    def on_progress(news: dict[str, Any]) -> None:
        if die_at is not None and news["step"] > die_at:
            os._exit(3)

    path = out / "curve.safetensors"
    (result,) = training(lot).train(
        checkpoint=path, checkpoint_seconds=0.0, on_progress=on_progress if here().first else None
    )
    if here().first:
        about = {"curves": result.curves, "selected": result.outcome["selected"]}
        (out / "curve.json").write_text(json.dumps(about))


def shards(out: Path, text: str, shard: bool) -> None:
    lot = make_lot(text, "sigma_moe", torch.float32, plain=True)
    loop = training(lot, shard)
    found = losses(loop.engine, 10)
    loop.evaluate({})
    name = "shard" if shard else "whole"
    loop._save(out / f"{name}.safetensors")
    if here().first:
        (out / f"{name}.json").write_text(json.dumps(found))
    # It goes on from its file.
    again = training(lot, shard)
    again._load(out / f"{name}.safetensors")
    more = [again.engine.advance(i, i + 1, 0, None).losses["train"] for i in range(10, 12)]
    straight = [loop.engine.advance(i, i + 1, 0, None).losses["train"] for i in range(10, 12)]
    assert torch.allclose(torch.tensor(more), torch.tensor(straight), rtol=1e-6)


def gloo_threads() -> list[str]:
    """Return the threads of process groups; one that lives when Python ends may abort it."""
    names = []
    for path in Path("/proc/self/task").glob("*/comm"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it ended in the meantime
            names.append(path.read_text().strip())
    return [name for name in names if "gloo" in name]


def require_no_gloo_threads() -> None:
    """Fail if threads of process groups live on.

    One that was joined is listed until the kernel has let go of it, which a loaded machine takes
    its time for.
    """
    patience = time.monotonic() + LONGEST_LISTED
    while gloo_threads() and time.monotonic() < patience:
        time.sleep(0.01)
    assert not gloo_threads()


if __name__ == "__main__":
    torch.set_num_threads(1)
    join("cpu")
    out, text, *rest = sys.argv[1:]
    if rest == ["wrapped"]:
        wrapped(Path(out), text)
    elif rest:
        curve(Path(out), text, int(rest[0]))
    else:
        compare(Path(out), text)
        for shard in (False, True):
            shards(Path(out), text, shard)
    leave()
    require_no_gloo_threads()
