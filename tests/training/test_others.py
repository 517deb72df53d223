import os
from pathlib import Path

from wug.records import RunStore
from wug.records.leases import BEAT_SECONDS
from wug.training.others import Others


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_what_is_known_of_a_lot_that_another_process_has(tmp_path: Path) -> None:
    store, clock = RunStore.open(tmp_path, "demo", {}), Clock()
    others = Others(store, clock)
    assert not others.too_soon("nau") and not others.alive("nau") and not others.gone("nau")
    with store.claim("nau") as claim:
        assert claim is not None
        others.refused("nau")
        assert others.too_soon("nau") and not others.alive("nau")
        clock.now = BEAT_SECONDS
        assert not others.too_soon("nau")  # it should have been heard of: ask again
        os.utime(claim.path, ns=(1, 1))
        assert others.alive("nau") and not others.gone("nau")
    assert others.gone("nau") and not others.alive("nau") and not others.too_soon("nau")
