"""wug doctor: what this machine has."""

import json

from wug.cli.doctor import doctor, existing, findings, folder_size, missing_by_extra


def test_every_part_is_looked_at(capsys):
    doctor(json=True)
    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert {"wug", "Python", "torch", "cores", "compiler", "cache", "data sets"} <= found.keys()
    # The tests need these extras themselves.
    assert found["extra parquet"] == {"name": "extra parquet", "state": "here", "advice": ""}


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setattr("wug.training.programs.can_compile", lambda kind: False)
    monkeypatch.setattr("importlib.metadata.requires", lambda name: [
        "torch>=2", 'absent-package>=1; extra == "fast"', "pytest; extra == 'dev'",
    ])  # fmt: skip
    assert missing_by_extra() == {"fast": ["absent-package"]}
    found = {one.name: one for one in findings()}
    assert found["extra fast"].advice == "pip install 'wug[fast]'"
    assert "g++" in found["compiler"].advice


def test_sizes_of_folders(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"123")
    assert folder_size(tmp_path) == 3 and folder_size(tmp_path / "none") == 0
    assert existing(tmp_path / "x" / "y") == tmp_path


def test_it_is_shown_as_lines(capsys):
    doctor()
    assert "torch" in capsys.readouterr().out
