"""How long does each table take? Processor minutes per scale, for `wug list experiments`.

What ships says it by its records: the seconds of all trainings, each on one core. For the rest a
few steps and one evaluation of some of its lots are timed on one thread, compiled as a run would
compile them, and multiplied: an estimate, and marked as one. Evaluations at paper scale are left
out, as they are rare. Where that is not possible (data that is not here, steps that take minutes),
the reason is kept instead. Results are kept in src/wug/costs.json as they come; what is there is
not measured again unless it is asked for by name.

    python benchmarks/costs.py [EXPERIMENT ...] [--scales laptop paper] [--seconds 60] [--smoke]
"""

from __future__ import annotations

import json
import signal
import time
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro

from wug.core import index
from wug.core.errors import UserError
from wug.core.folders import results_folder
from wug.records import read_run
from wug.study.experiment import RunOptions
from wug.training.crew import WORTH_COMPILING
from wug.training.engine import choose_engine
from wug.training.loop import Training
from wug.training.plan import Lot
from wug.training.programs import can_compile

FILE = Path(__file__).parents[1] / "src" / "wug" / "costs.json"
SCALES = ("laptop", "paper")
MOST_LOTS = 2


def shipped_minutes(experiment: str, scale: Any) -> dict[str, Any] | None:
    """Return the minutes that our own trainings took, with those that are still missing."""
    for manifest in sorted((results_folder() / experiment).glob("*/run.json")):
        run = read_run(manifest.parent)
        if run.scale == scale:
            seconds = [record.seconds for record in run.records()]
            lots = index.get("experiment", experiment)(RunOptions(scale=scale)).lots
            total = sum(lot.num_replicas for lot in lots)
            minutes = sum(seconds) / 60 * max(total / len(seconds), 1)
            how = "measured" if len(seconds) >= total else "estimated"
            return {"minutes": float(f"{minutes:.3g}"), "how": how}
    return None


def scaled_minutes(experiment: str, scale: Any, known: dict[str, Any]) -> dict[str, Any] | None:
    """Return the minutes by those of another scale, if both train the same small units."""
    make = index.get("experiment", experiment)

    def work(of: Any) -> int:
        lots = make(RunOptions(scale=of)).lots
        stacked = all(choose_engine(lot) == "stacked" for lot in lots)
        return sum(lot.num_replicas * lot.plan.steps for lot in lots) if stacked else 0

    for other in SCALES:
        minutes = known.get(other, {}).get("minutes") if other != scale else None
        if minutes is not None and work(other) and work(scale):
            minutes *= work(scale) / work(other)
            return {"minutes": float(f"{minutes:.2g}"), "how": "estimated"}
    return None


def seconds_of(lot: Lot, compiled: bool, evaluating: bool) -> float:
    """Return the processor seconds that a lot takes, from a few of its steps."""
    stacked = choose_engine(lot) == "stacked"
    training = Training(lot, device=torch.device("cpu"), compiled=compiled and stacked)
    training.advance(1)
    began, step = time.process_time(), training.clock.step
    while time.process_time() - began < 1.0 and step < min(lot.plan.steps, 2_000):
        step += 1 if not stacked else 20
        training.advance(min(step, lot.plan.steps))
    per_step = (time.process_time() - began) / max(training.clock.step - 1, 1)
    began = time.process_time()
    if evaluating:
        training.evaluate({})
    evaluation = time.process_time() - began
    return lot.plan.steps * (per_step + evaluation / lot.plan.evaluate_every)


def estimated_minutes(experiment: str, scale: Any, compiled: bool) -> float:
    """Return the minutes that a table takes, from some of its lots."""
    lots = index.get("experiment", experiment)(RunOptions(scale=scale)).lots
    ready = [lot for lot in lots if not lot.needs]
    chosen = ready[:: max(len(ready) // MOST_LOTS, 1)][:MOST_LOTS]
    work = {lot.name: lot.num_replicas * lot.plan.steps for lot in lots}
    seconds = sum(
        seconds_of(lot, compiled and lot.plan.steps >= WORTH_COMPILING, scale != "paper")
        for lot in chosen
    )
    return seconds / sum(work[lot.name] for lot in chosen) * sum(work.values()) / 60


def main(
    experiments: Annotated[tuple[str, ...], tyro.conf.Positional] = (),
    scales: tuple[str, ...] = SCALES,
    seconds: int = 60,
    shipped: bool = False,
    smoke: bool = False,
) -> None:
    """Measure what is not known yet.

    Args:
        experiments: Which; all if none is named.
        scales: Which.
        seconds: The most for one table, of processor time.
        shipped: Only take over what the records that ship say.
        smoke: Only see whether it runs; nothing is written.
    """
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    known: dict[str, Any] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    if smoke:
        experiments, scales = ("mistry2022.single_module",), ("smoke",)
    compiled = not smoke and can_compile("cpu")

    def too_long(number: int, frame: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGPROF, too_long)
    for scale, entry in product(scales, index.entries("experiment")):
        if experiments and entry.key not in experiments:
            continue
        found = known.setdefault(entry.key, {})
        told = shipped_minutes(entry.key, scale) or scaled_minutes(entry.key, scale, found)
        if told is not None:
            found[scale] = told
        elif not shipped and (scale not in found or entry.key in experiments):
            signal.setitimer(signal.ITIMER_PROF, seconds)
            try:
                minutes = estimated_minutes(entry.key, scale, compiled)
                found[scale] = {"minutes": float(f"{minutes:.2g}"), "how": "estimated"}
            except TimeoutError:
                found[scale] = {"how": "unknown", "why": f"trying it took longer than {seconds} s"}
            except MemoryError:
                found[scale] = {"how": "unknown", "why": "trying it needs more memory"}
            except (UserError, RuntimeError) as error:
                found[scale] = {"how": "unknown", "why": str(error).split("\n")[0]}
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
        else:
            continue
        print(entry.key, scale, found[scale], flush=True)
        if not smoke:
            FILE.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    tyro.cli(main)
