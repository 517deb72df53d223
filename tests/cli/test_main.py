"""The entry point: completion, and what no verb expects."""

import sys

import pytest

from wug.cli.main import main


def test_completion_without_its_package_is_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "tcsh"]) == 2
    assert capsys.readouterr().err == (
        "wug: completion: tcsh needs one more package: pip install shtab\n"
    )
    assert main(["completion", "bash"]) == 0
