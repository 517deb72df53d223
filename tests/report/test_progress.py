"""How far runs are, from news that may be torn, stale or bad."""

import os
from pathlib import Path

from wug.records import Record, RunStore
from wug.report.progress import MOST_POINTS, QUIET_SECONDS, Watch, curves_of, read_news

NOW = 1_000_000.0


def stamp(path: Path, at: float) -> None:
    os.utime(path, (at, at))


def start(root: Path, *steps: int, at: float = NOW) -> RunStore:
    store = RunStore.open(root / "demo" / "paper", "demo", {"steps": 100})
    for step in steps:
        store.report_progress("nau", step=step, steps=100, rate=5.0, replicas=2, seconds=step / 10,
                              train=1 / (step + 1))  # fmt: skip
    stamp(store.folder / "progress" / "nau.jsonl", at)
    return store


def finish(store: RunStore, at: float) -> None:
    record = Record(
        experiment="demo", kind="scalar", key={"seed": 0}, config={}, seed=0, seconds=1.0,
        outcome={"solved": False}, versions={}, curves={},
    )  # fmt: skip
    store.append("nau", [record])
    for path in store.folder.glob("records/*.jsonl"):
        stamp(path, at)


def test_a_run_goes_its_way(tmp_path: Path) -> None:
    watch = Watch([tmp_path, tmp_path / "later"])
    assert watch.runs(NOW) == []
    store = start(tmp_path, 0, 10, 20)
    (run,) = watch.runs(NOW + 1)
    assert (run["experiment"], run["state"]) == ("demo", "running")
    (lot,) = run["lots"]
    assert (lot["lot"], lot["step"], lot["steps"], lot["replicas"]) == ("nau", 20, 100, 2)
    assert lot["curves"] == {"train": [(0, 1), (10, 1 / 11), (20, 1 / 21)]}
    start(tmp_path, 30, at=NOW + 2)
    assert len(watch.runs(NOW + 3)[0]["lots"][0]["curves"]["train"]) == 4
    assert watch.runs(NOW + 3 + QUIET_SECONDS)[0]["state"] == "quiet"
    finish(store, NOW + 4)
    (run,) = watch.runs(NOW + 5)
    assert run["state"] == "running" and run["lots"][0]["state"] == "finished"
    store.write_catalog({})
    (run,) = watch.runs(NOW + 5)
    assert run["state"] == "finished" and run["lots"] == []


def test_a_further_training_begins_anew(tmp_path: Path) -> None:
    store = start(tmp_path, 0, 50, 100, 0, 10)
    rows = read_news(store.folder / "progress" / "nau.jsonl")
    assert [row["step"] for row in rows] == [0, 10]


def test_bad_lines_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(
        b'\n{"step": 1, "steps": 9, "a": "<b>", "b": NaN, "c": 1e999}\n[]\n5\n{"step": "x"}\n\xff\n'
        b'{"step": 2, "steps": 0}\n{"steps": 9}\n' + b"[" * 50_000 + b'\n{"step": 2, "ste'
    )
    assert read_news(path) == [{"step": 1, "steps": 9}]
    assert read_news(tmp_path / "none") == []
    (tmp_path / "run.json").write_text("{")
    (tmp_path / "progress").mkdir()
    assert Watch([tmp_path]).runs(NOW) == []


def test_bad_files_do_no_harm(tmp_path: Path) -> None:
    store = start(tmp_path / "runs", 0, 10)
    secret = start(tmp_path / "secret", 0, 90)
    for name, what in (("deep", '{"wug_run": ' + "[" * 100_000), ("loop", None), ("out", "")):
        (tmp_path / "runs" / name / "progress").mkdir(parents=True)
        manifest = tmp_path / "runs" / name / "run.json"
        if what:
            manifest.write_text(what)
        else:
            manifest.symlink_to(manifest if what is None else secret.folder / "run.json")
    (store.folder / "progress" / "x.jsonl").symlink_to(secret.folder / "progress" / "nau.jsonl")
    (store.folder / "progress" / "y.jsonl").mkdir()
    (run,) = Watch([tmp_path / "runs"]).runs(NOW)
    assert [lot["step"] for lot in run["lots"]] == [10]


def test_long_curves_are_thinned_and_keep_their_end() -> None:
    rows = [{"step": float(i), "steps": 1e4, "a": float(i)} for i in range(10_000)]
    points = curves_of(rows)["a"]
    assert len(points) <= MOST_POINTS and points[-1] == (9999, 9999)
