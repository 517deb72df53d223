"""Every command in README and docs runs as it stands, or is in one list with the reason why not."""

import re
import shlex
import shutil
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from wug.cli import main as module
from wug.cli.main import VERBS, main
from wug.core.folders import results_folder

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    ROOT / "README.md", ROOT / "CONTRIBUTING.md",
    *sorted(path for path in (ROOT / "docs").rglob("*.md")
            if "example" not in path.relative_to(ROOT).parts),
]  # fmt: skip
BLOCK = re.compile(r"^ *```sh[^\n]*\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
LONG, NETWORK, RECURSION = "takes longer than a minute", "needs the net", "runs these tests itself"
SERVES = "serves until it is ended; tests/cli/test_serve.py asks a server"
# Beginning of a command -> why it does not run here. What is a command of ours must still parse.
NOT_RUN = {
    "make run": LONG,
    "make test": RECURSION,
    "make test-slow": RECURSION,
    "make docs": "tests/docs/test_docs.py builds the site",
    "make index": "tests/core/test_index.py compares it",
    "WUG_HOME=": "tests/test_wheel.py builds it",
    "pip install": NETWORK,
    "wug serve": SERVES,
    "wug lm train": LONG,
    "wug lm generate": "needs a network of wug lm train; tests/cli/test_lm.py has a small one",
    "wug report runs/lm/notes": "needs a run of wug lm train",
    "wug data get": NETWORK,
    "wug run csordas2023.ctl --scale laptop": LONG,
    "wug run csordas2023.ctl --model": f"{LONG}; tests/study/test_own_network.py has a small one",
    "wug run csordas2023.scan_length": LONG,
    "wug run csordas2023.cogs": LONG,
    "wug run csordas2023.dnc_copy": LONG,
    "wug run wug.memory": LONG,
    "wug run mistry2022.single_module --only nmu npu:mul": LONG,
    "wug run mistry2022.single_module --scale paper": LONG,
    "wug run mistry2022.single_module --unit": f"{LONG}; tests/cli/test_cli.py has a small one",
    "wug run mistry2022.single_module --on": f"{LONG}; tests/training/test_ray_crew.py runs it",
    "wug run csordas2023.ctl --scale paper --on": "needs a cluster with GPUs",
    "python -m venv generator": NETWORK,
    "generator/bin/": NETWORK,
    "torchrun": "needs several processes; tests/training/test_ranks.py starts them",
    "wug card": f"{LONG}; tests/cli/test_card.py has small ones",
    "wug show runs/card": "needs a card",
}
MODEL = "from torch import nn\nclass MyWriter(nn.Module):\n    pass\n"


def commands_of(path: Path) -> list[str]:
    """Return the commands of a document, without what is said about them."""
    blocks = BLOCK.findall(path.read_text(encoding="utf-8"))
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    words = (shlex.split(line, comments=True) for line in lines)
    return [shlex.join(some) for some in words if some]


def reason_against(command: str) -> str | None:
    """Return why a command does not run here; the longest beginning decides."""
    fitting = [start for start in NOT_RUN if command.startswith(start)]
    return NOT_RUN[max(fitting, key=len)] if fitting else None


COMMANDS: dict[str, Path] = {}
for document in DOCUMENTS:
    for one in commands_of(document):
        COMMANDS.setdefault(one, document)
RUN = [
    path for path in DOCUMENTS
    if any(where == path and reason_against(one) is None for one, where in COMMANDS.items())
]  # fmt: skip


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that documents speak of."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("webbrowser.open", lambda address: True)
    shutil.copytree(ROOT / "examples", "examples")
    rows = "\n".join(f"{t / 10},{9.81 / 2 * (t / 10) ** 2}" for t in range(1, 40))
    for name in ("falls.csv", "more.csv"):
        Path(name).write_text(f"t,y\n{rows}\n", encoding="utf-8")
    Path("my_model.py").write_text(MODEL, encoding="utf-8")
    return tmp_path


def prepared(path: Path) -> None:
    """Run what a document does before its first command: scripts that write its tables."""
    text = path.read_text(encoding="utf-8")
    for name, script in re.findall(r'^```python title="(\w+\.py)"\n(.*?)^```', text, re.S | re.M):
        if name == "nuclei.py":
            exec(compile(script, name, "exec"), {"__name__": "__main__"})
    if path.name == "report.md":
        for run in ("mine", "mistry2022.single_module"):
            table = results_folder() / "mistry2022.single_module" / "paper"
            shutil.copytree(table, Path("runs") / run / "paper")
        assert main(["fit", "falls.csv", "--target", "y", "--time", "5"]) == 0


@pytest.mark.parametrize("path", RUN, ids=lambda path: path.name)
def test_the_commands_of_a_document_run(path: Path, place: Path) -> None:
    prepared(path)
    for command in (one for one, where in COMMANDS.items() if where == path):
        if reason_against(command) is None:
            program, *words = shlex.split(command)
            assert program == "wug", f"{command}: who runs this?"
            assert main(words) == 0, command


@pytest.mark.parametrize("command", [one for one in COMMANDS if reason_against(one)])
def test_what_does_not_run_is_a_command_all_the_same(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, *words = shlex.split(command)
    if program == "make":
        assert f"\n{words[0]}:" in (ROOT / "Makefile").read_text(encoding="utf-8")
    if program != "wug":
        return

    def parsed(verb: Callable[..., Any]) -> Callable[..., None]:
        @wraps(verb)
        def nothing(*args: object, **kwargs: object) -> None:
            pass

        return nothing

    if words[0] in ("lm", "data"):
        pytest.skip("its verbs are parsed where they are run")
    monkeypatch.setattr(module, "VERBS", {name: parsed(verb) for name, verb in VERBS.items()})
    assert main(words) == 0


def test_no_reason_is_left_over() -> None:
    used = {start for start in NOT_RUN for command in COMMANDS if command.startswith(start)}
    assert set(NOT_RUN) - used == set()
