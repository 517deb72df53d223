"""The command line as a person meets it: answers, exit codes, no torch where none is needed."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from interrupts import heed_interrupts

from wug import __version__
from wug.cli.main import main
from wug.records import read_run

EXPERIMENT = "mistry2022.single_module"


def wug(*args: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "wug", *args],
        cwd=cwd, capture_output=True, text=True, timeout=300,
        env={**os.environ, "COLUMNS": "100", **env},
    )  # fmt: skip


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished smoke run of two rows on two ranges; the folder's parents are the run's place."""
    place = tmp_path_factory.mktemp("smoke")
    args = ("--scale", "smoke", "--only", "nau:add", "nmu", "--ranges", "[1,2)", "[10,20)")
    done = wug("run", EXPERIMENT, *args, cwd=place)
    assert done.returncode == 0, done.stderr
    assert "8 to go" in done.stdout
    assert "ours/published" in done.stdout
    assert "runs/mistry2022.single_module/smoke" in done.stdout
    return place / "runs" / EXPERIMENT / "smoke"


def test_run_resumes_and_never_repeats(smoke: Path) -> None:
    place = smoke.parents[2]
    before = {path: path.read_bytes() for path in (smoke / "records").iterdir()}
    again = wug("run", EXPERIMENT, "--scale", "smoke", "--only", "nau:add", "nmu",
                "--ranges", "[1,2)", "[10,20)", cwd=place)  # fmt: skip
    assert again.returncode == 0
    assert "8 of 8 are there, 0 to go" in again.stdout
    assert {path: path.read_bytes() for path in (smoke / "records").iterdir()} == before


def test_more_seeds_add_only_the_new_ones(smoke: Path, tmp_path: Path) -> None:
    args = ("--scale", "smoke", "--only", "nau:add", "--ranges", "[1,2)", "--out", "r")
    assert wug("run", EXPERIMENT, *args, "--seeds", "1", cwd=tmp_path).returncode == 0
    more = wug("run", EXPERIMENT, *args, "--seeds", "3", cwd=tmp_path)
    assert "1 of 3 are there, 2 to go" in more.stdout
    shared = {r.identity: r.outcome for r in read_run(smoke).records()}
    for record in read_run(tmp_path / "r").records():
        if record.identity in shared:
            assert record.outcome == shared[record.identity]


def test_records_say_everything(smoke: Path) -> None:
    records = list(read_run(smoke).records())
    assert len(records) == 8
    for record in records:
        assert record.config["streams"] == "shared"
        assert set(record.curves) == {"step", "validation", "test", "sparsity"}
        assert len(record.curves["step"]) == 3
        assert {"torch", "numpy", "python", "wug"} <= set(record.versions)
        assert record.outcome["status"] in ("solved", "unsolved", "diverged")


