"""The benchmark of mixtures runs, at a size that takes a second."""

from moe_layer import main


def test_smoke(capsys):
    found = main(smoke=True)
    assert set(found) == {
        f"{dtype} {what}"
        for dtype in ("float32", "bfloat16")
        for what in ("auto", "grouped", "loop", "growth")
    }
    assert all(ratio > 0 for ratio in found.values())
    printed = capsys.readouterr().out
    assert "ideal 0.250" in printed and "of which products" in printed
