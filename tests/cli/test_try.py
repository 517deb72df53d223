"""wug try: the first command of a newcomer."""

import re
from pathlib import Path

import pytest

from wug.cli.main import main
from wug.cli.try_ import require_writable, try_

ASKED = (
    "ctl-laptop-ndr-backward", "ctl-laptop-lstm-backward", "simple_arithmetic-laptop-ndr-end",
    "simple_arithmetic-laptop-lstm-early",
)  # fmt: skip


def test_it_finds_a_formula_asks_a_router_and_writes_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    try_(out=tmp_path / "site")
    told = " ".join(capsys.readouterr().out.split())
    assert "period = distance**(3/2)/sqrt(mass) (exact)" in told
    assert "it errs by 0.000 %; a random forest by 57 %." in told
    assert "it has 100 right" in told and "An LSTM, trained on the same, says" in told
    way = re.search(r"Right is (\d+): (.*?) The router says (\d+)", told)
    assert way and way[2].endswith(way[1]) and way[3] == way[1] and way[2].count("→") == 10
    (address,) = opened
    assert address == (tmp_path / "site" / "index.html").as_uri()
    front = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert '<figure class="asking"' in front
    networks = {path.name for path in (tmp_path / "site" / "assets" / "networks").iterdir()}
    assert networks == {f"csordas2023.{name}-0.js" for name in ASKED}
    page = next((tmp_path / "site").glob("routing-*.html")).read_text(encoding="utf-8")
    assert '<figure class="routing"' in page


def test_a_folder_that_can_not_be_made_is_said_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    for out in ("file", "file/site"):
        assert main(["try", "--no-open", "--out", out]) == 2
        said = capsys.readouterr()
        assert said.err.startswith(f"wug: try: --out {out} can't be written: ") and not said.out
    require_writable(tmp_path / "a" / "b")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
