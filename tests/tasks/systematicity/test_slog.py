from collections import Counter

import pytest

from wug.core.errors import UserError
from wug.sources.files import lines
from wug.tasks.systematicity.slog import SLOG


@pytest.fixture(scope="module", autouse=True)
def official(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WUG_CACHE", str(tmp_path_factory.mktemp("cache")))
        try:
            yield lines("slog/train.varfree.tsv")
        except UserError as error:
            pytest.skip(str(error))


@pytest.mark.data
def test_sizes_and_types():
    task = SLOG()
    assert len(task.pairs("train")) == 32_755 and len(task.pairs("validation")) == 4_046
    groups = {
        split: Counter(pair.group for pair in task.pairs(split))
        for split in ("ood_validation", "test")
    }
    assert len(groups["test"]) == 17 and set(groups["test"].values()) == {900}
    assert set(groups["ood_validation"].values()) == {100}
    assert {"PP_3", "CP_5-12", "Q_iobj_ditransV", "RC_modif_subj"} < set(groups["test"])


@pytest.mark.data
def test_tokens_round_trip():
    task = SLOG()
    for split in ("train", "test"):
        for pair in task.pairs(split)[::20]:
            assert task.decode_source(task.encode_source(pair.source)) == pair.source
            assert task.decode_target(task.encode_target(pair.target)) == pair.target


def test_bad_arguments():
    with pytest.raises(UserError, match=r"ood_validation_share must be in \[0, 1\); got 1"):
        SLOG(ood_validation_share=1)
