"""All benchmarks of formulas in one table, from their records.

    python benchmarks/formula_summary.py

Reads benchmarks/results/*.jsonl, prints the table and writes it as summary.md beside them, and the
short one into README.md and docs/fit.md. What no record is of is said to be missing, never filled
in.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import tyro
from formula_records import CARRIES, EARLY, SEEN, SRBENCH, Record
from formula_records import read as read_records

RESULTS = Path(__file__).parent / "results"
PAGES = tuple(Path(__file__).parents[1] / name for name in ("README.md", "docs/fit.md"))
FIRST_MARK, LAST_MARK = "<!-- formula records -->", "<!-- end of formula records -->"
METHODS = ("wug", "pyoperon", "gplearn")
SUITE, NOISY, EQUATIONS = 81, 21, {"arithmetic": 71, "functions": 29}
SETS, SYSTEMS = 12, 63
# Of a line of prose in README.md.
WIDTH = 100


def read(folder: Path, name: str) -> list[Record]:
    """Return the records of a benchmark; none if there is no such file."""
    return read_records(folder / f"{name}.jsonl")


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
    """Return the lines of the Feynman equations: all that each method ran, then those of all three.

    Two counts: an error below 1e-6 outside, and one of at most 1 %, which is all that a method can
    reach that fits its numbers to noise.
    """
    records = [
        one | {"carries": one.get("error") is not None and one["error"] <= CARRIES}
        for one in latest(
            read(folder, "feynman"),
            lambda r: (r["method"], r["equation"], r["noise"], r["limit"], r["seed"]),
        )
    ]
    rows = []
    for noise, limit in sorted({(one["noise"], one["limit"]) for one in records}):
        level = [r for r in records if (r["noise"], r["limit"]) == (noise, limit)]
        label = f"{'without noise' if not noise else f'{noise:.0%} noise'}, {limit:.0f} s"
        by_method = [[r for r in level if r["method"] == method] for method in METHODS]
        for kind, total in EQUATIONS.items():
            own = [[r for r in some if r["kind"] == kind] for some in by_method]
            rows.append((f"Feynman, {kind}, {label}", f"{total}",
                         *(count(some, total) for some in own)))  # fmt: skip
            rows.append((f"... at most 1 % off outside, {kind}, {label}", f"{total}",
                         *(count(some, total, "carries") for some in own)))  # fmt: skip
        keys = [{r["equation"] for r in some} for some in by_method]
        same = set.intersection(*keys)
        if same and len(same) < sum(EQUATIONS.values()):
            own = [[r for r in some if r["equation"] in same] for some in by_method]
            for name, text in (("recovered", ""), ("carries", ", at most 1 % off outside")):
                rows.append((f"Feynman, the {len(same)} that all three ran{text}, {label}",
                             f"{len(same)}",
                             *(count(some, len(same), name) for some in own)))  # fmt: skip
    return rows


def failures(folder: Path) -> list[str]:
    """Return what was missed, one sentence for each benchmark."""
    nist = read(folder, "nist")
    missed = {
        "own suite": [r["formula"] for r in read(folder, "suite_processor_time")
                      if not r["recovered"]],
        "Feynman without noise": [r["equation"] for r in read(folder, "feynman")
                                  if r["method"] == "wug" and not (r["recovered"] or r["noise"])],
        "NIST, certified model found but beaten by a smaller formula":
            [r["data"] for r in nist if not r["certified"] and r["form_found"]
             and r.get("beaten_by", "") is not None],
        "NIST, certified model found, but on the front with a number made simple":
            [r["data"] for r in nist if not r["certified"] and r["form_found"]
             and r.get("beaten_by", "") is None],
        "NIST, certified model not found":
            [r["data"] for r in nist if not (r["certified"] or r["form_found"])],
        "NIST, no formula as good": [r["data"] for r in nist if not r["as_good"]],
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
        ("NIST, the certified model is on the front", f"{SETS}", count(nist, SETS, "certified"),
         "-", "-"),
        ("NIST, a formula as good as the certified one", f"{SETS}", count(nist, SETS, "as_good"),
         "-", "-"),
        ("ODEBench, followed from a new start", f"{SYSTEMS}", count(odes, SYSTEMS), "-", "-"),
        *((f"{r['rows']:,} rows x {r['columns']:,}, limit {r['limit']:.0f} s"
           f"{', noise' if r['noisy'] else ''}", "",
           f"{r['seconds']:.1f} s, {r['megabytes']} MB", "-", "-") for r in read(folder, "times")),
    ]  # fmt: skip
    lines = [("recovered", "of", *METHODS), ("---", "--:", *("--:" for _ in METHODS)), *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    missed = "\n".join(failures(folder))
    return f"{table}\n\n{EARLY}\n\n{SEEN}\n\n{srbench()}\n\nMissed by wug:\n\n{missed}\n"


def srbench() -> str:
    """Return the published rates of others, with what makes them different."""
    rates = ", ".join(f"{name} {a} / {b} %" for name, (a, b) in SRBENCH.items())
    return (
        "SRBench (La Cava et al., 2021) publishes these rates of exact recovery on Feynman "
        f"problems, without noise / with 1 % noise: {rates}. Its budgets are hours instead of "
        "seconds, its problems 116 and its rule symbolic equality: no rate of above can be put "
        "beside these without that in mind."
    )


def short_table(folder: Path) -> str:
    """Return what README.md and docs/fit.md show: wug, and the peers where they were run."""
    feynman = [r for r in read(folder, "feynman") if r["limit"] == 30.0]
    suite = [r for r in read(folder, "formulas") if r["limit"] == 30.0 and not r["noise"]]
    own = {"wug": read(folder, "suite_processor_time")}
    own |= {m: latest((r for r in suite if r["method"] == m), lambda r: r["formula"])
            for m in METHODS[1:]}  # fmt: skip
    rows: list[tuple[str, dict[str, list[Record]], int, str, str]] = [
        ("own suite, without noise", own, SUITE, "recovered", "30 s")
    ]
    for noise, label in ((0.0, ""), (0.01, ", 1 % noise")):
        for kind, text in (("arithmetic", "arithmetic"), ("functions", "with functions")):
            level = [r for r in feynman if (r["noise"], r["kind"]) == (noise, kind)]
            own = {m: latest((r for r in level if r["method"] == m), lambda r: r["equation"])
                   for m in METHODS}  # fmt: skip
            rows.append((f"Feynman equations, {text}{label}", own, EQUATIONS[kind], "recovered",
                         "30 s"))  # fmt: skip
    nist, odes = {"wug": read(folder, "nist")}, {"wug": read(folder, "odebench")}
    rows += [
        ("NIST regressions: the certified model is on the front", nist, SETS, "certified", "15 s"),
        ("NIST regressions: a formula as good as the certified model", nist, SETS, "as_good",
         "15 s"),
        ("ODEBench: systems followed from a new start", odes, SYSTEMS, "recovered", "10 s"),
    ]  # fmt: skip
    lines = [f"| on one core | of | {' | '.join(METHODS)} | limit for each |",
             "|---|--:|--:|--:|--:|--:|"]  # fmt: skip
    for text, records, total, name, limit in rows:
        cells = " | ".join(count(records.get(m, []), total, name) for m in METHODS)
        lines.append(f"| {text} | {total} | {cells} | {limit} |")
    notes = textwrap.fill(f"{EARLY} {SEEN}", WIDTH)
    return "\n".join([*lines, "", notes]) + "\n"


def with_table(page: str, table: str) -> str:
    """Return a page with the table between its two marks replaced.

    Example:
        >>> with_table("<!-- formula records -->\\nold\\n<!-- end of formula records -->", "new\\n")
        '<!-- formula records -->\\nnew\\n\\n<!-- end of formula records -->'
    """
    before, rest = page.split(FIRST_MARK)
    return f"{before}{FIRST_MARK}\n{table}\n{LAST_MARK}{rest.split(LAST_MARK)[1]}"


def main(folder: Path = RESULTS, smoke: bool = False) -> None:
    """Print the table and write it as summary.md; the short one into the pages that show it.

    Args:
        folder: Of the records.
        smoke: Only print.
    """
    text = summary(folder)
    if not smoke:
        (folder / "summary.md").write_text(text, encoding="utf-8")
    if not smoke and folder == RESULTS:
        for page in PAGES:
            content = with_table(page.read_text(encoding="utf-8"), short_table(folder))
            page.write_text(content, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    tyro.cli(main)
