"""wug data as a person meets it."""

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from range_server import Web, serve_files

from wug.cli.main import main
from wug.sources import files
from wug.sources.catalog import data_set


@pytest.fixture(autouse=True)
def no_folders_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WUG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("WUG_DATA", raising=False)
    monkeypatch.setattr(files, "package_files", lambda name: tmp_path / "lib" / "site" / name)


@pytest.fixture
def web() -> Iterator[Web]:
    with serve_files() as served:
        yield served


@pytest.fixture
def feynman() -> bytes:
    """The smallest data set of one file."""
    folder = Path(__file__).parents[3] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the data sets (../shared/data) are not here")
    return (folder / "feynman" / "FeynmanEquations.csv").read_bytes()


def test_list_says_what_is_missing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["data", "list"]) == 0
    out = capsys.readouterr().out
    assert "scan" in out and "0 of 23 files" in out and "github.com/brendenlake/SCAN" in out
    assert "cfq" in out and "google-research" in out and "Yours to supply: unpack" in out
    assert "deepmind/mathematics_dataset" in out
    assert "found in: no folder" in out and str(tmp_path / "cache" / "data") in out


def test_list_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "list", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["scan"]["licence"] == "BSD" and rows["scan"]["found"]["tasks.txt"] == ""
    assert rows["cfq"]["supplied"] and rows["cfq"]["found"] == []


def test_get_from_a_folder_then_check(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, feynman: bytes
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "equations.csv").write_bytes(feynman)
    assert main(["data", "check", "feynman"]) == 1
    assert "feynman/FeynmanEquations.csv is missing" in capsys.readouterr().out
    assert main(["data", "get", "feynman", "--from", str(tmp_path / "mine")]) == 0
    assert "1 new, 1 of 1 files" in capsys.readouterr().out
    assert main(["data", "check", "feynman"]) == 0
    assert main(["data", "get", "feynman"]) == 0
    assert "is here already" in capsys.readouterr().out
    copy = tmp_path / "cache" / "data" / "feynman" / "FeynmanEquations.csv"
    copy.write_bytes(feynman.replace(b"1", b"2"))
    assert main(["data", "check"]) == 1
    out = capsys.readouterr().out
    assert "wrong:" in out and "sha256" in out and "scan" not in out
    assert main(["data", "get", "feynman", "--from", str(tmp_path / "mine")]) == 0
    assert copy.read_bytes() == feynman


def test_get_from_an_address_goes_on_after_a_break(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, feynman: bytes, web: Web
) -> None:
    args = ["data", "get", "feynman", "--from", web.address, "--to", str(tmp_path / "d")]
    web.files["/feynman/FeynmanEquations.csv"] = feynman
    web.breaks["/feynman/FeynmanEquations.csv"] = 5000
    assert main(args) == 1
    error = capsys.readouterr().err
    assert "broke off" in error and error.count("\n") == 1
    assert main(args) == 0
    assert web.asked[-1][1] == "bytes=5000-"
    assert (tmp_path / "d" / "feynman" / "FeynmanEquations.csv").read_bytes() == feynman


def test_get_refuses_a_wrong_checksum(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, web: Web
) -> None:
    size = data_set("feynman").files[0].size
    web.files["/FeynmanEquations.csv.gz"] = gzip.compress(bytes(size))
    args = ["data", "get", "feynman", "--from", web.address, "--to", str(tmp_path / "d")]
    assert main(args) == 1
    assert "its sha256 is not" in capsys.readouterr().err
    assert not [path for path in (tmp_path / "d").rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("get",), "name a data set"),
        (("get", "scam"), "did you mean scan"),
        (("get", "mnist"), "no address is known for mnist/"),
        (("get", "scan", "--from", "nowhere"), "nowhere is no folder and no archive"),
        (("get", "scan", "--limit", "-1"), "--limit must be at least 0"),
        (("check", "scam"), "did you mean scan"),
    ],
)
def test_bad_input_is_one_sentence_and_code_2(
    args: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", *args]) == 2
    error = capsys.readouterr().err
    assert sentence in error and error.count("\n") == 1


def test_what_a_source_lacks_is_code_1(capsys: pytest.CaptureFixture[str], web: Web) -> None:
    assert main(["data", "get", "feynman", "--from", web.address]) == 1
    assert "not found: FeynmanEquations.csv" in capsys.readouterr().out


@pytest.mark.parametrize("args", [("list",), ("check", "feynman")])
def test_answers_without_torch_and_numpy(args: tuple[str, ...], tmp_path: Path) -> None:
    script = (
        "import sys\nfrom wug.cli.main import main\nmain(sys.argv[1:])\n"
        "print(*{'torch', 'numpy', 'scipy'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "data", *args],
        cwd=tmp_path, capture_output=True, text=True, timeout=400,
    )  # fmt: skip
    assert (done.returncode, done.stderr.strip()) == (0, "")
    assert "feynman" in done.stdout
