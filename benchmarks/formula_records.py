"""Records of benchmarks, one line of JSON for each fit; and what others published."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

Record = dict[str, Any]

# Share that a formula may be off outside and still carries there; with noise numbers are not known
# any better.
CARRIES = 1e-2
# Exact recovery on Feynman's problems as SRBench publishes it, without noise and with 1 %.
SRBENCH = {
    "AI Feynman": (55.8, 0.0), "AFP_FE": (27.0, 6.1), "GP-GOMEA": (26.8, 0.0),
    "DSR": (19.7, 8.4), "Operon": (16.6, 0.1), "gplearn": (16.3, 13.2),
}  # fmt: skip
# What the tables say of time.
EARLY = (
    "On the Feynman equations every method has the same rows and the same processor time of one "
    "core, and stops before it is over once it meets the rows: wug and gplearn in double "
    "precision, pyoperon in single, in which it computes. The peers' figures on the own suite are "
    "of 30 s on the wall."
)
SEEN = (
    "NIST's twelve data sets were looked at while the search was improved, and so was what it "
    "missed of the other lists: the counts say what it covers, not what it would do on "
    "problems that nobody here has seen."
)


def read(path: Path) -> list[Record]:
    """Return the records of a file, if there is one; a line that a kill has torn is left out."""
    records = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        with suppress(json.JSONDecodeError):
            records.append(json.loads(line))
    return records


def append(path: Path, record: Record) -> None:
    """Add a record, on a line of its own even after a torn one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        if file.tell() and not path.read_bytes().endswith(b"\n"):
            file.write(b"\n")
        file.write(json.dumps(record).encode() + b"\n")
