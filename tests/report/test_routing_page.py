"""The pages of traces as files: what is drawn, and that traces can do no harm."""

import json
import re
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from wug.records import Trace, pack_run, read_run, write_trace
from wug.report.catalog import UnfitError
from wug.report.routing_data import routing_data
from wug.report.site import make_pages, write_site
from wug.report.sources import find_sources

ROUTING, SYMBOLS = "routing-demo~paper.html", "symbols-demo~paper.html"


@pytest.fixture
def folder(tmp_path: Path, traces_by_hand: SimpleNamespace) -> Path:
    made: Path = traces_by_hand.fill(tmp_path / "runs" / "demo" / "paper")
    return made


def pages(folder: Path) -> dict[str, str]:
    return {page.path: page.body for page in make_pages(find_sources([folder]))[0]}


def blocks(page: str) -> list[Any]:
    return [json.loads(text) for text in re.findall(r"application/json\">(.*?)</script>", page)]


def test_pages_exist_when_traces_do(
    folder: Path, run_folder: Path, traces_by_hand: SimpleNamespace, tmp_path: Path
) -> None:
    found = pages(folder)
    wanted = {"routing.html", "symbols.html", ROUTING, SYMBOLS}
    assert wanted <= set(found)
    assert f'href="{ROUTING}"' in found["run-demo~paper.html"]
    assert f'href="{SYMBOLS}"' in found["run-demo~paper.html"]
    for path in folder.glob("traces/*"):
        path.unlink()
    assert not wanted & set(pages(folder))
    write_trace(folder, "one", *traces_by_hand.routing(traces_by_hand.chain, "110"))
    assert wanted & set(pages(folder)) == {"routing.html", ROUTING}


