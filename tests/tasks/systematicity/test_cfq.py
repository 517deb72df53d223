import json
from dataclasses import replace

import pytest

from wug.core import index
from wug.core.errors import UserError
from wug.study.experiment import RunOptions
from wug.study.trainings import require_files
from wug.tasks.systematicity.cfq import CFQ


def entry(number):
    return {
        "questionPatternModEntities": f"Was M{number % 3} 's editor , M{number}?",
        "sparqlPatternModEntities": (
            f"SELECT count(*) WHERE {{\nM{number} ns:film.editor.film m.0{number} }}"
        ),
        "recursionDepth": number % 4,
    }


@pytest.fixture
def folder(tmp_path):
    """Files as the published ones are, with few questions."""
    (tmp_path / "splits").mkdir()
    (tmp_path / "dataset.json").write_text(json.dumps([entry(number) for number in range(100)]))
    places = {
        "trainIdxs": list(range(80)),
        "devIdxs": list(range(80, 90)),
        "testIdxs": list(range(99, 89, -1)),
    }
    (tmp_path / "splits" / "mcd1.json").write_text(json.dumps(places))
    return str(tmp_path)


def test_published_sets(folder):
    task = CFQ(folder=folder, validation_share=0.1)
    sets = {split: task.pairs(split) for split in ("train", "validation", "ood_validation", "test")}
    assert [len(one) for one in sets.values()] == [72, 8, 10, 10]
    assert sets["test"][0] == (
        "Was M0 ' s editor , M99 ?",
        "SELECT count ( * ) WHERE { M99 film.editor.film m_099 }",
        "3",
    )
    assert {"(", "{", "WHERE", "film.editor.film"} <= set(task.target_tokens)


def test_tokens_round_trip(folder):
    task = CFQ(folder=folder)
    for pair in task.pairs("train") + task.pairs("test"):
        assert task.decode_source(task.encode_source(pair.source)) == pair.source
        assert task.decode_target(task.encode_target(pair.target)) == pair.target


def test_what_is_not_there(folder, tmp_path, monkeypatch):
    with pytest.raises(UserError, match=r"mcd2.json can't be read"):
        CFQ(folder=folder, division="mcd2").pairs("train")
    monkeypatch.setenv("WUG_DATA", str(tmp_path / "nothing"))
    with pytest.raises(UserError, match=r"cfq/splits/mcd1.json can't be read"):
        CFQ().pairs("train")
    (tmp_path / "dataset.json").write_text("[{}]")
    with pytest.raises(UserError, match="questionPatternModEntities' is missing"):
        CFQ(folder=str(tmp_path)).pairs("train")
    with pytest.raises(UserError, match="division must be one of mcd1"):
        CFQ(division="mcd4")


def test_files_are_asked_for_before_anything_is_trained(tmp_path):
    lot = index.get("experiment", "csordas2023.cfq")(RunOptions(scale="paper")).lots[0]
    task = replace(lot.task, folder=str(tmp_path))
    asked = replace(lot, variants=(replace(lot.variants[0], task=task),))
    with pytest.raises(UserError, match=r"dataset.json can't be read.*google-research"):
        require_files([asked])
    require_files(index.get("experiment", "csordas2023.cfq")(RunOptions()).lots)
