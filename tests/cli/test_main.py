"""The entry point: the list of verbs, and what no verb expects."""

import os
import signal
import time

import pytest

from wug.cli.main import VERBS, main


def test_the_list_of_verbs_has_one_sentence_on_each(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    said = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "Start with: wug try" in said and "in the time that you give it." in said
    assert "num_classes" not in said


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
