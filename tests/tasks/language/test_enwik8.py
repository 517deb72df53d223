import pytest

from wug.core.errors import UserError
from wug.sources.catalog import data_set
from wug.sources.files import find
from wug.tasks.language.enwik8 import Enwik8


def test_splits_are_90_5_and_5_million_bytes():
    owner = data_set("enwik8")
    if find(owner.file("enwik8"), owner) is None:
        pytest.skip("enwik8 is not here")
    text = Enwik8().open()
    million = 1_000_000
    assert text.splits == {
        "train": (0, 90 * million), "validation": (90 * million, 95 * million),
        "test": (95 * million, 100 * million),
    }  # fmt: skip
    assert bytes(text[:10]) == b"<mediawiki"


def test_a_missing_file_is_a_sentence(monkeypatch):
    monkeypatch.setattr("wug.sources.files.search_folders", lambda folder=None: [])
    with pytest.raises(UserError, match="enwik8/enwik8 is missing"):
        Enwik8().open()
