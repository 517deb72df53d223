"""All charts of a run, as tables and as pictures."""

import csv
import io
import json
import math
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wug.records import Record, RunStore
from wug.report.charts import Chart
from wug.report.figures import figures
from wug.report.page import PageKind
from wug.report.pages.compare import compared, experiment_data, numbers
from wug.report.pages.compare import figures as comparisons
from wug.report.site import make_pages, page_kinds
from wug.report.sources import Sources, find_sources
from wug.stats.interval import Estimate
from wug.stats.measures import MEASURES


@pytest.fixture
def sources(tmp_path: Path, traces_by_hand: SimpleNamespace) -> Sources:
    """One run, with traces."""
    return find_sources([traces_by_hand.fill(tmp_path / "runs" / "demo" / "paper")])


def fits(tmp_path: Path, data: dict[str, Any]) -> Sources:
    folder = tmp_path / "fits" / "a"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "formula.json").write_text(json.dumps(data))
    return find_sources([folder])


def kept_rows(count: int = 3) -> dict[str, Any]:
    h, g = [float(i + 1) for i in range(count)], [2.0] * count
    said = [2 * (a / b) ** 0.5 for a, b in zip(h, g, strict=True)]
    return {"inputs": {"h": h, "g": g}, "measured": [y + 0.5 for y in said], "predicted": said}


def test_every_figure_is_whole(sources: Sources) -> None:
    for name, chart in figures(sources, page_kinds()).items():
        assert chart.name == name
        assert len(chart.fields) == len(chart.headings)
        assert all(len(row) == len(chart.fields) for row in chart.rows)
        rows = list(csv.reader(io.StringIO(chart.to_csv())))
        assert len(rows) == len(chart.rows) + 1
        spec = json.dumps(chart.to_vega_lite(), allow_nan=False)
        assert "container" not in spec


def test_figures_are_drawn(sources: Sources) -> None:
    vl_convert = pytest.importorskip("vl_convert")
    charts = figures(sources, page_kinds())
    for name in ("success", "success-difference", "success-intervals", "solved-runs",
                 "curves-test-nmu-mul"):  # fmt: skip
        picture = vl_convert.vegalite_to_svg(charts[name].to_vega_lite())
        assert picture.startswith("<svg") and "nmu" in picture or name.startswith("curves")
    gates = vl_convert.vegalite_to_svg(charts["gates-ndr-0.routing-1"].to_vega_lite())
    assert "5 101" in gates and "mean gate" in gates
    assert vl_convert.vegalite_to_svg(charts["ndr-0.symbols-7"].to_vega_lite()).startswith("<svg")


def test_a_kind_of_page_brings_its_own_figures(sources: Sources) -> None:
    def figure(given: Sources) -> Iterator[Chart]:
        assert given is sources
        yield Chart(name="new", title="", about="", spec={}, fields=(), headings=(), rows=())

    kind = PageKind(made_from=frozenset(), make=lambda _: iter(()), figures=figure)
    assert set(figures(sources, [kind])) == set(figures(sources, [])) | {"new"}


def test_traces_have_figures(sources: Sources) -> None:
    charts = figures(sources, page_kinds())
    assert {f"ndr-0.symbols-{i}" for i in range(8)} <= set(charts)
    assert {"gates-ndr-0.routing-1", "gates-ndr-0.routing-2", "gates-hasty-0.routing-1"} <= set(
        charts
    )
    rows = charts["gates-ndr-0.routing-1"].rows
    assert len(rows) == 9 * 6 and [row[1] for row in rows[:6]][0] == "1 begin"
    # A chain is worked off from its end: the last function opens first.
    opened = {row[1]: row[0] for row in rows if row[2] > 0.8}
    assert opened == {"4 d": "1", "3 a": "2", "2 b": "3"}


def test_a_table_has_empty_cells_where_the_page_has() -> None:
    chart = Chart(
        name="a", title="", about="", spec={}, fields=("a", "b", "c"), headings=("a", "b", ""),
        rows=[[math.nan, None, 1], [math.inf, 2.5, 1], ["nan", -math.inf, 1]],
    )  # fmt: skip
    assert chart.to_csv() == "a,b\n,\n,2.5\nnan,\n"


def test_exponents_are_short() -> None:
    assert [MEASURES["error"].text(v) for v in (1.3e11, 1.3e6, 1.3e-11, 1.3e-7)] == [
        "1.3e11", "1.3e6", "1.3e-11", "1.3e-7"]  # fmt: skip


def other_run(folder: Path, measure: str | None = None) -> Path:
    """Write a run whose first range diverged, and whose second one is another."""
    store = RunStore.open(folder, "demo", {"steps": 5})
    records = [
        Record(
            experiment="demo", key={"unit": "nmu", "operation": "mul", "range": column, "seed": i},
            config={}, seed=i,
            outcome={"solved": False, "solved_at": None, "test_error": error,
                     "validation_error": 0.5},
        )
        for column, error in (("[1,2)", math.inf), ("[5,6)", 3.0)) for i in range(2)
    ]  # fmt: skip
    store.append("lot", records)
    layout = {"rows": ["unit", "operation"], "column": "range", "row_order": [["nmu", "mul"]],
              "column_order": ["[1,2)", "[5,6)"], "baseline": None}  # fmt: skip
    if measure is not None:
        store.write_catalog({"title": "Demo", "layout": {**layout, "measure": measure}})
    return folder


