"""wug cite where the bibliography lacks a paper."""

import pytest

from wug.cli.main import main


def test_a_paper_without_an_entry_is_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wug.cli.cite.bibliography", lambda: {"mistry2022": "@article{mistry2022}"})
    assert main(["cite", "nmu", "mistry2022"]) == 2
    said = capsys.readouterr()
    assert said.out == "@article{mistry2022}\n"
    assert said.err == "wug: cite: references.bib has no entry for madsen2020.\n"
