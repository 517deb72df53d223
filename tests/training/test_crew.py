"""Processes that work for another one."""

import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from rich.progress import Progress
from small_lots import sequence_lot

from wug.records import RunStore
from wug.study.trainings import registered
from wug.tasks.memory.copy import Copy
from wug.tasks.productivity.ctl import CTL
from wug.training.crew import MOST_BARS, update
from wug.training.plan import Lot
from wug.training.work import worth_compiling

SCRIPT = """
import multiprocessing, threading, time
from wug.training.crew import end_with_first

def worker():
    threading.Thread(target=end_with_first, daemon=True).start()
    print("at work", flush=True)
    time.sleep(600)

if __name__ == "__main__":
    process = multiprocessing.get_context("spawn").Process(target=worker)
    process.start()
    process.join()
"""


@pytest.mark.parametrize("gently", [True, False])
def test_workers_end_with_the_process_that_started_them(tmp_path: Path, gently: bool) -> None:
    script = tmp_path / "first.py"
    script.write_text(SCRIPT)
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None and first.stdout.readline() == "at work\n"
        first.terminate() if gently else first.kill()
        # The worker has the other end of the pipe, which closes when it is gone too.
        assert first.communicate(timeout=400) == ("", None)


@dataclass
class Whole:
    lots: tuple[Lot, ...]
    name: str = "demo"
    settings: dict[str, Any] = field(default_factory=dict)


def small_lot() -> Lot:
    task = CTL(order="forward", num_train=400, num_evaluation=60)
    options = {"features": 8, "hidden_features": 16, "num_steps": 2}
    return sequence_lot("ndr", task, "ndr", options, seed=0)


def test_no_bar_goes_back(tmp_path: Path) -> None:
    lot = small_lot()
    store = RunStore.open(tmp_path / "run", "demo", {})
    steps = lot.plan.steps
    bars: dict[str, Any] = {}
    shares, shown = [], []
    with Progress(disable=True) as progress:
        # Stopped at 60 %, gone on from a checkpoint at 40 %; then in two parts.
        for part, share in ((1, 0.6), (1, 0.0), (1, 0.4), (1, 1.0), (2, 0.0), (2, 1.0)):
            news = {"part": part, "parts": 2} if part == 2 else {}
            store.report_progress(lot.name, step=share * steps, steps=steps, rate=1.0, **news)
            shares.append(update(progress, bars, Whole((lot,)), store))
            shown.append(progress.tasks[0].completed)
    assert shares == sorted(shares) and shown == sorted(shown)
    assert shares[-1] == pytest.approx(1.0)


def test_of_many_lots_those_at_work_have_bars(tmp_path: Path) -> None:
    lots = tuple(replace(small_lot(), name=f"lot.{index}") for index in range(MOST_BARS + 10))
    store = RunStore.open(tmp_path, "demo", {})
    bars: dict[str, Any] = {}
    with Progress(disable=True) as progress:
        for number, lot in enumerate(lots):
            steps = lot.plan.steps
            step = steps if number < MOST_BARS + 5 else 0
            store.report_progress(lot.name, step=step, steps=steps, rate=1.0)
            update(progress, bars, Whole(lots), store)
        shown = [task.description for task in progress.tasks if task.visible]
    assert shown == [lot.name for lot in lots[-5:]]


@pytest.mark.parametrize(
    ("task", "model", "steps", "worth"),
    [
        (CTL(), "ndr", 4_999, False),
        (CTL(), "ndr", 5_000, True),
        (Copy(), "step_lstm", 499, False),
        (Copy(), "step_lstm", 500, True),
        # All its time steps are one program, which takes minutes to compile.
        (Copy(), "causal_stack", 4_999, False),
    ],
)
def test_long_trainings_are_compiled(task: Any, model: str, steps: int, worth: bool) -> None:
    lot = replace(
        sequence_lot("lot", CTL(), "ndr", steps=steps), build=registered(model, task, features=4)
    )
    changed = replace(lot, variants=(replace(lot.variants[0], task=task),))
    assert worth_compiling(changed) == worth
