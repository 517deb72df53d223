"""One page for each unit or model, with all that is a case of it."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wug.core import index
from wug.core.folders import results_folder
from wug.report.catalog import clean_catalog
from wug.report.pages.unit import make
from wug.report.sources import find_sources
from wug.study.catalog import describe_networks, row_units
from wug.study.experiment import Experiment, Layout, RunOptions
from wug.training.plan import Lot, Plan, Registered, Variant

# What is not trained at all has no equation.
UNTRAINED = "random"
PLAN = Plan(steps=1)
KEYS = {entry.key for kind in ("unit", "model") for entry in index.entries(kind)}


def pages_of(*folders: Path) -> dict[str, str]:
    return {page.path: str(page.body) for page in make(find_sources(folders))}


@pytest.fixture
def mapped(tmp_path: Path, by_hand: SimpleNamespace) -> Path:
    """A run whose row nau is a case of NMU."""
    catalog: dict[str, Any] = {**by_hand.catalog(), "row_units": {"nau": "nmu"}}
    folder: Path = by_hand.fill(tmp_path / "mapped", "demo", 7, catalog)
    return folder


def test_a_case_is_on_the_page_of_its_unit_under_its_own_name(mapped: Path) -> None:
    pages = pages_of(mapped)
    assert set(pages) == {"units.html", "unit-nmu.html"}
    page = pages["unit-nmu.html"]
    assert r"y = \prod_i x_i" in page and "It can&#x27;t divide." in page
    assert "nau · mul · [1,2)" in page and "nmu · mul · [1,2)" in page


def test_smoke_runs_and_twins_with_other_streams_are_not_counted(
    tmp_path: Path, by_hand: SimpleNamespace
) -> None:
    catalog = by_hand.catalog()
    by_hand.fill(tmp_path / "runs" / "paper", "demo", 7, catalog)
    by_hand.fill(tmp_path / "runs" / "shared", "demo", 2, catalog, streams="shared")
    by_hand.fill(tmp_path / "runs" / "other", "other", 8, {**catalog, "scale": "smoke"})
    sources = find_sources([tmp_path / "runs"])
    assert len(sources.runs) == 3
    assert {run.label for run, _ in sources.counted} == {"paper"}
    assert sum(cell.ours.trials for _, cell in sources.counted if cell.ours) == 2 * 2 * 8
    assert ">16<" in pages_of(tmp_path / "runs")["units.html"]


def test_rows_that_are_keys_or_unknown_have_pages_of_their_own(run_folder: Path) -> None:
    pages = pages_of(run_folder)
    assert set(pages) == {"units.html", "unit-nau.html", "unit-nmu.html"}
    assert ">mul · [1,2)<" in pages["unit-nmu.html"]
    assert "equation" not in pages["unit-nau.html"]


def test_right_answers_stand_for_errors_and_whole_tables_are_drawn() -> None:
    folders = [results_folder() / name for name in ("csordas2023.ctl", "mistry2022.redundancy")]
    pages = pages_of(*folders)
    assert not [path for path, page in pages.items() if "Traceback" in page]
    page = pages["unit-ndr.html"]
    assert "right out of distribution" in page and "error out of distribution" not in page
    # Published as an error of 0, of the one run that there is.
    assert '<td class="number soft">100.0 %</td>' in page and ">run</button>" not in page


def test_units_of_the_wrong_form_are_named() -> None:
    catalog, complaints = clean_catalog({"row_units": {"nau": 5}})
    assert "row_units" not in catalog and "row_units must be text" in complaints[0]
    assert clean_catalog({"row_units": {"a": "nmu"}})[0]["row_units"] == {"a": "nmu"}


@pytest.mark.parametrize("name", [entry.key for entry in index.entries("experiment")])
def test_every_row_of_an_experiment_is_a_case_of_something_registered(name: str) -> None:
    experiment = index.get("experiment", name)(RunOptions(scale="paper", seeds=1))
    first, units = experiment.layout.rows[0], row_units(experiment)
    rows = {variant.labels[first] for lot in experiment.lots for variant in lot.variants}
    keys = {units.get(row, row) for row in rows} - {UNTRAINED}
    assert keys <= KEYS and set(experiment.row_units.values()) <= KEYS
    assert {unit["key"] for unit in describe_networks(experiment)} == keys


def test_a_class_of_a_users_is_none_of_ours_whatever_its_row_is_called() -> None:
    lots = tuple(
        Lot(
            name=row,
            build=Registered(model=model, sizes={}),
            variants=(Variant(labels={"model": row}, task=None),),
            seeds=(0,),
            plan=PLAN,
        )
        for row, model in {"lstm": "mine:LSTM", "own": "mine:Own", "big": "ndr"}.items()
    )
    layout = Layout(rows=("model",), column="task", row_order=(), column_order=())
    card = Experiment(name="card", title="", settings={}, lots=lots, layout=layout)
    assert row_units(card) == {"lstm": "mine:LSTM", "big": "ndr"}
    assert [unit["key"] for unit in describe_networks(card)] == ["ndr"]


@pytest.mark.parametrize(
    "path",
    sorted(results_folder().glob("*/*/catalog.json")),
    ids=lambda path: path.parent.parent.name,
)
def test_the_results_that_ship_describe_their_units(path: Path) -> None:
    catalog = json.loads(path.read_text(encoding="utf-8"))
    described = {unit["key"] for unit in catalog["units"] if unit["equation"]}
    assert described and len(described) == len(catalog["units"])
    assert described | set(catalog.get("row_units", {}).values()) <= KEYS
