"""What an index of packages would have: an sdist, and a wheel that is built from it and works.

Commands run in an empty folder, without the net, on what the wheel holds.
"""

import json
import os
import runpy
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from email.parser import Parser
from importlib.util import find_spec
from pathlib import Path

import pytest

import wug
from wug.records import read_run

ROOT = Path(__file__).parents[1]
MOST_BYTES = 6_000_000
HOME = "https://code.example/wug/wug"
CTL = "csordas2023.ctl@shipped"

pytestmark = pytest.mark.skipif(find_spec("hatchling") is None, reason="hatchling is not installed")

Wug = Callable[..., subprocess.CompletedProcess[str]]


def build(target: str, checkout: Path, folder: Path, **environment: str) -> Path:
    """Build an sdist or a wheel."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    # Our own modules come from the checkout that is built, not from this one.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=checkout, env=inherited | environment, capture_output=True, text=True,
        timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.tar.gz" if target == "sdist" else "*.whl")
    return built


@pytest.fixture(scope="module")
def unpacked_sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of an sdist of this checkout."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(build("sdist", ROOT, folder)) as archive:
        archive.extractall(folder / "files", filter="data")
    (checkout,) = (folder / "files").iterdir()
    return checkout


@pytest.fixture(scope="module")
def wheel(unpacked_sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel that is built from the sdist."""
    return build("wheel", unpacked_sdist, tmp_path_factory.mktemp("wheel"), WUG_HOME="")


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that pip installs the wheel into."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
    done = subprocess.run(
        [*pip, "--target", str(folder), str(wheel)], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def run(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Wug:
    """Runs the command in a folder that was empty before the first test."""
    empty = tmp_path_factory.mktemp("empty")
    # An address where nobody listens: what asks for the net fails at once.
    nowhere = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
    own = {"PYTHONPATH": str(installed), "WUG_CACHE": str(empty / "cache"), "COLUMNS": "100"}

    def command(*args: str, python: bool = False) -> subprocess.CompletedProcess[str]:
        words = ("-c", *args) if python else ("-m", "wug", *args)
        return subprocess.run(
            [sys.executable, *words], cwd=empty, env=os.environ | nowhere | own,
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip

    return command


def test_it_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size < MOST_BYTES


def test_there_is_one_folder_to_import(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as file:
        tops = {name.split("/")[0] for name in file.namelist()}
    assert tops == {"wug", f"wug-{wug.__version__}.dist-info"}


def test_every_file_of_the_package_is_there(installed: Path) -> None:
    package = ROOT / "src" / "wug"
    ours = {
        path.relative_to(package)
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    theirs = {
        path.relative_to(installed / "wug")
        for path in (installed / "wug").rglob("*.*")
        if "__pycache__" not in path.parts
    }
    assert ours - theirs == set()
    assert {path for path in theirs - ours if path.parts[0] != "_shipped"} == set()


def test_results_ship_without_curves_and_with_one_network_per_cell(installed: Path) -> None:
    shipped = installed / "wug" / "_shipped"
    experiments = {path.name for path in (ROOT / "results").iterdir() if path.is_dir()}
    assert {path.name for path in shipped.iterdir()} == {*experiments, "files.json"}
    assert not list(shipped.rglob("traces"))
    for manifest in shipped.glob("*/*/run.json"):
        whole = read_run(ROOT / "results" / manifest.parent.relative_to(shipped))
        slim = {record.identity: record for record in read_run(manifest.parent).records()}
        assert slim.keys() == {record.identity for record in whole.records()}
        for record in whole.records():
            mine = slim[record.identity]
            assert mine.curves == {} and mine.outcome["solved"] == record.outcome["solved"]
        labels = [path.stem.rsplit("-", 1)[0] for path in manifest.parent.glob("models/*")]
        full = {path.stem.rsplit("-", 1)[0] for path in whole.folder.glob("models/*")}
        trial = "-" in whole.folder.name  # of which networks don't ship
        assert len(labels) == len(set(labels)) and set(labels) == (set() if trial else full)


def test_without_an_address_no_picture_leads_nowhere(installed: Path, wheel: Path) -> None:
    (file,) = installed.glob("*.dist-info/METADATA")
    metadata = Parser().parsestr(file.read_text(encoding="utf-8"))
    assert metadata["License-Expression"] == "MIT" and metadata.get_all("Classifier")
    assert "Operating System :: POSIX :: Linux" in metadata.get_all("Classifier", [])
    assert "![" not in metadata.get_payload()
    assert metadata.get_all("Project-URL") is None


def test_with_an_address_everything_leads_there(unpacked_sdist: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(build("wheel", unpacked_sdist, tmp_path, WUG_HOME=HOME)) as file:
        (name,) = (name for name in file.namelist() if name.endswith("METADATA"))
        metadata = Parser().parsestr(file.read(name).decode())
        assert json.loads(file.read("wug/_shipped/files.json"))["home"] == HOME
    assert f"Homepage, {HOME}" in metadata.get_all("Project-URL", [])
    text = metadata.get_payload()
    assert f"]({HOME}/raw/main/docs/assets/single_module.svg)" in text
    assert f"]({HOME}/blob/main/CONTRIBUTING.md)" in text
    assert "](docs/" not in text


@pytest.mark.parametrize(
    ("origin", "address"),
    [
        ("https://github.com/owner/wug.git", "https://github.com/owner/wug"),
        ("https://me:secret@gitlab.com/group/part/wug", "https://gitlab.com/group/part/wug"),
        ("git@github.com:owner/wug.git", "https://github.com/owner/wug"),
        ("ssh://git@github.com/owner/wug.git", "https://github.com/owner/wug"),
        ("https://code.example/wug.git", ""), ("/home/github.com/wug", ""), ("../wug", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_a_clone_knows_where_it_is_from(
    origin: str, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WUG_HOME", raising=False)
    hooks = runpy.run_path(str(ROOT / "hatch_build.py"))
    assert hooks["public_address"](origin) == address
    (tmp_path / "PKG-INFO").write_text(f"Name: wug\nProject-URL: Homepage, {HOME}\n")
    assert hooks["home_of"](tmp_path) == HOME  # a wheel of an sdist says what the sdist said
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    assert hooks["home_of"](tmp_path) == ""
    subprocess.run([*git, "remote", "add", "origin", origin or "."], check=True)
    assert hooks["home_of"](tmp_path) == address
    monkeypatch.setenv("WUG_HOME", "")
    assert hooks["home_of"](tmp_path) == ""


def test_try(run: Wug) -> None:
    done = run("try", "--no-open")
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stdout.split())
    assert "period = distance**(3/2)/sqrt(mass) (exact)" in told
    assert "it has 100 right" in told and "wug-try/index.html" in told


def test_show_report_and_load(run: Wug) -> None:
    done = run("show", "mistry2022.single_module@shipped")
    assert done.returncode == 0, done.stderr
    assert "207 of 207 success rates agree" in done.stdout
    done = run("report", "--out", "site")
    assert done.returncode == 0, done.stderr
    assert "left out" not in done.stdout
    code = f"import wug; print(type(wug.load('{CTL}/ndr:backward')).__name__, wug.results('{CTL}'))"
    done = run(code, python=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("NDR ")


def test_fit_and_card(run: Wug) -> None:
    rows = "\n".join(f"{a},{b},{a * b}" for a in range(1, 9) for b in (2, 3, 5))
    code = f"open('table.csv', 'w').write('a,b,y\\n' + {rows!r})"
    assert run(code, python=True).returncode == 0
    done = run("fit", "table.csv", "--target", "y", "--time", "10")
    assert done.returncode == 0, done.stderr
    assert "a*b" in done.stdout
    done = run("card", "lstm", "--tasks", "ctl", "--minutes", "0.05", "--least-steps", "1")
    assert done.returncode == 0, done.stderr
    assert "chance" in done.stdout


def test_results_in_full_are_got_from_a_checkout_and_used(run: Wug) -> None:
    done = run("data", "get", "results")
    assert done.returncode == 2 and "--from FOLDER" in done.stderr
    done = run("data", "get", "results", "--from", str(ROOT))
    assert done.returncode == 0, done.stdout + done.stderr
    code = f"import wug; print(len(wug.results('{CTL}').records[0].curves['step']) > 1)"
    assert run(code, python=True).stdout == "True\n"
    assert "are here already" in run("data", "get", "results").stdout
    assert "results: in full" in run("data", "list").stdout