def test_custom_range(tmp_path: Path) -> None:
    done = wug("run", EXPERIMENT, "--scale", "smoke", "--only", "nmu", "--seeds", "1",
               "--ranges", "[3,4)>[4,8)", "--out", "r", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    (record,) = read_run(tmp_path / "r").records()
    assert record.config["test"] == [[4.0, 8.0]]


def test_a_unit_of_ones_own_stands_beside_the_published_ones(tmp_path: Path) -> None:
    unit = f"{Path(__file__).parents[2] / 'examples' / 'my_unit.py'}:Powers"
    done = wug("run", EXPERIMENT, "--scale", "smoke", "--unit", unit, "--only", "powers:mul",
               "--ranges", "[1,2)", "--out", "r", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["nmu", "/100"] in lines  # the paper's, which was not trained here
    assert "powers on mul: place " in done.stdout and "of 8" in done.stdout
    assert f"--unit {unit}" in read_run(tmp_path / "r").catalog()["command"]


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("run", "mistry2022.single_modul"), "did you mean mistry2022.single_module"),
        (("run", EXPERIMENT, "--seeds", "0"), "seeds must be at least 1; got 0"),
        (("run", EXPERIMENT, "--ranges", "[2,1)"), "the lower end must be below the upper"),
        (("run", EXPERIMENT, "--ranges", "[3,4)"), "Or give both"),
        (("run", EXPERIMENT, "--only", "naau"), "did you mean nau"),
        (("run", EXPERIMENT, "--only", "nau:mul"), "nau is trained on add, sub"),
        (("run", EXPERIMENT, "--workers", "0"), "workers must be at least 1"),
        (("run", EXPERIMENT, "--device", "warp"), "device 'warp' can't be used here"),
        (("show", "nowhere"), "unknown experiment 'nowhere'"),
        (("cite", "nmuu"), "did you mean nmu"),
    ],
)
def test_bad_input_is_one_sentence_and_code_2(
    args: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(list(args)) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


def test_folder_of_another_config(smoke: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", EXPERIMENT, "--scale", "laptop", "--out", str(smoke)]) == 2
    error = capsys.readouterr().err
    assert "steps" in error and "2000" in error and "--fresh" in error


def test_unknown_option_is_code_2(tmp_path: Path) -> None:
    done = wug("run", EXPERIMENT, "--sedes", "3", cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_corrupt_record_is_named_set_aside_and_run_again(smoke: Path, tmp_path: Path) -> None:
    args = ("--scale", "smoke", "--only", "nmu", "--ranges", "[1,2)", "[10,20)", "--out", "r")
    shutil.copytree(smoke, tmp_path / "r")
    whole = {r.identity: r.outcome for r in read_run(tmp_path / "r").records()}
    (segment,) = (tmp_path / "r" / "records").glob("*-nmu-*")
    data = bytearray(segment.read_bytes())
    data[-40] ^= 1
    segment.write_bytes(bytes(data))
    again = wug("run", EXPERIMENT, *args, cwd=tmp_path)
    assert again.returncode == 0
    assert "set aside, to be run again" in again.stdout
    assert "3 of 4 are there, 1 to go" in again.stdout
    assert {r.identity: r.outcome for r in read_run(tmp_path / "r").records()} == whole


def test_full_disk_is_code_1_and_loses_nothing(smoke: Path, tmp_path: Path) -> None:
    args = ("--scale", "smoke", "--only", "nmu", "--ranges", "[1,2)", "--out", "r")
    shutil.copytree(smoke, tmp_path / "r")
    before = {r.identity for r in read_run(tmp_path / "r").records()}
    # A limit on the size of files stands in for a disk that is full; programs stay uncompiled.
    script = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000));"
        "from wug.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    full = subprocess.run(
        [sys.executable, "-B", "-c", script, "run", EXPERIMENT, *args, "--seeds", "9"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert full.returncode == 1, full.stdout + full.stderr
    assert "Traceback" not in full.stderr
    assert {r.identity for r in read_run(tmp_path / "r").records()} == before


def test_interrupt_is_code_130_and_can_go_on(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "wug", "run", EXPERIMENT, "--only", "nau",
               "--compile", "off", "--out", "r"]  # fmt: skip
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=heed_interrupts,
    ) as process:  # fmt: skip
        deadline = time.monotonic() + 400
        while not list(tmp_path.glob("r/progress/*")) and time.monotonic() < deadline:
            time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "goes on where it stopped" in error


@pytest.mark.parametrize(
    "args",
    [
        ("--help",),
        ("run", "--help"),
        ("list",),
        ("list", "units"),
        ("list", "experiments"),
        ("_complete", "run", ""),
        ("export", "RUN", "records.csv"),
        ("cite", "nmu", "inalu"),
        ("completion", "bash"),
        ("show", "RUN"),
        ("show", "RUN", "--json"),
        ("show", "RUN", "--latex"),
        ("show", "RUN", "--csv"),
    ],
)
def test_answers_without_torch(args: tuple[str, ...], smoke: Path, tmp_path: Path) -> None:
    words = [str(smoke) if word == "RUN" else word for word in args]
    script = (
        "import sys\nfrom wug.cli.main import main\n"
        "try:\n    code = main(sys.argv[1:])\nexcept SystemExit as stop:\n    code = stop.code\n"
        "print('torch' in sys.modules, file=sys.stderr)\nsys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *words], capture_output=True, text=True, timeout=400,
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stderr.strip().splitlines()[-1] == "False"
    assert done.stdout.strip()


@pytest.mark.parametrize(
    "args", [("--help",), ("--version",), ("fit", "--help"), ("list",), ("completion", "bash")]
)
def test_starts_without_the_libraries_that_compute(args: tuple[str, ...]) -> None:
    script = (
        "import sys\nfrom wug.cli.main import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "heavy = {'torch', 'scipy', 'numpy', 'sympy', 'sklearn'}\n"
        "print(*heavy & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *args], capture_output=True, text=True, timeout=400
    )
    assert (done.returncode, done.stderr.strip()) == (0, "")
    assert "wug" in done.stdout or args == ("list",)


@pytest.mark.parametrize(("args", "most"), [(("--help",), 0.5), (("try", "--no-open"), 15.0)])
def test_processor_time(args: tuple[str, ...], most: float, tmp_path: Path) -> None:
    seconds = []
    while len(seconds) < 3 and not min(seconds, default=most) < most:  # caches may be cold
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert wug(*args, cwd=tmp_path).returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    assert min(seconds) < most


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"wug {__version__}\n"


def test_show_formats(smoke: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["show", str(smoke), "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert {cell["trials"] for cell in cells if cell["trials"]} == {2}
    assert main(["show", str(smoke), "--csv"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.startswith("unit,operation,column,successes,trials")
    assert len(lines) == len(cells)
    assert main(["show", str(smoke), "--latex"]) == 0
    assert r"\begin{tabular}" in capsys.readouterr().out
    assert main(["show", str(smoke), "--claims"]) == 0
    assert "undecided" in capsys.readouterr().out
    assert main(["show", str(smoke), "--svg", str(tmp_path / "picture.svg")]) == 0
    assert (tmp_path / "picture.svg").read_text().startswith("<svg")


def test_cite_prints_each_entry_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cite", "nau", "nmu"]) == 0
    assert capsys.readouterr().out.count("@inproceedings{madsen2020") == 1


def test_completion_knows_the_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    assert "complete -F _wug wug" in script
