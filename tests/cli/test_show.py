"""wug show on records and catalogs that are not of their form."""

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from wug.cli.main import main
from wug.core.folders import results_folder
from wug.core.result_names import find_results
from wug.records import Record, RunStore, read_run
from wug.report.claims import claim_item
from wug.report.run_source import read_source
from wug.stats.comparison_table import make_table

FORMATS = ((), ("--json",), ("--csv",), ("--latex",), ("--markdown",), ("--claims",))
ODD: tuple[dict[str, Any], ...] = (
    {"error": 1.0},
    {"solved": "perhaps"},
    {"solved": True},
    {"solved": True, "solved_at": "soon"},
    {"solved": False, "test_error": 10**400},
)


def record(seed: int, outcome: dict[str, Any], **changes: Any) -> Record:
    fields = {
        "experiment": "demo", "key": {"unit": "nau", "range": "a", "seed": seed}, "config": {},
        "seed": seed, "outcome": outcome, **changes,
    }  # fmt: skip
    return Record(**fields)


@pytest.fixture
def run(tmp_path: Path) -> RunStore:
    store = RunStore.open(tmp_path / "run", "demo", {})
    store.append("x", [record(0, {"solved": True, "solved_at": 100}), record(1, {"solved": False})])
    return store


@pytest.mark.parametrize("form", FORMATS)
def test_odd_records_are_left_out_and_named(
    run: RunStore, form: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    run.append("x", [record(place + 2, outcome) for place, outcome in enumerate(ODD)])
    run.append("x", [record(9, {"rows": []}, kind="table")])
    for arguments in ((), ("--against", str(run.folder))):
        assert main(["show", str(run.folder), *form, *arguments]) == 0
        said = capsys.readouterr()
        assert "2 records: its outcome does not say whether it was solved" in said.err
        assert "1 records: it is solved, and does not say when" in said.err
        assert "1 records: it is solved, and its solved_at is no number" in said.err
        if form == ("--json",):
            (cell,) = json.loads(said.out)["cells"]
            assert (cell["successes"], cell["trials"]) == (1, 2)


@pytest.mark.parametrize(
    "catalog",
    [
        5,
        {"title": "[/] [red", "claims": [{"statement": "[/b]", "ours": {"verdict": "broken"}}]},
        {"claims": 5, "layout": {"rows": []}, "published": [1]},
        {"layout": {"rows": ["a", "b"], "column": "c"}, "published": [{"a": 1}]},
        {"layout": {"rows": ["unit"], "column": "range", "measure": "none", "baseline": "x"}},
    ],
)
@pytest.mark.parametrize("form", [*FORMATS, ("--relative",)])
def test_odd_catalogs_end_nothing(
    run: RunStore, catalog: Any, form: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    run.write_catalog(catalog)
    assert main(["show", str(run.folder), *form]) in (0, 2)
    (run.folder / "catalog.json").write_text("[" * 100_000)
    assert main(["show", str(run.folder)]) == 0
    assert "catalog.json: it is nested too deeply" in capsys.readouterr().err


def test_good_results_are_shown_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    folder = results_folder() / "mistry2022.single_module" / "paper"
    assert main(["show", str(folder), "--json"]) == 0
    said = capsys.readouterr()
    claims = json.loads(json.dumps(make_table(read_run(folder)).claims))
    for claim in claims:  # why one is undecided; nothing where it is decided
        for who in ("ours", "published"):
            claim[who].setdefault("open", "")
    assert said.err == "" and json.loads(said.out)["claims"] == claims


def test_claims_are_told_as_on_their_page(capsys: pytest.CaptureFixture[str]) -> None:
    name = "csordas2023.scan_length@shipped"
    assert main(["show", name, "--claims"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    source = read_source(find_results(name), name)
    briefs = [re.search(r'class="brief">(.*?)</small>', item) for item in map(
        lambda claim: claim_item(claim, source), source.catalog["claims"]
    )]  # fmt: skip
    assert briefs
    for found in filter(None, briefs):
        assert " ".join(html.unescape(found[1]).split()) in told
