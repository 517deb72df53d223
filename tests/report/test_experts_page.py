"""The page of experts: what is drawn, and that traces can do no harm."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from wug.records import Trace, write_trace
from wug.report.catalog import UnfitError
from wug.report.figures import figures
from wug.report.pages.experts import checked, evenness, used_chart
from wug.report.site import make_pages, page_kinds
from wug.report.sources import find_sources

PAGE = "experts-demo~paper.html"


def trace(experts: bool = True, **changes: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return two layers of four experts: one is even, one has collapsed."""
    arrays = {"active": [30.0, 5.0], "active_deviation": [4.0, 9.0], "units": [64.0, 64.0]}
    if experts:
        arrays |= {
            "weights": np.array([[0.25] * 4, [0.1, 0.7, 0.2, 0.0]]),
            "together": np.stack([(1 - np.eye(4)) / 3] * 2),
            "repeats": np.array([[0.5], [1.0]]),
        }
    about = {"kind": "experts", "lot": "a-0", "labels": {"model": "sigma_moe"}, "seed": 0,
             "layers": ["layers.0.feed_forward", "layers.1.feed_forward"]}  # fmt: skip
    given = {name: np.asarray(value, np.float32) for name, value in (arrays | changes).items()}
    return given, about


def as_trace(**changes: Any) -> Trace:
    arrays, about = trace(**changes)
    return Trace(name="a", kind="experts", about=about, arrays=arrays)


@pytest.fixture
def folder(tmp_path: Path, by_hand: SimpleNamespace) -> Path:
    made: Path = by_hand.fill(tmp_path / "runs" / "demo" / "paper", "demo", 7, by_hand.catalog())
    write_trace(made, "a-0.experts", *trace())
    arrays, about = trace(experts=False)
    write_trace(made, "b-0.experts", arrays, about | {"lot": "b-0", "labels": {"model": "dense"}})
    return made


def test_the_page_shows_every_network_and_collapse_as_numbers(folder: Path) -> None:
    found = {page.path: page.body for page in make_pages(find_sources([folder]))[0]}
    assert {"experts.html", PAGE} <= set(found)
    page = found[PAGE]
    worst = -(0.1 * np.log(0.1) + 0.7 * np.log(0.7) + 0.2 * np.log(0.2)) / np.log(4)
    for text in (
        f"{100 * worst:.1f} %",
        "70.0 %",
        "75.0 %",
        "Use of experts, sorted",
        "Active units",
    ):
        assert text in page
    assert page.count("Experts chosen together, layer") >= 2
    assert f'href="{PAGE}"' in found["run-demo~paper.html"]


def test_charts_are_sorted_and_drawn(folder: Path) -> None:
    shares = [row[2] for row in used_chart(checked(as_trace())).rows if row[0] == "2"]
    assert shares == pytest.approx([0.7, 0.2, 0.1, 0.0])
    charts = figures(find_sources([folder]), page_kinds())
    names = {"a-0.experts-used", "a-0.experts-active", "a-0.experts-together-1",
             "b-0.experts-active"}  # fmt: skip
    assert names <= set(charts) and "b-0.experts-used" not in charts
    for name in names:
        json.dumps(charts[name].to_vega_lite(), allow_nan=False)
    vl_convert = pytest.importorskip("vl_convert")
    for name in names:
        assert vl_convert.vegalite_to_svg(charts[name].to_vega_lite()).startswith("<svg")


@pytest.mark.parametrize(
    "changes",
    [{"active": [1.0]}, {"active": [np.nan, 1.0]}, {"units": [-1.0, 1.0]},
     {"weights": np.ones((3, 4))}, {"together": np.ones((2, 4, 3))}, {"weights": np.ones((2, 0))}],
)  # fmt: skip
def test_a_trace_that_does_not_fit_is_named(folder: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(UnfitError):
        checked(as_trace(**changes))
    write_trace(folder, "c-0.experts", *trace(**changes))
    found = {page.path: page.body for page in make_pages(find_sources([folder]))[0]}
    assert "Left out" in found[PAGE] and "c-0.experts" in found[PAGE]


def test_text_from_traces_stays_text(folder: Path, by_hand: SimpleNamespace) -> None:
    arrays, about = trace()
    about |= {"layers": [by_hand.harm] * 2, "labels": {"model": by_hand.harm}}
    write_trace(folder, "d-0.experts", arrays, about)
    found = {page.path: page.body for page in make_pages(find_sources([folder]))[0]}
    assert by_hand.harm not in found[PAGE]


def test_evenness():
    assert evenness(np.array([[0.25] * 4, [1.0, 0, 0, 0]])) == pytest.approx([1.0, 0.0])
