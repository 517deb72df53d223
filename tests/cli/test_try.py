"""wug try: the first command of a newcomer."""

from pathlib import Path

import pytest

from wug.cli.try_ import try_


def test_it_finds_a_formula_asks_a_router_and_writes_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    try_(out=tmp_path / "site")
    told = " ".join(capsys.readouterr().out.split())
    assert "period = distance**(3/2)/sqrt(mass) (exact)" in told
    assert "it has 100 right" in told
    (address,) = opened
    assert address.startswith("file://") and "routing" in address
    page = next((tmp_path / "site").glob("routing-*.html")).read_text(encoding="utf-8")
    assert '<figure class="routing"' in page
