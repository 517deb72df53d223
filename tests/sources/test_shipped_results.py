"""Our results in full, for those who have a wheel."""

import json
import shutil
from hashlib import sha256
from pathlib import Path

import pytest
from range_server import Web, serve_files

from wug.core import folders
from wug.core.errors import UserError, WorkError
from wug.core.folders import results_folder
from wug.sources.shipped_results import get_results

FILES = {"a.b/paper/run.json": b"{}", "a.b/paper/records.jsonl.xz": b"packed"}


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that knows two files of results and has none of them in full."""
    shipped = tmp_path / "package" / "_shipped"
    shipped.mkdir(parents=True)
    rows = [
        {"path": name, "size": len(data), "sha256": sha256(data).hexdigest()}
        for name, data in FILES.items()
    ]
    (shipped / "files.json").write_text(json.dumps({"home": "", "files": rows}), encoding="utf-8")
    monkeypatch.setattr(folders, "shipped_folder", lambda: shipped)
    monkeypatch.setenv("WUG_CACHE", str(tmp_path / "cache"))
    return shipped


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name, data in FILES.items():
        path = tmp_path / "checkout" / "results" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "checkout"


def test_from_a_checkout_or_its_archive(wheel: Path, checkout: Path, tmp_path: Path) -> None:
    assert results_folder() == wheel
    archive = shutil.make_archive(str(tmp_path / "wug"), "zip", tmp_path, "checkout")
    for source in (checkout, checkout / "results", Path(archive)):
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)
        folder, num_new, absent = get_results(str(source))
        assert (num_new, absent) == (2, []) and results_folder() == folder
        assert (folder / "a.b/paper/records.jsonl.xz").read_bytes() == b"packed"
        assert get_results(str(source))[1] == 0  # nothing is copied twice


def test_what_is_not_whole_is_not_used(wheel: Path, checkout: Path) -> None:
    (checkout / "results" / "a.b" / "paper" / "run.json").write_text("[]", encoding="utf-8")
    folder, num_new, (absent,) = get_results(str(checkout))
    assert num_new == 1 and absent.path == "a.b/paper/run.json"
    assert results_folder() == wheel != folder


def test_from_an_address(wheel: Path) -> None:
    with serve_files() as web:
        web.files = {f"/results/{name}": data for name, data in FILES.items()}
        folder, num_new, absent = get_results(f"{web.address}/results")
        assert (num_new, absent) == (2, []) and results_folder() == folder
        (folder / "a.b/paper/run.json").unlink()
        assert_wrong(web)


def assert_wrong(web: Web) -> None:
    web.files["/results/a.b/paper/run.json"] = b"[]"
    with pytest.raises(WorkError, match="its checksum is another"):
        get_results(f"{web.address}/results")
    del web.files["/results/a.b/paper/run.json"]
    assert [file.path for file in get_results(f"{web.address}/results")[2]] == [
        "a.b/paper/run.json"
    ]


def test_a_source_must_be_named_if_no_address_is_known(wheel: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="wug data get results --from FOLDER"):
        get_results()
    with pytest.raises(UserError, match="is no folder and no archive"):
        get_results(str(tmp_path / "nowhere"))
