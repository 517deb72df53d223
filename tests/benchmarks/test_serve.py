"""The attack on wug serve and its soak, at a size of seconds."""

import sys

import pytest

pytest.importorskip("uvicorn", reason='needs uvicorn: pip install "wug[serve]"')
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory comes from /proc")

from serve import main  # noqa: E402


def test_the_bars_hold(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(smoke=True) == 0
    said = capsys.readouterr().out
    assert "60 hostile requests" in said and "the bars hold" in said


@pytest.mark.slow
def test_the_bars_hold_for_five_minutes() -> None:
    assert main() == 0
