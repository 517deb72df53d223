import json
from pathlib import Path

import pytest

from wug.records.errors import ConfigMismatchError, RunFolderError
from wug.records.hashing import Json
from wug.records.manifest import Manifest

SETTINGS: dict[str, Json] = {"steps": 50000, "seeds": 25, "task": {"sizes": [2, 10]}, "clip": None}


def test_round_trip(tmp_path: Path) -> None:
    manifest = Manifest.make("demo", SETTINGS)
    (tmp_path / "run.json").write_text(manifest.to_text())
    assert Manifest.read(tmp_path) == manifest


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": 100}, r"\(steps 50000 there, 100 here\)"),
        ({"task": {"sizes": [2]}}, r"\(task.sizes \[2,10\] there, \[2\] here\)"),
        ({"clip": "hard"}, r"\(clip null there, \"hard\" here\)"),
        ({"seeds": True, "extra": 1}, r"seeds 25 there, true here; extra absent there, 1 here"),
        ({"a": 1, "b": 1, "c": 1, "d": 1, "e": 1}, r"c absent there, 1 here; 2 more\)"),
    ],
)
def test_other_settings_are_named_with_the_way_out(changes: dict[str, Json], message: str) -> None:
    there, here = Manifest.make("demo", SETTINGS), Manifest.make("demo", SETTINGS | changes)
    with pytest.raises(ConfigMismatchError, match=f"{message}.*--fresh.*--out") as caught:
        there.require(here, Path("runs/demo"))
    assert "\n" not in str(caught.value)


def test_equal_settings_pass_in_any_order_and_spelling() -> None:
    here: dict[str, Json] = dict(reversed(SETTINGS.items())) | {"steps": 5e4}
    Manifest.make("demo", SETTINGS).require(Manifest.make("demo", here), Path("runs/demo"))


def test_another_experiment_is_named() -> None:
    with pytest.raises(ConfigMismatchError, match="holds a run of demo, not of other"):
        Manifest.make("demo", {}).require(Manifest.make("other", {}), Path("runs/demo"))


@pytest.mark.parametrize(
    "damage", [("50000", "50001"), ('"settings"', '"settings'), ("demo", "memo")]
)
def test_damage_is_noticed(tmp_path: Path, damage: tuple[str, str]) -> None:
    text = Manifest.make("demo", SETTINGS).to_text()
    (tmp_path / "run.json").write_text(text.replace(*damage))
    with pytest.raises(RunFolderError, match=r"run\.json is damaged.*--fresh"):
        Manifest.read(tmp_path)


@pytest.mark.parametrize("content", [None, "{}", "[1]", "not json"])
def test_a_folder_of_something_else_is_no_run(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(RunFolderError, match="holds no run of wug"):
        Manifest.read(tmp_path)


def test_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"wug_run": 2}))
    with pytest.raises(RunFolderError, match="has format 2"):
        Manifest.read(tmp_path)
