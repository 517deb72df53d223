"""One grammar for the names of results."""

import os
from pathlib import Path

import pytest

from wug.core.errors import UserError
from wug.core.folders import run_folder
from wug.core.result_names import ResultName, find_results, introduce
from wug.records import RunStore

EXPERIMENT = "mistry2022.single_module"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("csordas2023.ctl", ResultName(experiment="csordas2023.ctl")),
        ("csordas2023.ctl@shipped", ResultName(experiment="csordas2023.ctl", run="shipped")),
        ("a.b/ndr", ResultName(experiment="a.b", row=("ndr",))),
        ("a.b/ndr:backward", ResultName(experiment="a.b", row=("ndr",), column="backward")),
        (
            "a.b@laptop/nau:add:[1,2)#7",
            ResultName(experiment="a.b", run="laptop", row=("nau", "add"), column="[1,2)", seed=7),
        ),
    ],
)
def test_names_are_taken_apart(text, expected):
    assert ResultName.parse(text) == expected


@pytest.mark.parametrize("text", ["", "@run", "a.b#3", "a.b/x#y", "a@"])
def test_what_is_no_name(text):
    with pytest.raises(UserError, match="names no results"):
        ResultName.parse(text)


def test_folders():
    folder = ResultName.parse("mistry2022.single_module@shipped").folder()
    assert (folder / "run.json").is_file()
    with pytest.raises(UserError, match="has no run 'nowhere'"):
        ResultName.parse("mistry2022.single_module@nowhere").folder()


def test_a_run_of_an_unknown_experiment_names_the_nearest():
    with pytest.raises(UserError, match="unknown experiment 'single_module'; did you mean mistry"):
        ResultName.parse("single_module@shipped").folder()


def own_run(scale, age=0):
    folder = run_folder(EXPERIMENT, scale, None)
    RunStore.open(folder, EXPERIMENT, {"steps": age})
    os.utime(folder / "run.json", (age, age))
    return folder


def test_shipped_results_and_own_runs_never_share_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shipped = find_results(f"{EXPERIMENT}@shipped")
    assert find_results(f"{EXPERIMENT}@shipped-paper") == shipped
    assert find_results(f"{EXPERIMENT}@shipped-paper-shared").name == "paper-shared"
    with pytest.raises(UserError, match="there are @shipped, @shipped-paper-shared"):
        find_results(f"{EXPERIMENT}@paper")
    assert find_results(f"{EXPERIMENT}@paper" if own_run("paper") else "") != shipped
    assert find_results(f"{EXPERIMENT}@shipped") == shipped


def test_a_bare_name_is_the_latest_run_that_is_more_than_smoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def said(name=EXPERIMENT):
        return introduce(name, find_results(name))

    assert said() == f"{EXPERIMENT}@shipped: our results, which ship with wug."
    own_run("smoke", 9)
    assert said() == (
        f"{EXPERIMENT}@shipped: our results, which ship with wug; there is also @smoke."
    )
    assert "only checks the plumbing" in said(f"{EXPERIMENT}@smoke")
    own_run("laptop", 2)
    assert said() == f"{EXPERIMENT}@laptop: your run; there is also @shipped."
    own_run("paper", 10)
    assert said() == f"{EXPERIMENT}@paper: your latest run; there is also @shipped."
    assert said(str(Path("runs") / EXPERIMENT / "laptop")) == ""
