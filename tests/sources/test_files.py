"""Files are found where they should be looked for, and never trusted without their checksum."""

import gzip
import hashlib
import io
import lzma
import subprocess
import zipfile
from pathlib import Path

import pytest

from wug.core.errors import UserError
from wug.sources import files
from wug.sources.catalog import DataFile, DataSet

from .conftest import CONTENTS

pytestmark = pytest.mark.usefixtures("own_folders")


def put(folder: Path, packing: str = "") -> Path:
    """Write the made-up data set into a folder of data sets."""
    pack = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[packing]
    for path, content in CONTENTS.items():
        target = folder / "made_up" / f"{path}{packing}"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(pack(content))
    return folder


def test_folders_are_looked_into_in_order(
    known: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, variable = tmp_path / "named", tmp_path / "variable"
    monkeypatch.setenv("WUG_DATA", str(variable))
    (tmp_path / "checkout" / "src" / "wug").mkdir(parents=True)
    (tmp_path / "checkout" / "pyproject.toml").touch()
    monkeypatch.setattr(files, "package_files", lambda name: tmp_path / "checkout" / "src" / name)
    places = [named, variable, tmp_path / "shared" / "data", tmp_path / "cache" / "data"]
    assert files.search_folders(named) == places
    for place in reversed(places):
        put(place)
        assert files.find(known.files[0], known, named) == place / "made_up" / "a.txt"


def test_an_installed_package_has_no_folder_beside_it(tmp_path: Path) -> None:
    assert files.search_folders() == [tmp_path / "cache" / "data"]


@pytest.mark.parametrize("packing", ["", ".gz", ".xz"])
def test_reads_packed_and_plain(known: DataSet, tmp_path: Path, packing: str) -> None:
    put(tmp_path / "d", packing)
    for path, content in CONTENTS.items():
        assert files.read("made_up", path, tmp_path / "d") == content
        plain = files.plain_path("made_up", path, tmp_path / "d")
        assert plain.read_bytes() == content
        assert (tmp_path / "cache" in plain.parents) == bool(packing)
        assert files.plain_path("made_up", path, tmp_path / "d") == plain


def test_what_is_missing_is_one_sentence(known: DataSet, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        files.read("made_up", "a.txt", tmp_path / "d")
    message = str(caught.value)
    assert message.startswith("made_up/a.txt is missing")
    assert str(tmp_path / "d") in message and "https://example.org/made-up" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"short", "it has 5 bytes instead of 14,000"),
        (CONTENTS["a.txt"][:-1] + b"!", "its sha256 is not"),
        (CONTENTS["a.txt"] + b"!", "more than 14,000 bytes"),
        (bytes(50_000_000), "more than 14,000 bytes"),
    ],
)
def test_wrong_files_are_refused(
    known: DataSet, tmp_path: Path, content: bytes, reason: str
) -> None:
    for packing, pack in (("", bytes), (".gz", gzip.compress)):
        target = put(tmp_path / f"d{packing}", packing) / "made_up" / f"a.txt{packing}"
        target.write_bytes(pack(content))
        for reader in (files.read, files.plain_path):
            with pytest.raises(UserError, match=reason):
                reader("made_up", "a.txt", tmp_path / f"d{packing}")
    assert not (tmp_path / "cache" / "data" / "made_up" / "a.txt").exists()


def test_damaged_packing_is_a_sentence(known: DataSet, tmp_path: Path) -> None:
    target = put(tmp_path / "d", ".gz") / "made_up" / "a.txt.gz"
    target.write_bytes(target.read_bytes()[:-20])
    with pytest.raises(UserError, match="damaged"):
        files.read("made_up", "a.txt", tmp_path / "d")


def test_a_damaged_copy_in_the_cache_is_named(known: DataSet, tmp_path: Path) -> None:
    put(tmp_path / "d", ".gz")
    copy = files.plain_path("made_up", "a.txt", tmp_path / "d")
    copy.write_bytes(b"x")
    with pytest.raises(UserError, match=str(copy)):
        files.plain_path("made_up", "a.txt", tmp_path / "d")


def test_git_blob_is_that_of_git(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\n")
    done = subprocess.run(
        ["git", "hash-object", "--no-filters", "a"], cwd=tmp_path, capture_output=True, text=True
    )
    assert files.digest_of(b"one\n", "git_blob") == done.stdout.strip()
    file = DataFile(path="a", digests={"git_blob": done.stdout.strip()})
    assert files.read_checked(file, tmp_path / "a") == b"one\n"
    (tmp_path / "a").write_bytes(bytes(100))
    with pytest.raises(UserError, match="git_blob"):
        files.read_checked(file, tmp_path / "a")
    with pytest.raises(UserError, match="more than 50 bytes"):
        files.read_checked(file, tmp_path / "a", limit=50)


def test_archives_are_unpacked_into_the_cache_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("inside/a.txt", "one")
    digest = hashlib.sha256(buffer.getvalue()).hexdigest()
    file = DataFile(path="sets.zip", size=len(buffer.getvalue()), digests={"sha256": digest})
    owner = DataSet(name="zipped", title="", about="", licence="", home="", files=(file,))
    monkeypatch.setattr("wug.sources.catalog.catalog", lambda: {"zipped": owner})
    (tmp_path / "d" / "zipped").mkdir(parents=True)
    (tmp_path / "d" / "zipped" / "sets.zip").write_bytes(buffer.getvalue())
    folder = files.unpacked_folder("zipped", "sets.zip", tmp_path / "d")
    assert tmp_path / "cache" in folder.parents
    assert (folder / "inside" / "a.txt").read_text() == "one"
    assert files.unpacked_folder("zipped", "sets.zip", tmp_path / "d") == folder


@pytest.mark.data
def test_the_locked_sets_of_slog(shared_data: Path) -> None:
    folder = files.unpacked_folder("slog", "generalization_sets.zip", shared_data)
    text = (folder / "generalization_sets" / "gen_varfreeLF.tsv").read_text(encoding="utf-8")
    # 17 generalisation sets (SLOG, table 1), named in the last column.
    assert len({line.split("\t")[2] for line in text.splitlines()}) == 17


@pytest.mark.data
@pytest.mark.parametrize("name", ["cogs", "feynman", "mnist", "nist", "odebench", "scan", "text"])
def test_the_real_data_sets_are_right(name: str, shared_data: Path) -> None:
    for file in files.data_set(name).files:
        assert files.read(name, file.path, shared_data)
