from collections import Counter

import pytest

from wug.core.errors import UserError
from wug.sources.files import lines
from wug.tasks.productivity.scan_length import CUTOFFS, ScanLength


def official(name):
    try:
        rows = lines(f"scan/tasks{name}.txt")
    except UserError as error:
        pytest.skip(str(error))
    return Counter(tuple(row.removeprefix("IN: ").strip().split(" OUT: ")) for row in rows)


def written(task, *splits):
    return Counter((p.source, p.target) for split in splits for p in task.pairs(split))


IID, OOD = ("train", "validation"), ("ood_validation", "test")


@pytest.mark.data
def test_all_pairs_are_those_of_the_official_file():
    assert written(ScanLength(), *IID, *OOD) == official("")


@pytest.mark.data
def test_cutoff_22_is_the_official_split():
    assert written(ScanLength(cutoff=22), *IID) == official("_train_length")
    assert written(ScanLength(cutoff=22), *OOD) == official("_test_length")


@pytest.mark.data
@pytest.mark.parametrize("cutoff", CUTOFFS)
def test_cutoffs(cutoff):
    task, everything = ScanLength(cutoff=cutoff), official("")
    short = Counter(pair for pair in everything if len(pair[1].split()) <= cutoff)
    assert written(task, *IID) == short
    assert written(task, *OOD) == everything - short


def test_sizes_of_table_c7():
    task = ScanLength(cutoff=26, ood_validation_share=0.0)
    sets = {split: task.examples(split) for split in (*IID, "test")}
    assert [len(one) for one in sets.values()] == [16_458, 1_828, 2_624]
    assert task.num_source_tokens + task.num_target_tokens == 19
    assert (task.num_source_tokens, task.num_target_tokens) == (13, 6)
    assert int(sets["train"].source_lengths.max()) == 9
    assert int(sets["train"].target_lengths.max()) == 26
    assert int(sets["test"].source_lengths.max()) == 9
    assert int(sets["test"].target_lengths.max()) == 48
    with pytest.raises(UserError, match="ood_validation is empty"):
        task.examples("ood_validation")


def test_groups_are_lengths():
    task = ScanLength(cutoff=26)
    test = task.examples("test")
    names = [int(test.group_names[group]) for group in test.groups]
    assert names == test.target_lengths.tolist() and min(names) == 27
    assert sorted(test.group_names, key=int) == list(test.group_names)


def test_bad_arguments():
    with pytest.raises(UserError, match="cutoff must be from 1 to 47; got 48"):
        ScanLength(cutoff=48)
    with pytest.raises(UserError, match=r"validation_share must be in \[0, 1\); got 1"):
        ScanLength(validation_share=1.0)
