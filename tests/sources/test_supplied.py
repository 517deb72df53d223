"""Data sets that a person supplies are found by name, and their pages are named."""

import pytest

from wug.sources.supplied import SUPPLIED


@pytest.mark.parametrize("given", SUPPLIED.values(), ids=lambda given: given.name)
def test_what_is_there_is_found(given, tmp_path, monkeypatch):
    monkeypatch.delenv("WUG_DATA", raising=False)
    assert given.home.startswith("https://") and given.found(tmp_path) == []
    for name in given.files:
        (tmp_path / given.name / name).mkdir(parents=True)
    assert len(given.found(tmp_path)) == len(given.files)
