import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from wug.core import registry
from wug.core.errors import UserError
from wug.core.index import OPEN_FOLDERS, build, dumps, entries, entry, get, load

PACKAGE = Path(str(files("wug")))


def test_shipped_index_is_fresh():
    """`make index` mends it."""
    assert dumps(build()) == (PACKAGE / "index.json").read_text(encoding="utf-8")


def test_open_folders_are_packages():
    assert all((PACKAGE / folder / "__init__.py").is_file() for folder in OPEN_FOLDERS)


def test_loading_gives_what_was_built():
    assert dumps(list(load())) == dumps(build())
    assert {(e.kind, e.key) for e in load()} == {(e.kind, e.key) for e in build()}
    assert all(type(e.references) is type(e.failure_modes) is tuple for e in load())


def test_text_is_readable_json():
    text = dumps(build())
    rows = json.loads(text)
    assert text.endswith("\n") and "NAC•" in text
    assert len({(row["kind"], row["key"]) for row in rows}) == len(rows)


def test_entries_of_a_kind():
    units = entries("unit")
    assert {"nau", "nmu", "mlp"} <= {e.key for e in units}
    assert {e.kind for e in units} == {"unit"}
    assert {"unit", "task"} <= {e.kind for e in entries()}


def test_entries_of_a_user_are_listed(monkeypatch):
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))

    @registry.register("unit", key="mine", name="Mine", references=())
    class Mine:
        """A unit of a user's own."""

    assert entry("unit", "mine").summary == "A unit of a user's own."
    assert "mine" not in {e.key for e in build()}, "the shipped index is of our own files"


def test_get_imports_the_class():
    from wug.units.nau import NAU

    assert get("unit", "nau") is NAU
    assert entry("unit", "nau").target == "wug.units.nau:NAU"


def test_unknown_key():
    with pytest.raises(UserError, match="unknown unit 'nnau'; did you mean nau"):
        get("unit", "nnau")


def test_listing_needs_no_torch():
    code = (
        "import sys; from wug.core.index import entries; entries(); "
        "sys.exit(bool({'torch', 'numpy', 'sympy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent).returncode == 0