def test_a_packed_run_has_the_same_pages_of_traces(folder: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed" / "demo" / "paper"
    pack_run(read_run(folder), packed, curves=False)
    ours, theirs = pages(folder), pages(packed)
    for path in ("routing.html", "symbols.html", ROUTING, SYMBOLS):
        assert ours[path] == theirs[path]


def test_the_player_has_what_the_trace_says(folder: Path, traces_by_hand: SimpleNamespace) -> None:
    page = pages(folder)[ROUTING]
    chain, nested, hasty = blocks(page)  # the network that routes best comes first
    assert chain["columns"] == ["begin", "b", "a", "d", "101", "end"]
    assert chain["operands"] == [[], [2], [3], [4], [], []]
    assert (chain["answer"], chain["prediction"], chain["score"]) == ("110", "110", 1.0)
    arrays, _ = traces_by_hand.routing(traces_by_hand.chain, "110")
    np.testing.assert_allclose(chain["openness"], arrays["openness"], atol=1e-3)
    drawn = np.zeros_like(arrays["attention"])
    for step, heads in enumerate(chain["arcs"]):
        for head, links in enumerate(heads):
            for target, source, weight in links:
                drawn[step, head, target, source] = weight
    expected = np.where(arrays["attention"] >= 0.05, arrays["attention"], 0)
    np.testing.assert_allclose(drawn, expected, atol=6e-3)
    assert len(nested["arcs"][0]) == 3
    assert hasty["prediction"] == "000" and hasty["score"] == 0.0
    options = [unescape(text) for text in re.findall(r"<option[^>]*>(.*?)</option>", page)]
    assert options[0] == "b a d 101 → 110 ✓" and options[2] == "b a d 101 → 000 ✕"
    assert 'label="ndr · seed 0"' in page and 'label="hasty · seed 0"' in page


def test_attention_alone_is_drawn(traces_by_hand: SimpleNamespace) -> None:
    arrays, about = traces_by_hand.routing(traces_by_hand.chain, "110")
    del arrays["openness"], about["score"], about["threshold"]
    data, notes = routing_data(Trace(name="x", kind="routing", about=about, arrays=arrays))
    assert data["openness"] is None and data["arcs"] and data["score"] is None and notes == []


def hostile(
    routing: Any, chain: str, harm: str
) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Return traces that can't be drawn, and why as the key's first word."""

    def changed(arrays: dict[str, Any] | None = None, **about: Any) -> Any:
        good, facts = routing(chain, "110")
        return {**good, **(arrays or {})}, {**facts, **about}

    zeros = np.zeros
    return {
        "columns 1": changed(columns=harm),
        "columns 2": changed(columns=[]),
        "columns 3": changed(columns=["a"] * 500),
        "columns 4": changed(columns=[1, 2, 3, 4, 5, 6]),
        "shape 1": changed({"attention": zeros((9, 1, 6, 5), np.float16)}),
        "shape 2": changed({"attention": zeros((9, 6, 6), np.float16)}),
        "shape 3": changed({"openness": zeros((9, 7), np.float16)}),
        "shape 4": changed({"openness": zeros((0, 6), np.float16)}),
        "shape 5": changed({"attention": zeros((), np.float16)}),
        "steps 1": changed({"openness": zeros((8, 6), np.float16)}),
        "steps 2": changed({"openness": zeros((101, 6), bool), "attention": zeros((101, 1, 6, 6))}),
        "operands 1": changed(operands=[[99]] * 6),
        "operands 2": changed(operands=[[-1]] * 6),
        "operands 3": changed(operands=[[True]] * 6),
        "operands 4": changed(operands=[[0.5]] * 6),
        "operands 5": changed(operands=[[]]),
        "operands 6": changed(operands=None),
        "operands 7": changed(operands=[None] * 6),
        "dense 1": changed(
            {"attention": np.ones((20, 1, 90, 90), np.float16), "openness": zeros((20, 90))},
            columns=["a"] * 90, operands=[[]] * 90,
        ),
    }  # fmt: skip


def test_what_can_not_be_drawn_is_named(
    folder: Path, by_hand: SimpleNamespace, traces_by_hand: SimpleNamespace
) -> None:
    bad = hostile(traces_by_hand.routing, traces_by_hand.chain, by_hand.harm)
    for name, (arrays, about) in bad.items():
        with pytest.raises(UnfitError, match=name.split()[0]):
            routing_data(Trace(name=name, kind="routing", about=about, arrays=arrays))
        write_trace(folder, f"bad-{name}", arrays, about)
    (folder / "traces" / "torn.safetensors").write_bytes(b"half")
    found = pages(folder)
    page = found[ROUTING]
    for name in bad:
        assert f"bad-{name}: " in page
    assert "could not be made" not in page and len(blocks(page)) == 3
    assert "torn.safetensors: the trace can&#x27;t be read" in found["run-demo~paper.html"]


def test_odd_values_are_drawn_harmlessly(
    folder: Path, by_hand: SimpleNamespace, traces_by_hand: SimpleNamespace, tmp_path: Path
) -> None:
    arrays, about = traces_by_hand.routing(traces_by_hand.chain, "110")
    for place, value in enumerate((np.nan, np.inf, -np.inf, -3.0, 70.0)):
        arrays["openness"][0, place] = value
    arrays["attention"][0, 0, 0] = np.nan
    about |= {
        "columns": [by_hand.harm, "__proto__", "\ud800", "", "x" * 5000, "\x00"],
        "operands": [[1], [0], [2, 2], [], [], []],  # in a circle
        "problem": by_hand.harm, "answer": {"a": by_hand.harm}, "prediction": None,
        "score": 1e999, "threshold": "high", "labels": {by_hand.harm: by_hand.harm},
        "lot": by_hand.harm, "seed": [by_hand.harm],
    }  # fmt: skip
    write_trace(folder, "odd", arrays, about)
    many = np.full((2, 64, 6, 6), 0.9, np.float16)
    good, facts = traces_by_hand.routing(traces_by_hand.chain, "110")
    write_trace(folder, "many", {"attention": many, "openness": good["openness"][:2]}, facts)
    write_trace(folder, "other", {}, {"kind": by_hand.harm})
    write_site(find_sources([folder]), tmp_path / "site")
    page = (tmp_path / "site" / ROUTING).read_text(encoding="utf-8")
    assert by_hand.harm not in page and "could not be made" not in page
    assert "3 values are no numbers" in page and "6 values are no numbers" in page
    assert "mean over all heads" in page
    odd = next(data for data in blocks(page) if data["columns"][1].startswith("__proto__"))
    assert odd["openness"][0][:5] == [0, 0, 0, 0, 1] and odd["score"] is None
    assert odd["threshold"] == 0.2


def test_symbols_are_ordered_by_cluster_and_group(folder: Path) -> None:
    page = pages(folder)[SYMBOLS]
    maps = blocks(page)
    assert len(maps) == 8
    order = list(dict.fromkeys(row[0] for row in maps[0]["rows"]))
    assert order[0] == "a a" and order[-1] == "b F" and len(order) == 32
    assert len(maps[0]["rows"]) == 32 * 32
    assert "Symbol 7" in page and "100 %" in page and "0 %" in page


@pytest.mark.parametrize(
    "change",
    [
        {"similarities": np.zeros((8, 32, 31))}, {"similarities": None},
        {"clusters": np.full((8, 32), -1)}, {"clusters": np.full((8, 32), np.nan)},
        {"clusters": np.full((8, 32), 2**63 - 1)},
        {"groups": np.full(32, 9)}, {"compatibility": np.zeros((8, 3, 2))},
        {"agreement": np.zeros((8, 2))},
    ],
)  # fmt: skip
def test_symbols_that_do_not_fit_are_named(
    folder: Path, traces_by_hand: SimpleNamespace, change: dict[str, Any]
) -> None:
    arrays, about = traces_by_hand.symbols()
    arrays = {name: values for name, values in {**arrays, **change}.items() if values is not None}
    write_trace(folder, "bad", arrays, about)
    page = pages(folder)[SYMBOLS]
    assert "<li>bad: " in page and "could not be made" not in page and len(blocks(page)) == 8
