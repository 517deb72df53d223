"""wug list: what there is, on wide and on narrow terminals."""

import json
from pathlib import Path

import pytest

from wug.cli.main import main
from wug.core import index
from wug.core.costs import costs
from wug.core.folders import results_folder

TABLE = "mistry2022.single_module"


@pytest.mark.parametrize("width", [40, 80, 160])
def test_every_entry_is_there_with_what_it_is(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for kind in ("units", "experiments"):
        assert main(["list", kind]) == 0
        said = capsys.readouterr().out
        assert max(map(len, said.splitlines())) <= width
        words = " ".join(said.split())
        for entry in index.entries(kind.removesuffix("s")):
            assert entry.key in words
            if width == 80:
                assert " ".join(entry.summary.split()) in words


def test_experiments_have_their_cost_and_what_ships(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["list", "experiments"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Single Module Task laptop ~2 min · paper 10 min · ships paper, paper-shared" in said
    assert main(["list", "experiments", "--json"]) == 0
    (entry,) = (e for e in json.loads(capsys.readouterr().out) if e["key"] == TABLE)
    assert entry["cost"]["paper"]["how"] == "measured"
    assert entry["ships"] == ["shipped", "shipped-paper-shared"]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_costs_stand_on_a_line_of_their_own_where_it_is_narrow(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["list", "experiments"]) == 0
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    place = lines.index(f"  {TABLE}  Single Module Task")
    cost = "    laptop ~2 min · paper 10 min · ships paper, paper-shared"
    assert lines[place + 1] == cost
    broken = [line for line in lines if line and not line.startswith("  ")]
    assert broken[0] == "experiments" and broken[1].startswith("Times are processor minutes")


def test_what_ships_has_a_cost() -> None:
    shipped = {path.parent.name for path in results_folder().glob("*/*") if path.is_dir()}
    assert shipped <= costs().keys()
    assert costs().keys() <= {entry.key for entry in index.entries("experiment")}
    assert (Path(str(results_folder())) / TABLE).is_dir()


@pytest.mark.parametrize("width", [30, 60])
def test_tables_fit_narrow_terminals(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["show", f"{TABLE}@shipped"]) == 0
    lines = capsys.readouterr().out.splitlines()
    body = [line for line in lines if line.startswith(("nmu", "nalu", "unit"))]
    assert body and max(map(len, body)) <= width and "…" not in "".join(body)
