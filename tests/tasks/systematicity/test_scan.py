from collections import Counter

import pytest

from wug.core.errors import UserError
from wug.sources.files import lines
from wug.sources.scan_grammar import rules
from wug.tasks.systematicity.scan import RULES, Scan

OFFICIAL = {
    "add_jump": "addprim_jump",
    "add_turn_left": "addprim_turn_left",
    "around_right": "template_around_right",
    "jump_around_right": "template_jump_around_right",
    "opposite_right": "template_opposite_right",
    "right": "template_right",
}


def official(name):
    try:
        rows = lines(f"scan/tasks_{name}.txt")
    except UserError as error:
        pytest.skip(str(error))
    return Counter(tuple(row.removeprefix("IN: ").strip().split(" OUT: ")) for row in rows)


def written(task, *splits):
    return Counter((p.source, p.target) for split in splits for p in task.pairs(split))


@pytest.mark.data
@pytest.mark.parametrize("combination", RULES)
def test_rule_based_splits_are_the_official_files(combination):
    task = Scan(combination=combination)
    assert written(task, "train", "validation") == official(f"train_{OFFICIAL[combination]}")
    assert written(task, "ood_validation", "test") == official(f"test_{OFFICIAL[combination]}")


@pytest.mark.parametrize(
    ("combination", "primitive", "times"),
    [("add_jump", "jump", 1_467), ("add_turn_left", "turn left", 2_189)],
)
def test_the_lone_primitive_stays_in_training(combination, primitive, times):
    task = Scan(combination=combination)
    train = Counter(pair.source for pair in task.pairs("train"))
    assert train[primitive] == times and sum(train.values()) - len(train) == times - 1
    assert primitive not in {pair.source for pair in task.pairs("validation")}


@pytest.mark.parametrize("combination", list(RULES)[2:])
def test_template_splits_leave_commands_out(combination):
    task = Scan(combination=combination)
    splits = ("train", "validation", "ood_validation", "test")
    assert sum(written(task, *splits).values()) == 20_910 - 1_209


@pytest.mark.data
@pytest.mark.parametrize("combination", ["simple", "mcd1", "mcd2", "mcd3"])
def test_splits_from_files(combination):
    train, test = official(f"train_{combination}"), official(f"test_{combination}")
    task = Scan(combination=combination)
    assert written(task, "train", "validation") == train
    assert written(task, "ood_validation", "test") == test
    sizes = (16_728, 4_182) if combination == "simple" else (8_365, 1_045)
    assert (train.total(), test.total()) == sizes


def test_own_divergent_split():
    task = Scan(combination="divergent")
    train, test = (
        [p.source for split in splits for p in task.pairs(split)]
        for splits in (("train", "validation"), ("ood_validation", "test"))
    )
    assert (len(train), len(test)) == (8_365, 1_045) and not set(train) & set(test)
    assert {w for one in test for w in one.split()} <= {w for one in train for w in one.split()}
    counts = [
        Counter(r for one in side for r in rules(one) if len(r) > 1) for side in (train, test)
    ]
    seldom = [
        c
        for c, n in counts[1].items()
        if n / counts[1].total() > 10 * counts[0][c] / counts[0].total()
    ]
    assert sum(counts[1][c] for c in seldom) > counts[1].total() / 4


def test_bad_arguments():
    with pytest.raises(UserError, match="combination must be one of simple, add_jump"):
        Scan(combination="length")
    with pytest.raises(UserError, match=r"ood_validation_share must be in \[0, 1\); got -1"):
        Scan(ood_validation_share=-1)
