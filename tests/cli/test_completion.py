"""Completion: what may come next, and scripts that shells can read."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from wug.cli.completion import CARD_TASKS, SCRIPTS, candidates
from wug.cli.main import VERBS, main
from wug.core.folders import run_folder
from wug.records import RunStore

TABLE = "mistry2022.single_module"
RANGE = r"\[1.1\,1.2\)"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for name in ("my.py", "data.csv", ".hidden"):
        (tmp_path / name).touch()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", set(VERBS)),
        ("sh", {"show"}),
        ("run mistry2022.s", {TABLE}),
        (f"run {TABLE} --only nm", {"nmu", "nmu:mul"}),
        (f"run {TABLE} --only nau nmu:", {"nmu:mul"}),
        (f"run {TABLE} --ranges [1.", {"[1.1,1.2)"}),
        (f"run {TABLE} --like np", {"npu"}),
        (f"run {TABLE} --add-to {TABLE[:-3]}", {TABLE}),
        (f"run {TABLE} --scale ", {"smoke", "laptop", "paper"}),
        (f"run {TABLE} --sc", {"--scale"}),
        (f"run {TABLE} --scale smoke --sc", set()),
        (f"run {TABLE} --unit ", {"folder/", "my.py"}),
        (f"show {TABLE}@", {f"{TABLE}@shipped", f"{TABLE}@shipped-paper-shared"}),
        ("show --measure solved_at", {"solved_at", "solved_at_median"}),
        ("card nd", {"ndr"}),
        ("card ndr --tasks ctl", {"ctl", "ctlpp_a", "ctlpp_r"}),
        ("data ", {"list", "check", "get"}),
        ("data get sc", {"scan"}),
        ("data get scan --fr", {"--from"}),
        ("data get scan --from f", {"folder/"}),
        ("lm train --lay", {"--layer", "--layers"}),
        ("list un", {"units"}),
        ("cite nmu", {"nmu"}),
        ("fit d", {"data.csv"}),
        ("fit data.csv ", set()),
        ("completion ", {"bash", "zsh", "fish"}),
        ("nothing ", set()),
    ],
)
def test_what_may_come_next(line: str, expected: set[str]) -> None:
    assert set(candidates(VERBS, line.split(" "))) == expected


def test_own_runs_are_known() -> None:
    RunStore.open(run_folder(TABLE, "laptop", None), TABLE, {})
    assert f"{TABLE}@laptop" in candidates(VERBS, ["show", f"{TABLE}@l"])


def test_every_verb_can_be_completed() -> None:
    for verb in VERBS:
        candidates(VERBS, [verb, "-"])
        candidates(VERBS, [verb, ""])


def test_the_tasks_of_a_card_are_those_that_it_has() -> None:
    from wug.study.card import COLUMNS

    assert tuple(COLUMNS) == CARD_TASKS


@pytest.mark.parametrize("shell", SCRIPTS)
def test_shells_can_read_their_scripts(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    script = tmp_path / "script"
    script.write_text(capsys.readouterr().out, encoding="utf-8")
    if (found := shutil.which(shell)) is None:
        pytest.skip(f"there is no {shell} here")
    assert subprocess.run([found, "-n", str(script)], timeout=400).returncode == 0


def found(shell: str) -> str:
    """Return where a shell is; without it there is nothing to test."""
    if (path := shutil.which(shell)) is None:
        pytest.skip(f"there is no {shell} here: apt-get install {shell}")
    return path


def with_wug(folder: Path) -> dict[str, str]:
    """Return an environment where wug is a command."""
    command = folder / "bin" / "wug"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m wug "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return os.environ | {"PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.parametrize(
    ("line", "words", "expected"),
    [
        ("wug sho", ["wug", "sho"], "show"),
        # Bash takes words apart at colons.
        (f"wug run {TABLE} --only nmu:m", ["wug", "run", TABLE, "--only", "nmu", ":", "m"], "mul"),
        (
            f"wug run {TABLE} --ranges [1.",
            ["wug", "run", TABLE, "--ranges", "[1."],
            r"\[1.1\,1.2\)",
        ),
        ("wug fit fold", ["wug", "fit", "fold"], "folder/"),
    ],
)
def test_bash_completes(line: str, words: list[str], expected: str, tmp_path: Path) -> None:
    bash = found("bash")
    given = " ".join(f"'{word}'" for word in words)
    script = (
        f"{SCRIPTS['bash']}compopt() {{ :; }}\nCOMP_LINE='{line}' COMP_POINT={len(line)} "
        f'COMP_WORDS=({given}) COMP_CWORD={len(words) - 1}\n_wug\necho "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(
        [bash, "-c", script], capture_output=True, text=True, timeout=400, env=with_wug(tmp_path)
    )
    assert done.stdout.strip() == expected, done.stderr


QUOTED = [
    ("wug sho", "show "),
    (f"wug run {TABLE} --only nmu:m", "nmu:mul "),
    (f'wug run {TABLE} --ranges "[1.', '"[1.1,1.2)" '),
    (f"wug run {TABLE} --ranges \\[1.", "\\[1.1,1.2\\) "),
    (f"wug show {TABLE}@shipped-", f"{TABLE}@shipped-paper-shared "),
    ("wug fit fold", "folder/"),
]


def test_fish_completes(tmp_path: Path) -> None:
    fish = found("fish")
    asked = "".join(f"complete -C '{line}'\necho\n" for line, _ in QUOTED)
    done = subprocess.run(
        [fish, "--no-config", "-c", SCRIPTS["fish"] + asked], capture_output=True, text=True,
        timeout=400, env=with_wug(tmp_path),
    )  # fmt: skip
    # Fish itself quotes what it puts into the line.
    plain = [expected.strip(' "').replace("\\", "") for _, expected in QUOTED]
    assert done.stdout.split() == plain, done.stderr


def test_zsh_completes(tmp_path: Path) -> None:
    """In a terminal, as zsh completes nowhere else: what is typed, a tab, and what stands there."""
    zsh, environment = found("zsh"), with_wug(tmp_path)
    (tmp_path / "script").write_text(SCRIPTS["zsh"], encoding="utf-8")
    process, terminal = pty.fork()
    if not process:
        os.execve(zsh, [zsh, "-f", "-i"], environment | {"TERM": "dumb"})

    def say(text: str, until: str) -> str:
        os.write(terminal, text.encode())
        seen, end = "", time.monotonic() + 200
        while until not in seen and time.monotonic() < end:
            if select.select([terminal], [], [], 0.1)[0]:
                seen += os.read(terminal, 4096).decode(errors="replace").replace("\a", "")
        return seen

    try:
        begin = f"autoload -U compinit; compinit -u -d {tmp_path}/dump; source script; PS1='=> '\n"
        say(begin, "=> ")
        for line, expected in QUOTED:
            whole = line.rpartition(" ")[0] + " " + expected
            assert whole in say(f"{line}\t", whole)
            say("\x15\n", "=> ")  # an empty line
    finally:
        os.write(terminal, b"\x15exit\n")
        os.waitpid(process, 0)
        os.close(terminal)
