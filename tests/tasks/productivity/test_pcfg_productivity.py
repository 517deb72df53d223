import pytest

from wug.core.errors import UserError
from wug.sources.files import lines
from wug.sources.string_edits import num_functions
from wug.tasks.productivity.pcfg_productivity import PCFGProductivity

SMALL = {"num_train": 500, "num_validation": 100}


@pytest.fixture
def official():
    try:
        return lines("pcfg/productivity/test.src"), lines("pcfg/productivity/test.tgt")
    except UserError as error:
        pytest.skip(str(error))


def test_training_has_few_functions():
    task = PCFGProductivity(**SMALL)
    for split, size in (("train", 500), ("validation", 100)):
        pairs = task.pairs(split)
        assert len(pairs) == size
        assert all(1 <= num_functions(pair.source) <= 8 for pair in pairs)
        assert all(pair.group == str(num_functions(pair.source)) for pair in pairs)


@pytest.mark.data
def test_test_is_the_official_one(official, tmp_path, monkeypatch):
    monkeypatch.setenv("WUG_CACHE", str(tmp_path))
    task = PCFGProductivity(ood_validation_share=0.0)
    pairs = task.pairs("test")
    assert [(pair.source, pair.target) for pair in pairs] == list(zip(*official, strict=True))
    # Table C.7 of csordas2023.
    test = task.examples("test")
    assert len(test) == 11_333 and task.num_source_tokens == task.num_target_tokens == 535
    assert int(test.source_lengths.max()) == 71 and int(test.target_lengths.max()) == 736
    assert min(int(name) for name in test.group_names) == 9
    assert task.num_train == 81_010


@pytest.mark.data
def test_ood_validation_is_a_tenth_of_every_number_of_functions(official):
    task = PCFGProductivity(**SMALL)
    validation, test = task.pairs("ood_validation"), task.pairs("test")
    assert sorted(p.source for p in validation + test) == sorted(official[0])
    assert sum(p.group == "9" for p in validation) == 323
