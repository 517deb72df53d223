import gzip
from zipfile import ZipFile

import pytest

from wug.core.errors import UserError
from wug.sources.data_files import find, lines, zip_lines


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("WUG_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("WUG_CACHE", str(tmp_path / "cache"))
    (tmp_path / "data" / "wugs").mkdir(parents=True)
    return tmp_path / "data" / "wugs"


def test_packed_or_not(folder):
    (folder / "one.txt").write_text("a wug\ntwo wugs\n")
    (folder / "two.txt.gz").write_bytes(gzip.compress(b"a wug\ntwo wugs"))
    assert lines("wugs/one.txt") == lines("wugs/two.txt") == ["a wug", "two wugs"]
    assert find("wugs/two.txt") == folder / "two.txt.gz"


def test_zips_are_unpacked_into_the_cache(folder, tmp_path):
    with ZipFile(folder / "sets.zip", "w") as packed:
        packed.writestr("inside/one.txt", "a wug\n")
    assert zip_lines("wugs/sets.zip", "one.txt", "secret") == ["a wug"]
    assert (tmp_path / "cache" / "data" / "wugs" / "sets" / "one.txt").is_file()
    (folder / "sets.zip").unlink()
    assert zip_lines("wugs/sets.zip", "one.txt", "secret") == ["a wug"]


def test_what_is_not_there(folder):
    with pytest.raises(UserError, match="the data file wugs/none.txt is not here: set WUG_DATA"):
        lines("wugs/none.txt")
    with ZipFile(folder / "sets.zip", "w"):
        pass
    with pytest.raises(UserError, match="must have one file one.txt; got 0"):
        zip_lines("wugs/sets.zip", "one.txt", "secret")
