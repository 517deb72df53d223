"""Many workers on one folder, some of which fail, at a size of seconds."""

from cluster_simulation import simulate

# Failures are much more frequent than by default, as there are few lots.
HARSH = {"seconds_to_death": 1_500.0, "seconds_to_freeze": 1_500.0, "mean_seconds": 60.0}


def test_no_lot_is_lost_and_none_counts_twice() -> None:
    found = simulate(8, 120, **HARSH)
    assert found["lots finished"] == 120
    assert found["workers died"] > 2 and found["workers frozen"] > 2
    assert found["lots taken over"] > 2 and found["lots given up"] > 0
    again = simulate(8, 120, **HARSH)
    counted = [name for name in found if "ms for" not in name and "seconds to" not in name]
    assert {name: again[name] for name in counted} == {name: found[name] for name in counted}


def test_without_failures_every_lot_is_begun_once() -> None:
    found = simulate(8, 60, seconds_to_death=1e12, seconds_to_freeze=1e12)
    assert found["news written"] == found["records added"] == found["lots finished"] == 60
    assert found["records that don't count"] == 0
