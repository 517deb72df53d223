"""Events for TensorBoard, made from the news of a run."""

import sys
from pathlib import Path

import pytest

from wug.core.errors import UserError
from wug.records import RunStore
from wug.training.event_log import log_events

FILTERS = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@FILTERS
def test_news_become_scalars_of_their_lot(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    store = RunStore.open(tmp_path / "run", "demo", {})
    with log_events(store) as folder:
        store.report_progress("nau", step=10, steps=20, rate=5.0, validation=0.5)
    found = EventAccumulator(str(folder / "nau"))
    found.Reload()
    assert set(found.Tags()["scalars"]) == {"rate", "validation"}
    (event,) = found.Scalars("validation")
    assert (event.step, event.value) == (10, 0.5)


def test_without_the_package_it_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    store = RunStore.open(tmp_path / "run", "demo", {})
    with pytest.raises(UserError, match=r'pip install "wug\[tensorboard\]"'), log_events(store):
        pass
