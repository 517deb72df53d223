"""The page of digit sequences: what is drawn, and that traces can do no harm."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from wug.records import Trace, write_trace
from wug.report.catalog import UnfitError
from wug.report.pages.digits import sequence
from wug.report.site import make_pages
from wug.report.sources import find_sources

NAME = "nmu-product-0.digits-1"
ABOUT = {"kind": "digits", "lot": "nmu-product-0", "labels": {"model": "nmu"}, "seed": 0}


def arrays() -> dict[str, Any]:
    return {
        "pictures": np.full((3, 8, 8), 200, np.uint8),
        "numbers": np.array([[2.1], [3.0], [6.2]], np.float32),
        "running": np.array([[2.1], [6.3], [39.0]], np.float32),
        "digits": np.array([2.0, 3.0, 4.0], np.float32),
        "targets": np.array([[2.0], [6.0], [24.0]], np.float32),
    }


def trace(**changed: Any) -> Trace:
    return Trace(name=NAME, kind="digits", about=ABOUT, arrays={**arrays(), **changed})


def test_pictures_numbers_and_values_are_there(tmp_path: Path, by_hand: SimpleNamespace) -> None:
    folder = by_hand.fill(tmp_path / "runs" / "demo" / "paper", "demo", 7, by_hand.catalog())
    write_trace(folder, NAME, arrays(), ABOUT)
    pages = {page.path: page.body for page in make_pages(find_sources([folder]))[0]}
    body = pages["digits-demo~paper.html"]
    assert "digits-demo~paper.html" in pages["run-demo~paper.html"] and "digits.html" in pages
    assert len(re.findall(r'<img src="data:image/png;base64,', body)) == 3
    # The third picture shows a 4 and became 6.2.
    assert re.findall(r"<strong>(.*?)</strong>", body) == ["✕ 6.2"]
    assert "39" in body and "24" in body


def test_networks_come_in_the_order_of_the_table(tmp_path: Path, by_hand: SimpleNamespace) -> None:
    folder = by_hand.fill(tmp_path / "runs" / "demo" / "paper", "demo", 7, by_hand.catalog())
    for name, unit in (("a-0.digits-1", "other"), ("b-0.digits-1", "nmu"), ("c-0.digits-1", "nau")):
        labels = {"unit": unit, "operation": "mul"}
        write_trace(folder, name, arrays(), {**ABOUT, "labels": labels})
    pages = {page.path: page.body for page in make_pages(find_sources([folder]))[0]}
    headings = re.findall(r"<h2>(.*?)</h2>", pages["digits-demo~paper.html"])
    assert [heading.split()[0].lower() for heading in headings] == ["nau", "nmu", "other"]


def test_without_the_right_values_nothing_is_marked() -> None:
    known = arrays()
    del known["digits"], known["targets"]
    body = sequence(Trace(name=NAME, kind="digits", about=ABOUT, arrays=known))
    assert "✕" not in body and "6.2" in body


@pytest.mark.parametrize(
    "changed",
    [
        {"numbers": np.zeros((2, 1))}, {"running": np.zeros(3)}, {"targets": np.zeros((3, 4))},
        {"pictures": np.zeros((3, 500, 500))}, {"pictures": np.array([["a"]])},
        {"numbers": np.zeros((3, 99))},
    ],
)  # fmt: skip
def test_other_shapes_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(UnfitError):
        sequence(trace(**changed))


def test_numbers_that_are_none_are_named() -> None:
    body = sequence(trace(running=np.array([[np.nan], [1.0], [np.inf]])))
    assert "2 values are no numbers" in body
