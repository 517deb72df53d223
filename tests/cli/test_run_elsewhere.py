"""Runs that are not of this machine alone: what is refused, in one sentence."""

import builtins
from pathlib import Path
from typing import Any

import pytest

from wug.cli.run import run
from wug.core.errors import UserError

ARITHMETIC = "mistry2022.single_module"


def test_without_ray_a_sentence_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported = builtins.__import__

    def without_ray(name: str, *arguments: Any, **named: Any) -> Any:
        if name == "ray":
            raise ImportError(name)
        return imported(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", without_ray)
    with pytest.raises(UserError, match=r"pip install 'wug\[ray\]'"):
        run(ARITHMETIC, scale="smoke", out=tmp_path, on="ray")


def test_what_does_not_go_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="--workers is for this machine alone"):
        run(ARITHMETIC, scale="smoke", out=tmp_path, on="ray", workers=2)
    with pytest.raises(UserError, match="cores-per-lot must be at least 1"):
        run(ARITHMETIC, scale="smoke", out=tmp_path, on="ray", cores_per_lot=0)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(UserError, match="run it without torchrun"):
        run(ARITHMETIC, scale="smoke", out=tmp_path)
