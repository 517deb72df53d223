"""Every interface end to end: trained, killed, resumed, shown, reported and asked."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from wug.records import read_run

TINY = Path(__file__).with_name("tiny.py")
KILLER = """
import os, signal, sys
from dataclasses import replace
from pathlib import Path
import torch
import tiny
from wug.core import index
from wug.study.experiment import RunOptions
from wug.training.loop import Training
from wug.training.work import WorkOptions, work

torch.set_num_threads(1)
evaluate, left = Training.evaluate, int(sys.argv[2])

def evaluate_and_die(training, losses):
    global left
    evaluate(training, losses)
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

Training.evaluate = evaluate_and_die
options = WorkOptions(compile=sys.argv[3], threads=1, checkpoint_seconds=0.0)
if sys.argv[4] == "tiny":
    experiment = tiny.tiny(RunOptions(scale="smoke"))
else:
    chosen = RunOptions(scale="smoke", only=(sys.argv[5],))
    experiment = index.get("experiment", sys.argv[4])(chosen)
    (lot,) = experiment.lots
    longer = replace(lot, plan=replace(lot.plan, steps=60, evaluate_every=2))
    experiment = replace(experiment, lots=(longer,))
work(experiment, Path(sys.argv[1]), options)
"""
needs_kill = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs SIGKILL")
QUESTIONS = {"numbers": "3", "classification": "a b", "steps": "0110", "next_token": "01",
             "transduction": "a b"}  # fmt: skip


def call(*arguments: str, code: int = 0) -> str:
    paths = os.pathsep.join([str(TINY.parent), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, *arguments], env=os.environ | {"PYTHONPATH": paths},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return done.stdout


def results(folder: Path) -> dict[str, object]:
    def without_time(outcome: dict[str, object]) -> dict[str, object]:
        return {name: v for name, v in outcome.items() if name != "training_seconds"}

    return {
        record.identity: (record.config, without_time(dict(record.outcome)), record.curves)
        for record in read_run(folder).records()
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny") / "whole"
    call("-m", "wug", "run", f"{TINY}:tiny", "--scale", "smoke", "--out", str(folder),
         "--workers", "1")  # fmt: skip
    return folder


def test_every_interface_learns_in_both_engines(whole: Path) -> None:
    records = list(read_run(whole).records())
    cells = {(str(r.key["interface"]), str(r.key["engine"])) for r in records}
    assert len(cells) == 9 and len(records) == 18
    for record in records:
        outcome = record.outcome
        assert outcome["schema"] == 2 and outcome["engine"] == record.key["engine"]
        first = record.curves["validation"][0]
        assert record.curves["validation"][-1] < first or first == 0, record.key


def kill_and_resume(folder: Path, evaluations: Sequence[int], *what: str) -> None:
    """Kill a training after so many evaluations, again and again, then let it end."""
    for number in evaluations:
        call("-c", KILLER, str(folder), str(number), *what, code=-signal.SIGKILL)
    call("-c", KILLER, str(folder), "-1", *what)


@needs_kill
def test_killed_and_resumed_it_ends_as_undisturbed(whole: Path, tmp_path: Path) -> None:
    kill_and_resume(tmp_path / "killed", (3, 11, 40), "off", "tiny")
    assert results(tmp_path / "killed") == results(whole)


@needs_kill
@pytest.mark.slow
@pytest.mark.parametrize(
    ("evaluations", "what"),
    [((3, 11, 40), ("tiny",)), ((2,) * 20, ("csordas2023.ctl", "ndr:forward"))],
    ids=["every interface", "a router, twenty times"],
)
def test_compiled_and_killed_it_ends_as_undisturbed(
    tmp_path: Path, evaluations: Sequence[int], what: tuple[str, ...]
) -> None:
    kill_and_resume(tmp_path / "whole", (), "on", *what)
    kill_and_resume(tmp_path / "killed", evaluations, "on", *what)
    assert results(tmp_path / "killed") == results(tmp_path / "whole")


def test_it_is_shown_and_reported(whole: Path, tmp_path: Path) -> None:
    assert "tiny" in call("-m", "wug", "show", str(whole)).lower()
    call("-m", "wug", "report", str(whole), "--out", str(tmp_path / "site"))
    assert list((tmp_path / "site").rglob("*.html"))


def test_the_lab_asks_every_kept_network(whole: Path, tmp_path: Path) -> None:
    # Of a smoke run the lab lists none; without the run they are just networks.
    shutil.copytree(whole / "models", tmp_path / "models")
    script = (
        "import json, sys; from pathlib import Path; import tiny; from wug.lab import Lab;"
        "lab = Lab([Path(sys.argv[1])]); questions = json.loads(sys.argv[2]);"
        "kept = lab.checkpoints()['checkpoints'];"
        "ask = lambda one: lab.answer(one['id'], questions[one['labels']['interface']]);"
        "print(sorted({ask(one)['kind'] for one in kept}))"
    )
    assert call("-c", script, str(whole), json.dumps(QUESTIONS)) == "[]\n"
    shown = call("-c", script, str(tmp_path), json.dumps(QUESTIONS))
    assert shown == "['next_token', 'numbers', 'sequence', 'steps', 'transduction']\n"
