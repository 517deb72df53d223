"""What tables cost, as it was measured."""

from wug.core import index
from wug.core.costs import SCALES, costs, spelled_cost


def test_costs_are_of_experiments_and_scales_that_there_are() -> None:
    known = {entry.key for entry in index.entries("experiment")}
    assert costs().keys() <= known
    for scales in costs().values():
        assert scales.keys() <= {"laptop", "paper"}
        for cost in scales.values():
            if cost["how"] == "unknown":
                assert cost["why"] and "minutes" not in cost
            else:
                assert cost["minutes"] > 0 and cost["how"] in ("measured", "estimated")


def test_an_estimate_is_marked() -> None:
    assert spelled_cost("mistry2022.single_module", "paper") == "10 min"
    assert spelled_cost("mistry2022.single_module", "laptop") == "~2 min"
    assert spelled_cost("faber2020.nsr_sequences", "laptop") == "<1 min"  # not ~<


def test_every_table_has_minutes_at_every_scale_or_says_what_it_needs() -> None:
    for entry in index.entries("experiment"):
        for scale in SCALES:
            told = spelled_cost(entry.key, scale)
            assert told[-3:] in ("min", "ays", "ars") or told.endswith(" h") or "needs " in told
    needing = {name for name, scales in costs().items() if scales["paper"]["how"] == "unknown"}
    assert needing == {"csordas2023.cfq", "csordas2023.batch_size"}
    assert spelled_cost("csordas2023.cfq", "paper") == "needs CFQ's files"
