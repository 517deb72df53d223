"""The code of docs/masks.md runs as it stands, with fewer steps."""

import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[3] / "docs/masks.md").read_text()
BLOCKS = dict(re.findall(r'^```python title="([^"]+)"\n(.*?)^```$', TEXT, re.DOTALL | re.MULTILINE))


def test_masks_are_found_and_used(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(BLOCKS["masks.py"].replace("steps=500", "steps=30"), names)
    exec(BLOCKS["use_masks.py"], names)
    assert names["after"].sum(1) == pytest.approx(1)
    assert names["half"].kept["2.weight"].all()
    gone = names["without"].get_parameter("0.weight") == 0
    assert gone.equal(names["first"].kept["0.weight"])
    assert "specialised" in capsys.readouterr().out