def test_a_comparison_keeps_what_diverged_and_what_one_run_has(
    sources: Sources, tmp_path: Path
) -> None:
    (first,) = sources.runs
    (second,) = find_sources([other_run(tmp_path / "other", "error")]).runs
    rows = {tuple(row[:2]): row[2:] for row in compared(first, second, MEASURES["error"])}
    assert len(rows) == 5  # four of the first run, one more of the second
    mine = rows["nmu · mul", "[1,2)"]
    assert mine[1:] == ["diverged", None, 1.0, "diverged", ""]  # the first is better
    assert rows["nmu · mul", "[10,20)"][1:5] == ["–", None, 0.0, "–"]
    assert rows["nmu · mul", "[5,6)"] == ["–", "3", None, 0.0, "–", ""]
    back = {tuple(row[:2]): row[2:] for row in compared(second, first, MEASURES["error"])}
    assert back["nmu · mul", "[1,2)"][3] == -1.0
    # For the page, too: a word in place of a number.
    data = experiment_data([second, first])
    places = [measure["name"] for measure in data["measures"]]
    cells = {(row, column): values for row, column, values in data["runs"][0]["cells"]}
    mine = cells["nmu · mul", "[1,2)"]
    assert mine[places.index("error")] == [None, None, None, "diverged"]
    assert numbers(Estimate.none()) == [None, None, None]


def test_a_comparison_has_a_figure_for_each_measure(sources: Sources, tmp_path: Path) -> None:
    both = Sources(
        runs=(*sources.runs, *find_sources([other_run(tmp_path / "other")]).runs), entries={}
    )
    assert not list(comparisons(sources))
    added = set(figures(both, page_kinds())) - set(figures(sources, page_kinds()))
    measures = ("success", "error", "iid-error", "solved-at", "sparsity")
    assert added == {f"compare-{measure}" for measure in measures}
    chart = figures(both, page_kinds())["compare-success"]
    success = {tuple(row[:2]): row[2:] for row in chart.rows}
    assert success["nmu · mul", "[1,2)"][2:5] == [0.875, 1.75, "+88"]


def test_a_comparison_begins_with_the_measure_that_both_runs_have(
    run_folder: Path, tmp_path: Path
) -> None:
    one, two = (
        find_sources([other_run(tmp_path / name, "error")]).runs[0] for name in ("one", "two")
    )
    assert experiment_data([one, two])["measures"][0]["name"] == "error"
    others = find_sources([run_folder]).runs
    assert experiment_data([one, *others])["measures"][0]["name"] == "success"
    pages = {page.path: page for page in make_pages(Sources(runs=(one, two), entries={}))[0]}
    assert '"measures":[{"name":"error"' in pages["compare.html"].body.replace(" ", "")


def test_a_fit_has_figures_with_its_rows(tmp_path: Path, by_hand: SimpleNamespace) -> None:
    found = fits(tmp_path, {**by_hand.formula(), "sample": kept_rows()})
    charts = figures(found, page_kinds())
    assert set(charts) == {"along", "predicted", "front"}
    assert charts["predicted"].rows[0] == [1.91421, 1.41421]
    dots = [row for row in charts["along"].rows if row[5] is not None]
    assert [row[2] for row in dots if row[0] == "h"] == [1.0, 2.0, 3.0]
    (page,) = [p for p in make_pages(found)[0] if p.path.startswith("formula-")]
    assert all(f'data-name="{name}"' in page.body for name in charts)
    vl_convert = pytest.importorskip("vl_convert")
    pictures = {name: vl_convert.vegalite_to_svg(c.to_vega_lite()) for name, c in charts.items()}
    assert pictures["predicted"].count('aria-roledescription="point"') == 3
    assert pictures["along"].count('aria-roledescription="point"') == 6
    # A diamond has corners alone, a circle none.
    points = [line for line in pictures["front"].split("<path") if '"point"' in line]
    assert len(points) == 2 and sum("A" in p.split(' d="')[1].split('"')[0] for p in points) == 1


def test_a_pole_does_not_squeeze_the_data(tmp_path: Path, by_hand: SimpleNamespace) -> None:
    data = by_hand.formula()
    data["weights"] = {"exponents": [[0, -1]], "coefficients": [[1.0]], "powers": [1.0]}
    along = figures(fits(tmp_path, data), page_kinds())["along"]
    seen = [abs(v) for row in along.rows for v in row[3:5] if v is not None]
    assert max(seen) < 4  # 1/9 to 1 inside; 20 beside the pole
    assert "end where they run far away" in along.about


@pytest.mark.parametrize(
    "hostile",
    [
        None, 5, "<b>", [], {}, {"inputs": 5}, {**kept_rows(), "measured": 5},
        {**kept_rows(), "inputs": {"h": [1.0, 2.0, 3.0]}}, {**kept_rows(), "predicted": [1.0]},
        {**kept_rows(), "measured": [math.nan, "1", 10**400]}, kept_rows(100_000),
        {**kept_rows(), "measured": [[1], {}, True]}, kept_rows(0),
    ],
)  # fmt: skip
def test_rows_that_are_none_are_left_out(
    hostile: Any, tmp_path: Path, by_hand: SimpleNamespace
) -> None:
    found = fits(tmp_path, {**by_hand.formula(), "sample": hostile, "notices": 5})
    assert set(figures(found, page_kinds())) == {"along", "front"}
    bodies = [page.body for page in make_pages(found)[0]]
    assert not any("could not be made" in body for body in bodies)
