"""The pages of masks that are made from records."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wug.records import Record, RunStore
from wug.report.figures import figures
from wug.report.mask_records import masked_cells
from wug.report.pages.masks import charts
from wug.report.site import make_pages, page_kinds
from wug.report.sources import find_sources

PAGE = "masks-demo~paper.html"
OBSERVED: dict[str, Any] = {
    "add_under_full": 1.0, "mul_under_full": 0.9, "add_under_add": 1.0, "mul_under_add": 0.1,
    "add_under_not_add": 0.25, "other_of_add_under_mul": 0.5,
    "layer_0": "weights.0", "layer_1": "<b>weights.1</b>",
    "sharing_add_0": 0.5, "sharing_add_1": 0.125, "kept_add_0": 7.0,
    "answers_0_0": 0.9, "answers_0_1": 0.1, "answers_1_0": 0.0, "answers_1_1": 1.0,
    "change_0_0_0": -0.5, "change_0_0_1": 0.5, "change_0_1_0": 0.0, "change_0_1_1": 0.0,
    "change_1_0_0": 0.0, "change_1_0_1": 0.0, "change_1_1_0": 0.25, "change_1_1_1": -0.25,
    "bin_00": 0.75, "bin_01": 0.25,
}  # fmt: skip


def fill(folder: Path, *further: dict[str, Any]) -> Path:
    store = RunStore.open(folder, "demo", {"steps": 300})
    records = [
        Record(
            experiment="demo", key={"network": "fnn", "task": "numbers", "seed": seed}, seed=seed,
            config={"steps": 1}, kind="curve", curves={"step": [0, 1], "test": [1.0, 0.5]},
            outcome={"schema": 2, "engine": "single", "solved": False, "solved_at": None,
                     "threshold": 0.1,
                     "selected": {"test": {"error": 0.5}}, "observed": observed},
        )
        for seed, observed in enumerate((OBSERVED, OBSERVED | {"add_under_add": 0.5}, *further))
    ]  # fmt: skip
    store.append("fnn", records)
    store.write_catalog({"title": "Demo (A paper)"})
    return folder


def test_a_run_has_a_page_of_its_masks(tmp_path: Path) -> None:
    folder = fill(tmp_path / "demo" / "paper")
    found = {page.path: page.body for page in make_pages(find_sources([folder]))[0]}
    assert {"masks.html", PAGE} <= set(found)
    for text in ("Functions under masks", "Shared weights by layer", "How open gates are",
                 "Answers without a class", "Answers under the mask of all", "2 networks",
                 "Class that is gone"):  # fmt: skip
        assert text in found[PAGE]
    assert "<b>" not in found[PAGE]
    assert f'href="{PAGE}"' in found["run-demo~paper.html"]


def test_masks_are_called_as_the_measures_call_them(tmp_path: Path) -> None:
    folder = fill(tmp_path / "demo" / "paper")
    named = (("add", "not_add", "Sums under their mask inverted"), ("mul", "full", "Products"),
             ("add", "add", "Sums under their mask"))  # fmt: skip
    measures = [
        {"name": f"{function}_under_{mask}", "title": words, "path": "observed.x"}
        for function, mask, words in named
    ]
    RunStore.open(folder, "demo", {"steps": 300}).write_catalog({"measures": measures})
    sources = find_sources([folder])
    (found,) = masked_cells(sources.runs[0])
    assert found.name == "fnn · numbers"
    assert found.masks == ["not_add", "add", "full"]  # as measures come; no measure calls the last
    (chart, *_) = charts(found)
    assert [row[:3] for row in chart.rows] == [
        ("their mask inverted", "Sums", "25.0"),
        ("their mask", "Sums", "75.0"), ("their mask", "mul", "10.0"),
        ("all weights", "Sums", "100.0"), ("all weights", "mul", "90.0"),
    ]  # fmt: skip


def test_numbers_are_means_over_seeds(tmp_path: Path) -> None:
    harm = {"add_under_add": "x", "sharing_add_9999": 1.0, "layer_0": 3, "bin_00": None}
    folder = fill(tmp_path / "demo" / "paper", harm)
    (found,) = masked_cells(find_sources([folder]).runs[0])
    assert found.matrix["add"] == {"add": 0.75, "mul": 0.1}
    assert found.functions == ["add", "mul"] and "mul" not in found.matrix
    assert found.sharing == {"add": {0: 0.5, 1: 0.125}} and found.layers[0] == "weights.0"


def test_charts_are_drawn(tmp_path: Path) -> None:
    charts = figures(find_sources([fill(tmp_path / "demo" / "paper")]), page_kinds())
    names = [name for name in charts if name.startswith("fnn-numbers")]
    assert len(names) == 7  # two of them for the classes that are gone
    (own,) = (c.rows for c in charts.values() if c.title == "Answers without a class's own weights")
    assert [row[:3] for row in own] == [
        ("0", "0", "-50"), ("0", "1", "+50"), ("1", "0", "+25"), ("1", "1", "-25"),
    ]  # fmt: skip
    vl_convert = pytest.importorskip("vl_convert")
    for name in names:
        json.dumps(charts[name].to_vega_lite(), allow_nan=False)
        assert vl_convert.vegalite_to_svg(charts[name].to_vega_lite()).startswith("<svg")


def test_other_runs_have_no_such_page(tmp_path: Path, by_hand: SimpleNamespace) -> None:
    folder = by_hand.fill(tmp_path / "demo" / "paper", "demo", 7, by_hand.catalog())
    assert "masks.html" not in {page.path for page in make_pages(find_sources([folder]))[0]}
