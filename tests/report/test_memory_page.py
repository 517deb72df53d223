"""The memory player: what is drawn, that traces can do no harm, and the page in a real browser."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from chromium import WIDTHS, Browser

from wug.records import Trace, write_trace
from wug.report.catalog import UnfitError
from wug.report.pages.memory import figures, memory_data, problem_text
from wug.report.site import make_pages, write_site
from wug.report.sources import find_sources

PAGE = "memory-demo~paper.html"
NAME = "dnc-0.memory-1"
WORDS, CELLS, WORD = 3, 4, 5


def copying() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the trace of a perfect copy: three words are written, then read in order."""
    steps = 2 * WORDS + 1
    writes, reads = np.zeros((steps, CELLS)), np.zeros((steps, 1, CELLS))
    modes = np.zeros((steps, 1, 3))
    asked = np.zeros(steps)
    links = np.zeros((steps, CELLS, CELLS))
    for word in range(WORDS):
        writes[word, word] = 1
        reads[WORDS + 1 + word, 0, word] = 1
        asked[WORDS + 1 + word] = 1
        if word:
            links[word:, word, word - 1] = 1
    modes[..., 1] = 1
    modes[WORDS + 2 :] = (0, 0, 1)
    arrays = {
        "writes": writes, "reads": reads, "usage": writes.cumsum(0).clip(0, 1), "modes": modes,
        "memory": np.ones((steps, CELLS, WORD)) * writes.cumsum(0)[..., None] - 0.5,
        "links": links, "asked": asked, "masks": np.full((steps, 1, WORD), 0.5),
        "inputs": np.zeros((steps, 3)), "targets": np.ones((steps, 2)),
        "outputs": np.full((steps, 2), 0.9),
    }  # fmt: skip
    about = {
        "kind": "memory", "lot": "dnc-0", "labels": {"model": "dnc"}, "seed": 0, "split": "test",
        "level": WORDS, "num_right": 3, "num_asked": 3, "forward_peak": 1.0,
    }  # fmt: skip
    return {name: values.astype(np.float16) for name, values in arrays.items()}, about


def trace_of(arrays: dict[str, Any], about: dict[str, Any]) -> Trace:
    return Trace(name=NAME, kind="memory", about=about, arrays=arrays)


@pytest.fixture
def folder(tmp_path: Path, by_hand: SimpleNamespace) -> Path:
    made: Path = by_hand.fill(tmp_path / "runs" / "demo" / "paper", "demo", 7, by_hand.catalog())
    write_trace(made, NAME, *copying())
    return made


def test_the_player_has_what_the_trace_says(folder: Path) -> None:
    found = {page.path: page.body for page in make_pages(find_sources([folder]))[0]}
    assert f'href="{PAGE}"' in found["run-demo~paper.html"] and "memory.html" in found
    (text,) = re.findall(r"application/json\">(.*?)</script>", found[PAGE])
    data, arrays = json.loads(text), copying()[0]
    for name in arrays:
        np.testing.assert_allclose(data[name], arrays[name].astype(float), atol=1e-3)
    assert data["facts"] == [["peak of forward links", "1.00"]]
    assert "larger than in training, size 3: 3 of 3 answers right" in found[PAGE]


def test_a_picture_of_cells_goes_to_files(folder: Path) -> None:
    (chart,) = figures(find_sources([folder]))
    assert len(chart.rows) == (2 * WORDS + 1) * CELLS
    assert [row[:2] for row in chart.rows if row[2] == 1] == [["1", "1"], ["2", "2"], ["3", "3"]]
    assert [row[:2] for row in chart.rows if row[3] == 1] == [["5", "1"], ["6", "2"], ["7", "3"]]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("writes", None, "it must have writes"),
        ("writes", np.zeros((700, 4)), "it may have 600 steps and 128 cells"),
        ("links", np.zeros((7, 4, 3)), r"shape \(7, 4, 4\)"),
        ("reads", np.array(["x"]), "must be numbers"),
        ("outputs", None, "both targets and outputs"),
        ("inputs", np.zeros((7, 100)), "inputs may have 64 channels"),
    ],
)
def test_what_can_not_be_drawn_is_said(name: str, value: Any, message: str) -> None:
    arrays, about = copying()
    arrays.pop(name)
    if value is not None:
        arrays[name] = value
    with pytest.raises(UnfitError, match=message):
        memory_data(trace_of(arrays, about))


def test_no_numbers_are_drawn_as_none() -> None:
    arrays, about = copying()
    arrays["memory"][0, 0, 0] = np.nan
    data, notes = memory_data(trace_of(arrays, about))
    assert data["memory"][0][0][0] == 0 and notes == ["1 values are no numbers and are drawn as 0."]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_player_in_a_browser(folder: Path, browser: Browser, width: int) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    site = folder.parent / "site"
    write_site(find_sources([folder]), site)
    browser.resize(width)
    browser.open(site / PAGE)
    browser.wait('document.querySelector("svg.cells") !== null')
    assert browser.fits(width)
    boxes = "return [...document.querySelectorAll('.stage .wide')]"
    assert browser.run(f"{boxes}.every((box) => box.scrollWidth <= box.clientWidth + 1)")
    assert browser.texts(".count") == ["step 5 of 7"]
    assert browser.texts(".said") == ["It reads cell 1 by content. An answer is due."]
    slider = browser.driver.find_element(By.CSS_SELECTOR, "input[type=range]")
    slider.send_keys(Keys.END)
    assert browser.texts(".said") == ["It reads cell 3 by forward links. An answer is due."]
    slider.send_keys(Keys.HOME)
    assert browser.texts(".said") == ["It writes to cell 1."]
    dots = "return document.querySelectorAll('.timeline circle.read').length"
    assert browser.run(dots) == WORDS
    assert browser.complaints() == []
    browser.screenshot("memory", width)


def test_words_of_a_story_stand_above_its_steps() -> None:
    arrays, about = copying()
    steps = len(arrays["writes"])
    told = {"words": ["mary"] * steps, "said": ["home"] * steps, "due": [""] * steps}
    story = trace_of(arrays, {**about, **told, "group": "task 1", "level": None})
    data, _ = memory_data(story)
    assert (data["labels"], data["said"], data["due"]) == tuple(told.values())
    assert problem_text(story) == "A story of task 1: 3 of 3 answers right"
    for odd in (["mary"], [5] * steps, "mary"):
        with pytest.raises(UnfitError, match="words must"):
            memory_data(trace_of(arrays, {**about, "words": odd}))
