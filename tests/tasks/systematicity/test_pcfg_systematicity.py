import pytest

from wug.core.errors import UserError
from wug.sources.files import lines
from wug.sources.string_edits import has_pair
from wug.tasks.systematicity.pcfg_systematicity import NEW_PAIRS, PCFGSystematicity

SMALL = {"num_train": 500, "num_validation": 100}


def test_training_has_no_new_pair():
    task = PCFGSystematicity(**SMALL)
    pairs = task.pairs("train") + task.pairs("validation")
    assert len({pair.source for pair in pairs}) == 600
    assert not any(has_pair(pair.source, NEW_PAIRS) for pair in pairs)
    words = {word for pair in pairs for word in pair.source.split()}
    assert {word for pair in NEW_PAIRS for word in pair} <= words


@pytest.mark.data
def test_every_official_test_expression_has_a_new_pair(tmp_path, monkeypatch):
    monkeypatch.setenv("WUG_CACHE", str(tmp_path))
    try:
        official = lines("pcfg/systematicity/test.src"), lines("pcfg/systematicity/test.tgt")
    except UserError as error:
        pytest.skip(str(error))
    task = PCFGSystematicity(ood_validation_share=0.0)
    pairs = task.pairs("test")
    assert [(pair.source, pair.target) for pair in pairs] == list(zip(*official, strict=True))
    assert all(has_pair(pair.source, NEW_PAIRS) for pair in pairs)
    # Table C.7 of csordas2023.
    test = task.examples("test")
    assert len(test) == 10_175 and task.num_source_tokens == 535 and task.num_train == 82_168
    assert int(test.source_lengths.max()) == 71 and int(test.target_lengths.max()) == 496


def test_bad_arguments():
    with pytest.raises(UserError, match="PCFGSystematicity: num_train must be at least 1; got 0"):
        PCFGSystematicity(num_train=0)
    with pytest.raises(UserError, match=r"ood_validation_share must be in \[0, 1\); got 1.5"):
        PCFGSystematicity(ood_validation_share=1.5)
