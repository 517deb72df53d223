"""Data sets come out of folders, archives and from addresses, and only right files stay."""

import gzip
import io
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from range_server import Web

from wug.core.errors import UserError, WorkError
from wug.sources.catalog import DataSet
from wug.sources.gather import gather

from .conftest import CONTENTS

pytestmark = pytest.mark.usefixtures("own_folders")


def there(folder: Path) -> dict[str, bytes]:
    root = folder / "made_up"
    found = (path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The files as their authors might keep them: elsewhere, packed, one under another name."""
    folder = tmp_path / "clone" / "v1"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_bytes(b"another file of this name")
    (folder / "first.txt").write_bytes(CONTENTS["a.txt"])
    (folder / "b.txt.gz").write_bytes(gzip.compress(CONTENTS["deep/b.txt"]))
    return tmp_path / "clone"


def test_from_a_folder_in_any_order(made_up: DataSet, clone: Path, tmp_path: Path) -> None:
    new, absent = gather(made_up, tmp_path / "d", str(clone))
    assert (list(new), absent) == (list(made_up.files), [])
    assert there(tmp_path / "d") == CONTENTS
    assert gather(made_up, tmp_path / "d", str(clone)) == ([], [])


def archived(clone: Path, archive: Path) -> Path:
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive, "w") as file:
            for path in clone.rglob("*.*"):
                file.write(path, path.relative_to(clone))
    else:
        with tarfile.open(archive, "w:gz") as file:
            file.add(clone, "clone")
    return archive


@pytest.mark.parametrize("name", ["x.zip", "x.tar.gz"])
def test_from_an_archive(made_up: DataSet, clone: Path, tmp_path: Path, name: str) -> None:
    archive = archived(clone, tmp_path / name)
    with pytest.raises(UserError, match="more than 100 bytes"):
        gather(made_up, tmp_path / "d", str(archive), limit=100)
    gather(made_up, tmp_path / "d", str(archive))
    assert there(tmp_path / "d") == CONTENTS


def test_from_the_address_of_an_archive(
    made_up: DataSet, clone: Path, tmp_path: Path, web: Web
) -> None:
    web.files["/x.zip"] = archived(clone, tmp_path / "x.zip").read_bytes()
    gather(made_up, tmp_path / "d", f"{web.address}/x.zip")
    assert there(tmp_path / "d") == CONTENTS


def test_what_a_folder_lacks_is_said(made_up: DataSet, clone: Path, tmp_path: Path) -> None:
    (clone / "v1" / "first.txt").unlink()
    new, absent = gather(made_up, tmp_path / "d", str(clone))
    assert [file.path for file in new] == ["deep/b.txt"]
    assert [file.path for file in absent] == ["a.txt"]
    with pytest.raises(UserError, match="no folder and no archive"):
        gather(made_up, tmp_path / "d", str(tmp_path / "nowhere"))


def test_a_damaged_file_is_replaced(made_up: DataSet, clone: Path, tmp_path: Path) -> None:
    gather(made_up, tmp_path / "d", str(clone))
    (tmp_path / "d" / "made_up" / "a.txt").write_bytes(b"x")
    gather(made_up, tmp_path / "d", str(clone))
    assert there(tmp_path / "d") == CONTENTS


@pytest.mark.parametrize("below", ["/made_up", ""])
def test_from_an_address(made_up: DataSet, web: Web, tmp_path: Path, below: str) -> None:
    web.files[f"/data{below}/a.txt"] = CONTENTS["a.txt"]
    web.files[f"/data{below}/deep/b.txt.gz"] = gzip.compress(CONTENTS["deep/b.txt"])
    gather(made_up, tmp_path / "d", f"{web.address}/data/")
    assert there(tmp_path / "d") == CONTENTS


def test_an_interrupted_download_goes_on(made_up: DataSet, web: Web, tmp_path: Path) -> None:
    for path, content in CONTENTS.items():
        web.files[f"/made_up/{path}"] = content
    web.breaks["/made_up/deep/b.txt"] = 1000
    with pytest.raises(WorkError, match="broke off"):
        gather(made_up, tmp_path / "d", web.address)
    assert (tmp_path / "d" / "made_up" / "a.txt").exists()
    assert not (tmp_path / "d" / "made_up" / "deep" / "b.txt").exists()
    gather(made_up, tmp_path / "d", web.address)
    assert there(tmp_path / "d") == CONTENTS
    assert web.asked[-1] == ("/made_up/deep/b.txt", "bytes=1000-")


def test_a_wrong_checksum_keeps_nothing(made_up: DataSet, web: Web, tmp_path: Path) -> None:
    web.files["/made_up/a.txt"] = CONTENTS["a.txt"][:-1] + b"!"
    with pytest.raises(WorkError, match="is not made_up/a.txt: its sha256 is not"):
        gather(made_up, tmp_path / "d", web.address)
    assert there(tmp_path / "d") == {}


def test_a_part_of_another_edition_is_thrown_away(
    made_up: DataSet, web: Web, tmp_path: Path
) -> None:
    for path, content in CONTENTS.items():
        web.files[f"/made_up/{path}"] = content
    (tmp_path / "d" / "made_up").mkdir(parents=True)
    (tmp_path / "d" / "made_up" / ".a.txt.arrived.part").write_bytes(b"of another edition")
    gather(made_up, tmp_path / "d", web.address)
    assert there(tmp_path / "d") == CONTENTS


def test_each_file_has_an_address_of_its_own(made_up: DataSet, web: Web, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no address is known for made_up/a.txt"):
        gather(made_up, tmp_path / "d")
    buffer = io.BytesIO(CONTENTS["a.txt"])
    web.files |= {"/1": buffer.getvalue(), "/2": CONTENTS["deep/b.txt"]}
    addressed = replace(
        made_up,
        files=tuple(replace(f, url=f"{web.address}/{i}") for i, f in enumerate(made_up.files, 1)),
    )
    gather(addressed, tmp_path / "d")
    assert there(tmp_path / "d") == CONTENTS
    web.asked.clear()
    gather(addressed, tmp_path / "d")
    assert web.asked == []


def test_what_is_elsewhere_is_copied_not_downloaded(
    made_up: DataSet, clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gather(made_up, tmp_path / "d", str(clone))
    monkeypatch.setenv("WUG_DATA", str(tmp_path / "d"))
    gather(made_up, tmp_path / "other")
    assert there(tmp_path / "other") == CONTENTS
