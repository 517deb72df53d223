"""The benchmark of language models runs, at a size that takes a second."""

from language_step import main


def test_smoke(capsys):
    found = main(smoke=True)
    assert len(found) == 2 and all(ratio > 0 for ratio in found.values())
    assert "tokens per second" in capsys.readouterr().out
