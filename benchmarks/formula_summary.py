"""All benchmarks of formulas in one table, from their records.

    python benchmarks/formula_summary.py

Reads benchmarks/results/*.jsonl, prints the table and writes it as summary.md beside them. What no
record is of is said to be missing, never filled in.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import tyro

Record = dict[str, Any]
RESULTS = Path(__file__).parent / "results"
METHODS = ("wug", "pyoperon", "gplearn")
SUITE, NOISY, EQUATIONS = 81, 21, {"arithmetic": 71, "functions": 29}
SETS, SYSTEMS = 12, 63


def read(folder: Path, name: str) -> list[Record]:
    """Return the records of a file; none if there is no such file."""
    path = folder / f"{name}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def count(records: Sequence[Record], total: int, name: str = "recovered") -> str:
    """Return how many were recovered, and of how many if not all were run.

    Example:
        >>> count([{"recovered": True}, {"recovered": False}], 2), count([{"recovered": True}], 3)
        ('1', '1 of 1 run')
        >>> count([], 3)
        '-'
    """
    if not records:
        return "-"
    hits = sum(bool(one[name]) for one in records)
    return str(hits) if len(records) == total else f"{hits} of {len(records)} run"


def latest(records: Iterable[Record], key: Callable[[Record], Any]) -> list[Record]:
    """Return the last record of each key."""
    return list({key(one): one for one in records}.values())


def suite_rows(folder: Path) -> list[tuple[str, ...]]:
    """Return the lines of the suite; for wug without noise those of the present search."""
    records = [one for one in read(folder, "formulas") if one["limit"] == 30.0]
    new = read(folder, "suite_processor_time")
    rows = []
    for noise, total in ((0.0, SUITE), (0.01, NOISY), (0.05, NOISY)):
        cells = []
        for method in METHODS:
            own = [r for r in records if (r["method"], r["noise"]) == (method, noise)]
            if method == "wug" and not noise and new:
                own = new
            cells.append(count(latest(own, lambda r: r["formula"]), total))
        label = "without noise" if not noise else f"{noise:.0%} noise"
        rows.append((f"own suite, {label}", f"{total}", *cells))
    return rows


def feynman_rows(folder: Path) -> list[tuple[str, ...]]:
    """Return the lines of the Feynman equations."""
    records = read(folder, "feynman")
    rows = []
    for noise, limit in sorted({(one["noise"], one["limit"]) for one in records}):
        for kind, total in EQUATIONS.items():
            cells = []
            for method in METHODS:
                wanted = (method, noise, limit, kind)
                own = [r for r in records
                       if (r["method"], r["noise"], r["limit"], r["kind"]) == wanted]  # fmt: skip
                cells.append(count(latest(own, lambda r: r["equation"]), total))
            label = "without noise" if not noise else f"{noise:.0%} noise"
            rows.append((f"Feynman, {kind}, {label}, {limit:.0f} s", f"{total}", *cells))
    return rows


def failures(folder: Path) -> list[str]:
    """Return what was missed, one sentence for each benchmark."""
    missed = {
        "own suite": [r["formula"] for r in read(folder, "suite_processor_time")
                      if not r["recovered"]],
        "Feynman without noise": [r["equation"] for r in read(folder, "feynman")
                                  if r["method"] == "wug" and not (r["recovered"] or r["noise"])],
        "NIST": [r["data"] for r in read(folder, "nist") if not r["on_front"]],
        "ODEBench": [str(r["id"]) for r in read(folder, "odebench") if not r["recovered"]],
        "falsely exact": [r["equation"] for r in read(folder, "feynman")
                          if r.get("says") == "exact" and not r["recovered"]],
    }  # fmt: skip
    return [f"- {name}: {', '.join(names) or 'none'}" for name, names in missed.items()]


def summary(folder: Path) -> str:
    """Return the table and the failures as Markdown."""
    nist, odes = read(folder, "nist"), read(folder, "odebench")
    rows = [
        *suite_rows(folder),
        *feynman_rows(folder),
        ("NIST, a formula as good as the certified one", f"{SETS}", count(nist, SETS, "on_front"),
         "-", "-"),
        ("ODEBench, followed from a new start", f"{SYSTEMS}", count(odes, SYSTEMS), "-", "-"),
        *((f"{r['rows']:,} rows x {r['columns']:,}, limit {r['limit']:.0f} s"
           f"{', noise' if r['noisy'] else ''}", "",
           f"{r['seconds']:.1f} s, {r['megabytes']} MB", "-", "-") for r in read(folder, "times")),
    ]  # fmt: skip
    lines = [("recovered", "of", *METHODS), ("---", "--:", *("--:" for _ in METHODS)), *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{table}\n\nMissed by wug:\n\n" + "\n".join(failures(folder)) + "\n"


def main(folder: Path = RESULTS, smoke: bool = False) -> None:
    """Print the table and write it as summary.md.

    Args:
        folder: Of the records.
        smoke: Only print.
    """
    text = summary(folder)
    if not smoke:
        (folder / "summary.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    tyro.cli(main)
