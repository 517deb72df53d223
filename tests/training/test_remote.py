"""What a worker of a cluster does, without a cluster."""

from pathlib import Path
from typing import Any

import cluster_experiment
import pytest

import wug.training.remote as remote
from wug.core.errors import UserError
from wug.records import read_run
from wug.records.segments import decode_segment
from wug.study.experiment import RunOptions
from wug.training.lots import versions
from wug.training.remote import Errand, require_versions, run_errand
from wug.training.work import WorkOptions, work

TARGET = f"{cluster_experiment.__file__}:needing"
HOW = WorkOptions(compile="off", threads=1, checkpoint_seconds=0.0)


def errand(lot: str, **changes: Any) -> Errand:
    fixed: dict[str, Any] = {
        "target": TARGET, "options": RunOptions(), "lot": lot, "finished": frozenset(), "how": HOW,
        "networks": {}, "checkpoint": b"", "versions": versions(), "checkpoint_seconds": 0.0,
    }  # fmt: skip
    return Errand(**{**fixed, **changes})


def test_a_worker_sends_news_and_checkpoints_and_brings_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "NEWS_SECONDS", 0.0)
    letters: list[tuple[str, Any]] = []
    parcel = run_errand(errand("first"), lambda kind, content: letters.append((kind, content)))
    assert {kind for kind, _ in letters} == {"news", "checkpoint"}
    (first,) = decode_segment(parcel.records, tmp_path).records
    assert set(parcel.networks) == {"first"} and set(first.origin) == {"host", "token"}
    second = run_errand(errand("second", networks=parcel.networks), lambda *_: None)
    assert second.networks == {}  # what it needed is at home already
    found = {first.identity: first.outcome}
    found |= {r.identity: r.outcome for r in decode_segment(second.records, tmp_path).records}

    from wug.core.index import import_target

    work(import_target(TARGET)(RunOptions()), tmp_path, HOW)
    expected = {record.identity: record.outcome for record in read_run(tmp_path).stored()}
    assert repr(sorted(found.items())) == repr(sorted(expected.items()))

    # From a checkpoint, it goes on.
    last = [content for kind, content in letters if kind == "checkpoint"][-1]
    steps: list[Any] = []
    again = run_errand(
        errand("first", checkpoint=last),
        lambda kind, content: steps.extend(content if kind == "news" else ()),
    )
    assert decode_segment(again.records, tmp_path).records[0].outcome == first.outcome
    assert min(line["step"] for line in (*steps[1:], *again.news)) > 10


def test_a_checkpoint_that_is_too_large_stays_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "MOST_CHECKPOINT_BYTES", 10)
    letters: list[tuple[str, Any]] = []
    parcel = run_errand(errand("first"), lambda *letter: letters.append(letter))
    assert {kind for kind, _ in letters} <= {"news"}
    news = [*(line for _, lines in letters for line in lines), *parcel.news]
    (notice,) = [line["notice"] for line in news if "notice" in line]
    assert "if its worker dies, it begins anew" in notice


@pytest.mark.parametrize("name", ["wug", "torch"])
def test_other_versions_are_refused(name: str) -> None:
    with pytest.raises(UserError, match=rf"but this run needs .*{name} 9\.9.*install the same"):
        require_versions({**versions(), name: "9.9"})
