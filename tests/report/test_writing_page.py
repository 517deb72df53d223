"""The page of what networks write: as files, with traces that mean no good, and in a browser."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from chromium import WIDTHS, Browser

from wug.records import write_trace
from wug.report.catalog import UnfitError
from wug.report.pages.writing import writing_data
from wug.report.site import make_pages, write_site
from wug.report.sources import find_sources

PAGE = "writing-demo~paper.html"
SOURCE = ["begin", "walk", "thrice", "end"]
RIGHT = ["I_WALK"] * 3
EARLY = {
    "source": SOURCE, "written": ["I_WALK", "I_WALK", "end"], "target": RIGHT,
    "outcome": "stopped early", "first_error": 2, "group": "3",
}  # fmt: skip
GOOD = {
    "source": SOURCE, "written": [*RIGHT, "end"], "target": RIGHT, "outcome": "right",
    "first_error": None, "group": "3",
}  # fmt: skip


def attention(example: dict[str, Any]) -> Any:
    """Two layers; the first looks at walk, the second at the end of the source."""
    weights = np.zeros((2, len(example["written"]), len(example["source"])), np.float16)
    weights[0, :, 1], weights[1, :, 3] = 1.0, 1.0
    return weights


def fill_writing(folder: Path, traces_by_hand: SimpleNamespace) -> Path:
    """Add traces of writing to a run with others."""
    made: Path = traces_by_hand.fill(folder)
    arrays = {"attention-0": attention(EARLY), "attention-1": attention(GOOD)}
    about = {
        "kind": "writing", "groups": "length", "examples": [EARLY, GOOD],
        "labels": {"model": "universal", "cutoff": "26"}, "seed": 0,
    }  # fmt: skip
    write_trace(made, "universal-26-0.writing", arrays, about)
    return made


def blocks(page: str) -> list[Any]:
    return [json.loads(text) for text in re.findall(r"application/json\">(.*?)</script>", page)]


def test_the_page_has_what_the_trace_says(tmp_path: Path, traces_by_hand: SimpleNamespace) -> None:
    folder = fill_writing(tmp_path / "runs" / "demo" / "paper", traces_by_hand)
    found = {page.path: page.body for page in make_pages(find_sources([folder]))[0]}
    assert {"writing.html", PAGE} <= set(found)
    assert f'href="{PAGE}"' in found["run-demo~paper.html"]
    early, good = blocks(found[PAGE])
    assert early["outcome"] == "stopped early" and early["first_error"] == 2
    assert early["attention"][0][2] == [0, 1, 0, 0] and good["target"] == RIGHT
    assert "3 · walk thrice ✕ stopped early" in found[PAGE]
    assert "26 · universal · seed 0" in found[PAGE]


@pytest.mark.parametrize(
    ("change", "weights", "reason"),
    [
        ({"source": "walk"}, None, "source"),
        ({"written": [1]}, None, "written"),
        ({"written": ["a"] * 601}, None, "600 tokens"),
        ({}, np.zeros((2, 3)), "shape"),
        ({}, np.zeros((2, 4, 4)), "shape"),
        ({}, np.zeros((2, 3, 4), np.int64), "numbers"),
    ],
)
def test_what_does_not_fit_is_left_out(change: Any, weights: Any, reason: str) -> None:
    with pytest.raises(UnfitError, match=reason):
        writing_data({**EARLY, **change}, weights)


def test_odd_values_do_no_harm() -> None:
    weights = attention(EARLY)
    weights[0, 0] = np.nan
    data, notes = writing_data({**EARLY, "outcome": "<b>", "first_error": -1}, weights)
    assert data["outcome"] is None and data["first_error"] is None
    assert data["attention"][0][0] == [0, 0, 0, 0] and len(notes) == 1
    data, _ = writing_data({"source": SOURCE, "written": []}, None)
    assert data["target"] is None and data["attention"] is None


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, traces_by_hand: SimpleNamespace) -> Path:
    root = tmp_path_factory.mktemp("writing")
    fill_writing(root / "runs" / "demo" / "paper", traces_by_hand)
    write_site(find_sources([root / "runs"]), root / "site")
    return root / "site"


@pytest.mark.parametrize("width", WIDTHS)
def test_the_player_shows_what_is_looked_at_and_where_it_goes_wrong(
    browser: Browser, site: Path, width: int
) -> None:
    browser.resize(width)
    browser.open(site / PAGE)
    name = "universal-26-0.writing-0"
    place = f"[data-name='{name}']"
    browser.wait(f'document.querySelector("{place} .token") !== null')
    assert browser.texts(f"{place} .said") == [
        "Token 3: end. It looks most at walk (0.50). Here it goes wrong: I_WALK is right."
    ]
    assert browser.texts(f"{place} .token.wrong") == ["end"]
    assert browser.texts(f"{place} .token.wanted") == ["I_WALK"]
    browser.run(f'document.querySelectorAll("{place} .chips button")[2].click()')
    shares = f'[...document.querySelectorAll("{place} .token[title]")].map((t) => t.style'
    looked = browser.run(f"return {shares}.getPropertyValue('--share'))")
    assert [share for share in looked if float(share.rstrip("%")) > 50] == [looked[-1]]
    browser.run(f'document.querySelectorAll("{place} button.token")[0].click()')
    assert browser.texts(f"{place} .count") == ["token 1 of 3"]
    assert browser.texts(f"{place} .token.later") == ["I_WALK", "end"]
    assert browser.fits(width)
    browser.screenshot("writing", width)
    browser.choose(".switch select", "universal-26-0.writing-1")
    other = "[data-name='universal-26-0.writing-1']"
    browser.wait(f'document.querySelector("{other} .token") !== null')
    assert browser.texts(f"{other} .pill") == ["✓ right"]
    assert browser.complaints() == []
