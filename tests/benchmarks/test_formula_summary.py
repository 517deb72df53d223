"""The one table counts records, and says what is missing."""

import json
from pathlib import Path

from formula_summary import PAGES, RESULTS, count, main, short_table, summary, with_table


def write(folder: Path, name: str, *records: dict) -> None:
    lines = "".join(f"{json.dumps(one)}\n" for one in records)
    (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")


def test_counts_are_of_what_was_run() -> None:
    assert count([{"recovered": True}] * 3, 3) == "3"
    assert count([{"recovered": True}] * 3, 4) == "3 of 3 run"
    assert count([], 4) == "-"


def test_the_table_has_every_benchmark(tmp_path: Path) -> None:
    equation = {"method": "wug", "noise": 0.0, "limit": 30.0, "kind": "functions", "seed": 0}
    write(
        tmp_path, "feynman",
        equation | {"equation": "I.1", "recovered": False, "says": "approximate"},
        equation | {"equation": "I.1", "recovered": True, "says": "exact",
                    "error": 0.0},
        equation | {"equation": "I.2", "recovered": False, "says": "exact"},
    )  # fmt: skip
    nist = {"certified": False, "form_found": True, "as_good": True}
    write(tmp_path, "nist", nist | {"data": "Kirby2"}, nist | {"data": "Hahn1", "certified": True},
          nist | {"data": "MGH09", "form_found": False, "as_good": False},
          nist | {"data": "Thurber", "beaten_by": None})  # fmt: skip
    write(tmp_path, "times", {"rows": 10, "columns": 2, "limit": 1.0, "noisy": True,
                              "seconds": 1.25, "megabytes": 7})  # fmt: skip
    text = summary(tmp_path)
    assert "| Feynman, functions, without noise, 30 s | 29 | 1 of 2 run | - | - |" in text
    assert "| own suite, without noise | 81 | - | - | - |" in text
    assert "| ... at most 1 % off outside, functions, without noise, 30 s | 29 | 1 of 2" in text
    assert "| NIST, the certified model is on the front | 12 | 1 of 4 run | - | - |" in text
    assert "| NIST, a formula as good as the certified one | 12 | 3 of 4 run | - | - |" in text
    assert "| 10 rows x 2, limit 1 s, noise |  | 1.2 s, 7 MB | - | - |" in text
    assert "beaten by a smaller formula: Kirby2\n" in text and "not found: MGH09\n" in text
    assert "with a number made simple: Thurber\n" in text
    assert "no formula as good: MGH09\n" in text and "- falsely exact: I.2" in text
    assert "AI Feynman 55.8 / 0.0 %" in text
    assert "NIST's twelve data sets were looked at" in text and "meets the rows" in text
    assert "NIST's twelve data sets" in " ".join(short_table(tmp_path).split())
    main(tmp_path)
    assert (tmp_path / "summary.md").read_text(encoding="utf-8") == text


def test_peers_are_compared_on_the_equations_that_all_ran(tmp_path: Path) -> None:
    base = {"noise": 0.01, "limit": 30.0, "kind": "arithmetic", "seed": 0}
    write(
        tmp_path, "feynman",
        *(base | {"method": method, "equation": "I.1", "recovered": method == "wug",
                  "error": 0.005} for method in ("wug", "pyoperon", "gplearn")),
        base | {"method": "wug", "equation": "I.2", "recovered": True, "error": 0.0},
    )  # fmt: skip
    text = summary(tmp_path)
    assert "| Feynman, the 1 that all three ran, 1% noise, 30 s | 1 | 1 | 0 | 0 |" in text
    assert "that all three ran, at most 1 % off outside, 1% noise, 30 s | 1 | 1 | 1 | 1 |" in text


def test_what_the_committed_table_says_comes_from_the_records() -> None:
    assert (RESULTS / "summary.md").read_text(encoding="utf-8") == summary(RESULTS)
    for page in PAGES:
        content = page.read_text(encoding="utf-8")
        assert content == with_table(content, short_table(RESULTS)), page
