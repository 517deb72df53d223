from collections import Counter

import pytest

from wug.core.errors import UserError
from wug.sources.files import lines
from wug.tasks.systematicity.cogs import COGS, STRUCTURAL


@pytest.fixture(scope="module", autouse=True)
def official():
    try:
        return {name: lines(f"cogs/{name}.tsv") for name in ("train", "dev", "test", "gen")}
    except UserError as error:
        pytest.skip(str(error))


@pytest.mark.data
def test_sizes_of_table_c7():
    task = COGS(ood_validation_share=0.0)
    sets = {split: task.examples(split) for split in ("train", "validation", "test")}
    assert [len(one) for one in sets.values()] == [24_155, 3_000, 21_000]
    assert task.num_source_tokens == task.num_target_tokens == 871
    train, test = sets["train"], sets["test"]
    assert int(train.source_lengths.max()) == 22 and int(train.target_lengths.max()) == 153
    assert int(test.source_lengths.max()) == 61 and int(test.target_lengths.max()) == 480


@pytest.mark.data
def test_types(official):
    task = COGS()
    groups = {split: Counter(p.group for p in task.pairs(split)) for split in
              ("ood_validation", "test")}  # fmt: skip
    assert len(groups["test"]) == 21 and set(groups["test"].values()) == {900}
    assert set(groups["ood_validation"].values()) == {100}
    assert set(STRUCTURAL) < set(groups["test"])
    both = Counter(p for split in ("ood_validation", "test") for p in task.pairs(split))
    assert both == Counter(tuple(line.split("\t")) for line in official["gen"])


@pytest.mark.data
@pytest.mark.parametrize("form", ["cogs", "recogs"])
def test_tokens_round_trip(form):
    task = COGS(form=form)
    for split in ("train", "validation", "test"):
        for pair in task.pairs(split)[::50]:
            assert task.decode_source(task.encode_source(pair.source)) == pair.source
            assert task.decode_target(task.encode_target(pair.target)) == pair.target
            assert task.same(pair.target, pair.target)


@pytest.mark.data
def test_recogs_is_scored_by_meaning():
    task = COGS(form="recogs")
    for pair in task.pairs("test")[::500]:
        entities, _, events = pair.target.rpartition(" ; ")
        shuffled = " AND ".join([*reversed(events.split(" AND ")), *entities.split(" ; ")])
        assert task.same(shuffled, pair.target) and not COGS().same(shuffled, pair.target)


def test_bad_arguments():
    with pytest.raises(UserError, match="form must be one of cogs, recogs; got 'amr'"):
        COGS(form="amr")
    with pytest.raises(UserError, match=r"ood_validation_share must be in \[0, 1\)"):
        COGS(ood_validation_share=2.0)


def test_lexical_types_have_a_mean_of_their_own():
    shares = {
        "cp_recursion": 0.0,
        "pp_recursion": 0.0,
        "a": 1.0,
        "b": 0.5,
        "prim_to_obj_proper": 0.0,
    }
    assert COGS().group_summaries(shares) == {"lexical_accuracy": 0.75}
    assert COGS().group_summaries({"cp_recursion": 0.0}) == {}
