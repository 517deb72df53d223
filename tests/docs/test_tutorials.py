"""The tutorials run as they stand, in an empty folder, and print what their pages show."""

import json
import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))

from generators import notebooks  # noqa: E402

# What takes a time, or is drawn anew, is not the same on every machine.
NUMBER = re.compile(r"[-+]?\d[\d.,e+-]*")
PATHS = sorted(DOCS.glob("tutorials/*.ipynb"))


def test_there_are_five():
    assert len(PATHS) == 5


@pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])
def test_a_tutorial_runs_and_prints_what_it_shows(path, monkeypatch, tmp_path):
    monkeypatch.setenv("WUG_CACHE", str(tmp_path / "cache"))
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    shown = [
        "".join("".join(out["text"]) for out in cell["outputs"])
        for cell in cells
        if cell["cell_type"] == "code"
    ]
    printed = notebooks.run(path, keep=False)
    assert [NUMBER.sub("#", text) for text in printed] == [NUMBER.sub("#", t) for t in shown]


@pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])
def test_no_tutorial_prints_more_digits_than_people_read(path):
    assert not re.search(r"\d\.\d{6}", path.read_text(encoding="utf-8"))


def test_pages_of_tutorials_have_code_and_what_it_printed():
    for title, uri, path in notebooks.found():
        page = notebooks.to_markdown(path)
        assert page.startswith(f"# {title}") and uri.endswith(".md")
        assert "```python" in page and "```text" in page
