"""The entry point: completion, and what no verb expects."""

import os
import signal
import sys
import time

import pytest

from wug.cli.main import VERBS, main


def test_completion_without_its_package_is_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "tcsh"]) == 2
    assert capsys.readouterr().err == (
        "wug: completion: tcsh needs one more package: pip install shtab\n"
    )
    assert main(["completion", "bash"]) == 0


def test_sigterm_has_a_sentence_and_a_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tidied = []

    def endless() -> None:
        """Wait to be ended."""
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
        finally:
            tidied.append(True)

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setitem(VERBS, "list", endless)
    assert main(["list"]) == 143 and tidied == [True]
    assert capsys.readouterr().err == (
        "wug: ended by SIGTERM; the same command goes on where it stopped.\n"
    )
    assert signal.getsignal(signal.SIGTERM) is before
