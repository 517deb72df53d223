import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from small_lots import make_lot, small_plan

from wug.core.errors import UserError
from wug.records import Record, RunStore, read_run
from wug.report.progress import curves_of, read_news
from wug.study.experiment import Experiment, Layout
from wug.tasks.extrapolation.single_module import SingleModule
from wug.training.kept_networks import load
from wug.training.loop import Training
from wug.training.plan import Lot, Registered, Variant
from wug.training.work import WorkOptions, longest_first, unfinished, work

OPTIONS = WorkOptions(compile="off", threads=1, checkpoint_seconds=0.0)
PLAN = small_plan(20, evaluate_every=10, batch_size=8)


@pytest.fixture(autouse=True)
def restored_torch() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)
    torch.set_flush_denormal(False)


def make_experiment(*, seeds: tuple[int, ...] = (0, 1)) -> Experiment:
    lots = (
        make_lot("nau", ["add"], ("[1,2)",), seeds, PLAN, "shared"),
        make_lot("nmu", ["mul"], ("[1,2)", "[10,20)"), seeds, PLAN, "shared"),
    )
    layout = Layout(rows=("unit",), column="range", row_order=(), column_order=())
    return Experiment(name="demo", title="", settings={"steps": 20}, lots=lots, layout=layout)


def single_lot(name: str, steps: int = 20) -> Lot:
    """One registered network, whose weights are kept."""
    build = Registered(
        model="arithmetic_stack", sizes={"in_features": 2, "out_features": 1},
        options={"units": ["nau"]},
    )  # fmt: skip
    variant = Variant(labels={"unit": name, "range": "[1,2)"}, task=SingleModule())
    plan = replace(PLAN, steps=steps)
    return Lot(name=name, build=build, variants=(variant,), seeds=(0,), plan=plan, keeps=True)


def results(folder: Path) -> dict[str, tuple[Any, ...]]:
    def of(record: Record) -> tuple[Any, ...]:
        return record.config, record.outcome, record.curves

    return {record.identity: of(record) for record in read_run(folder).records()}


def test_it_trains_what_is_missing_and_repeats_nothing(tmp_path: Path) -> None:
    assert work(make_experiment(), tmp_path / "grown", OPTIONS) == 6
    first = results(tmp_path / "grown")
    assert work(make_experiment(), tmp_path / "grown", OPTIONS) == 0
    larger = make_experiment(seeds=(0, 1, 2))
    assert work(larger, tmp_path / "grown", OPTIONS) == 3
    assert work(larger, tmp_path / "whole", OPTIONS) == 9
    grown = results(tmp_path / "grown")
    assert grown.items() >= first.items()
    assert grown == results(tmp_path / "whole")
    assert not list(tmp_path.glob("*/checkpoints/*"))


def test_it_leaves_a_lot_to_whoever_holds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wug.records.leases.BEAT_SECONDS", 0.2)
    monkeypatch.setattr("wug.training.work.POLL_SECONDS", 0.2)
    experiment = make_experiment()
    store = RunStore.open(tmp_path, experiment.name, experiment.settings)
    with store.claim("nmu") as ours:
        assert ours
        assert work(experiment, tmp_path, OPTIONS) == 2
        assert unfinished(experiment, store) == 4
    assert work(experiment, tmp_path, OPTIONS) == 4
    assert unfinished(experiment, store) == 0


def test_progress_ends_at_the_last_step(tmp_path: Path) -> None:
    work(make_experiment(), tmp_path, OPTIONS)
    news = read_run(tmp_path).progress()
    assert {lot: line["step"] for lot, line in news.items()} == {"nau": 20, "nmu": 20}


def test_progress_draws_curves_on_the_live_page(tmp_path: Path) -> None:
    work(make_experiment(), tmp_path, OPTIONS)
    curves = curves_of(read_news(tmp_path / "progress" / "nmu.jsonl"))
    assert set(curves) == {"validation", "test", "sparsity"}
    assert all([step for step, _ in points] == [10, 20] for points in curves.values())


def test_the_longest_lots_come_first() -> None:
    nau, nmu = make_experiment().lots
    assert longest_first([nau, nmu]) == [nmu, nau]
    long = replace(nau, plan=replace(PLAN, steps=50))
    assert longest_first([nmu, long]) == [long, nmu]


def test_a_lot_that_needs_another_waits_for_its_network(tmp_path: Path) -> None:
    first = single_lot("first")
    seen: list[Path] = []

    def build(generator: torch.Generator, needed: dict[str, Path]) -> Any:
        seen.append(needed["first"])
        network, _ = load(needed["first"])
        return network

    second = replace(single_lot("second", steps=40), build=build, needs=("first",))
    experiment = replace(make_experiment(), lots=(second, first))
    assert work(experiment, tmp_path, OPTIONS) == 2
    assert set(seen) == {tmp_path / "models" / "first.safetensors"}


@pytest.mark.parametrize(
    ("needs", "message"),
    [({"a": ("b",), "b": ("a",)}, "in a circle"), ({"a": ("c",), "b": ()}, "it needs c, which")],
)
def test_needs_that_cannot_be_met(tmp_path: Path, needs: dict[str, Any], message: str) -> None:
    lots = tuple(replace(single_lot(name), needs=others) for name, others in needs.items())
    with pytest.raises(UserError, match=message):
        work(replace(make_experiment(), lots=lots), tmp_path, OPTIONS)


def test_seconds_add_up_over_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = Layout(rows=("unit",), column="range", row_order=(), column_order=())
    lots = (single_lot("kept"),)
    experiment = Experiment(name="demo", title="", settings={}, lots=lots, layout=layout)
    save, train, parts = Training._save, Training.train, list[float]()

    def stop(training: Training, path: Path) -> None:
        time.sleep(0.3)
        save(training, path)
        parts.append(training.clock.wall)
        raise KeyboardInterrupt

    def timed(training: Training, **how: Any) -> Any:
        began = time.monotonic()
        results = train(training, **how)
        parts.append(time.monotonic() - began)
        return results

    with monkeypatch.context() as patch:
        patch.setattr(Training, "_save", stop)
        with pytest.raises(KeyboardInterrupt):
            work(experiment, tmp_path, OPTIONS)
    monkeypatch.setattr(Training, "train", timed)
    assert work(experiment, tmp_path, OPTIONS) == 1
    (record,) = read_run(tmp_path).records()
    assert len(parts) == 2 and parts[0] >= 0.3
    assert record.seconds >= sum(parts)
    (*_, last) = read_news(tmp_path / "progress" / "kept.jsonl")
    assert last["seconds"] >= parts[0]
