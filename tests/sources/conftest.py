"""A data set that is made up, folders of its own, and a server for all tests of sources."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from range_server import Web, serve_files

from wug.sources import files
from wug.sources.catalog import DataFile, DataSet

CONTENTS = {"a.txt": b"one two three\n" * 1000, "deep/b.txt": b"four\n" * 500}


@pytest.fixture
def own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the folders of this machine out; tests of files and text ask for it."""
    monkeypatch.setenv("WUG_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("WUG_DATA", raising=False)
    # Not a checkout: ../shared/data is left out but in the tests that ask for it.
    monkeypatch.setattr(files, "package_files", lambda name: tmp_path / "lib" / "site" / name)


@pytest.fixture
def made_up() -> DataSet:
    return DataSet(
        name="made_up", title="Made up", about="two files", licence="MIT",
        home="https://example.org/made-up",
        files=tuple(
            DataFile(path=path, size=len(content),
                     digests={"sha256": hashlib.sha256(content).hexdigest()})
            for path, content in CONTENTS.items()
        ),
    )  # fmt: skip


@pytest.fixture
def known(made_up: DataSet, monkeypatch: pytest.MonkeyPatch) -> DataSet:
    """The data set, in place of the real catalog."""
    monkeypatch.setattr("wug.sources.catalog.catalog", lambda: {"made_up": made_up})
    return made_up


@pytest.fixture
def web() -> Iterator[Web]:
    with serve_files() as served:
        yield served


@pytest.fixture(scope="session")
def shared_data() -> Path:
    folder = Path(__file__).parents[3] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the data sets (../shared/data) are not here")
    return folder
