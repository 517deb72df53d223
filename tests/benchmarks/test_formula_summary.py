"""The one table counts records, and says what is missing."""

import json
from pathlib import Path

from formula_summary import count, main, summary


def write(folder: Path, name: str, *records: dict) -> None:
    lines = "".join(f"{json.dumps(one)}\n" for one in records)
    (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")


def test_counts_are_of_what_was_run() -> None:
    assert count([{"recovered": True}] * 3, 3) == "3"
    assert count([{"recovered": True}] * 3, 4) == "3 of 3 run"
    assert count([], 4) == "-"


def test_the_table_has_every_benchmark(tmp_path: Path) -> None:
    equation = {"method": "wug", "noise": 0.0, "limit": 30.0, "kind": "functions"}
    write(
        tmp_path, "feynman",
        equation | {"equation": "I.1", "recovered": False, "says": "approximate"},
        equation | {"equation": "I.1", "recovered": True, "says": "exact"},
        equation | {"equation": "I.2", "recovered": False, "says": "exact"},
    )  # fmt: skip
    write(tmp_path, "nist", {"data": "Hahn1", "on_front": False})
    write(tmp_path, "times", {"rows": 10, "columns": 2, "limit": 1.0, "noisy": True,
                              "seconds": 1.25, "megabytes": 7})  # fmt: skip
    text = summary(tmp_path)
    assert "| Feynman, functions, without noise, 30 s | 29 | 1 of 2 run | - | - |" in text
    assert "| own suite, without noise | 81 | - | - | - |" in text
    assert "| NIST, a formula as good as the certified one | 12 | 0 of 1 run | - | - |" in text
    assert "| 10 rows x 2, limit 1 s, noise |  | 1.2 s, 7 MB | - | - |" in text
    assert "- NIST: Hahn1" in text and "- falsely exact: I.2" in text
    main(tmp_path)
    assert (tmp_path / "summary.md").read_text(encoding="utf-8") == text
