import pytest
from small_lots import make_lot, small_plan

from wug.records import identity
from wug.training.judging import Result
from wug.training.lots import make_record, missing
from wug.training.plan import Lot

RANGES = ("[1,2)", "[-2,2)", "[10,20)")
LOT = make_lot("nau", ["add"], RANGES, (0, 1, 2), small_plan(10), "shared")
ALL = {(name, seed) for name in RANGES for seed in LOT.seeds}

Replicas = set[tuple[str, int]]


def finished(replicas: Replicas) -> set[str]:
    return {
        identity({"unit": "nau", "operation": "add", "range": name, "seed": seed})
        for name, seed in replicas
    }


def replicas_of(block: Lot) -> Replicas:
    return {(v.labels["range"], seed) for v in block.variants for seed in block.seeds}


@pytest.mark.parametrize(
    ("done", "num_blocks"),
    [
        (set(), 1),
        (ALL, 0),
        ({(name, 0) for name in RANGES}, 1),
        ({("[1,2)", seed) for seed in LOT.seeds}, 1),
        ({("[1,2)", 0), ("[-2,2)", 0), ("[10,20)", 1)}, 2),
        ({("[1,2)", 0), ("[-2,2)", 1), ("[10,20)", 2)}, 3),
        (ALL - {("[-2,2)", 1)}, 1),
    ],
    ids=["none", "all", "a seed", "a range", "ragged in two", "ragged in three", "all but one"],
)
def test_blocks_hold_what_is_missing_and_nothing_twice(done: Replicas, num_blocks: int) -> None:
    blocks = list(missing(LOT, finished(done)))
    assert len(blocks) == num_blocks
    assert sum(block.num_replicas for block in blocks) == len(ALL - done)
    assert set().union(*map(replicas_of, blocks)) == ALL - done


def test_a_block_is_the_lot_in_all_else() -> None:
    (block,) = missing(LOT, finished({("[1,2)", seed) for seed in LOT.seeds}))
    assert (block.name, block.plan, block.streams) == (LOT.name, LOT.plan, LOT.streams)
    assert block.build is LOT.build and block.variants == LOT.variants[1:]


def test_records_of_other_lots_count_for_nothing() -> None:
    others = {identity({"unit": "nmu", "operation": "add", "range": "[1,2)", "seed": 0}), "{}"}
    assert list(missing(LOT, others)) == [LOT]


def test_a_result_becomes_a_record_under_its_key() -> None:
    labels = LOT.variants[0].labels
    result = Result(
        labels=labels, seed=2, outcome={"solved": True}, curves={"step": [0.0]}, config={"a": 1}
    )
    record = make_record("demo", result, 1.5)
    assert record.identity in finished({("[1,2)", 2)})
    assert (record.experiment, record.seed, record.seconds) == ("demo", 2, 1.5)
    assert (record.config, record.outcome) == ({"a": 1}, {"solved": True})
    assert set(record.versions) == {"wug", "torch", "numpy", "python"}
