"""One run or fit that a site is made from, read with care.

Nothing here trusts a file. What does not have the form that pages need is named in `problems` or
`odd` and shown, and the rest is used.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from wug.records import (
    NetworkFile,
    Record,
    Run,
    RunFolderError,
    Trace,
    read_networks,
    read_run,
)
from wug.records.files import parse_json, read_plain, reason_of
from wug.report.catalog import clean_catalog
from wug.report.markup import slug
from wug.report.oddities import Odd, counts_of, is_time, reason_against, seconds_of
from wug.stats.comparison_table import ResultTable, measures_of, plain_layout, table_of

FORMULA = "formula.json"
TABULAR = ("scalar", "curve")
# A file's name can't be much longer.
MOST_LETTERS = 150
FORMULA_FIELDS = {"target": str, "expression": str, "status": str, "columns": list, "front": list,
                  "weights": dict, "ranges": dict}  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class RunSource:
    """One run; what was made of it is remembered as long as it is the same object.

    Args:
        name: Of its folder, below what was asked for.
        label: What tells it from others of its experiment, such as ``paper``.
        run: The folder.
        records: Those that fit into a table.
        odd: Those that don't.
        others: Those of other kinds, for pages of their own; the run's page lists them.
        traces: What happened inside its networks.
        networks: Those that it kept.
        catalog: Without what was not of its form.
        problems: What can't be used, in words.
        copies: Names of folders that hold the same records.
    """

    name: str
    label: str
    run: Run
    records: tuple[Record, ...]
    odd: tuple[Odd, ...] = ()
    others: tuple[Record, ...] = ()
    traces: tuple[Trace, ...] = ()
    networks: tuple[NetworkFile, ...] = ()
    catalog: Mapping[str, Any]
    problems: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()

    @property
    def experiment(self) -> str:
        """The key of the experiment."""
        return str(self.run.experiment)

    @property
    def page(self) -> str:
        """The file of its page."""
        return self.page_of("run")

    def page_of(self, kind: str) -> str:
        """Return the file of a page of another kind; no slug has the sign between the two."""
        return f"{kind}-{slug(self.experiment)}~{slug(self.label)}.html"

    def traces_of(self, kind: str) -> list[Trace]:
        """Return the traces of a kind, by name."""
        return [trace for trace in self.traces if trace.kind == kind]

    def place_of(self, trace: Trace) -> int:
        """Return the place of a trace's network among the rows of the table; last if unknown."""
        labels = trace.about.get("labels")
        known = labels if isinstance(labels, Mapping) else {}
        layout = self.catalog.get("layout") or {}
        order = [tuple(row) for row in layout.get("row_order", ())]
        row = tuple(known.get(name) for name in self.row_fields)
        return order.index(row) if row in order else len(order)

    def name_of(self, trace: Trace) -> str:
        """Return what a trace's network is called: its model, its other labels and its seed."""
        labels, seed = trace.about.get("labels"), trace.about.get("seed")
        if not isinstance(labels, Mapping) or not labels:
            return str(trace.about.get("lot") or trace.name)
        first = [name for name in self.row_fields if name in labels]
        row, *rest = (str(labels[name]) for name in dict.fromkeys((*first, *labels)))
        key = self.catalog.get("row_units", {}).get(row, row)
        names = {unit["key"]: unit["name"] for unit in self.catalog["units"] if unit["name"]}
        name = names.get(key, row)
        network = name if key == row else f"{name} ({row})"
        return " · ".join((network, *rest, f"seed {seed}"))

    @cached_property
    def table(self) -> ResultTable:
        """Ours beside the published numbers."""
        return table_of(self.experiment, self.catalog, self.records)

    @property
    def title(self) -> str:
        """The title of the experiment."""
        return str(self.catalog.get("title") or self.experiment)

    @property
    def short_title(self) -> str:
        """The title without where it is from."""
        return self.title.split(" (", 1)[0]

    @property
    def row_fields(self) -> tuple[str, ...]:
        """The fields of the records' keys that rows are values of."""
        layout = self.catalog.get("layout") or plain_layout(self.records)
        return tuple(map(str, layout["rows"]))

    @property
    def column_field(self) -> str:
        """The field of the records' keys that columns are values of."""
        layout = self.catalog.get("layout") or plain_layout(self.records)
        return str(layout["column"])

    @cached_property
    def verdicts(self) -> Counter[str]:
        """How many claims are held, broken and undecided."""
        return Counter(claim["ours"]["verdict"] for claim in self.catalog["claims"])

    @property
    def seconds(self) -> float:
        """Time that the trainings took, added up."""
        return math.fsum(map(seconds_of, self.every_record))

    @property
    def every_record(self) -> tuple[Record, ...]:
        """All records that could be read."""
        return (*self.records, *self.others, *(odd.record for odd in self.odd))

    @cached_property
    def is_smoke(self) -> bool:
        """Whether it only shows that everything runs; nothing is counted of it."""
        return self.run.is_smoke

    @property
    def num_records(self) -> int:
        """How many records could be read."""
        return len(self.records) + len(self.odd) + len(self.others)

    @cached_property
    def finished(self) -> str:
        """The day of the last records; empty if neither the catalog nor a file's time says it."""
        return str(self.catalog.get("finished") or self.run.last_day())


@dataclass(frozen=True, kw_only=True)
class FitSource:
    """What ``wug fit`` left.

    Args:
        name: Of its folder, below what was asked for.
        data: Of its formula.json.
    """

    name: str
    data: Mapping[str, Any]

    @property
    def page(self) -> str:
        """The file of its page."""
        whole = "~".join(map(slug, self.name.split("/")))
        return f"formula-{whole if len(whole) <= MOST_LETTERS else slug(self.name)}.html"


def read_source(folder: Path, name: str, root: Path | None = None) -> RunSource:
    """Read one run.

    Args:
        folder: Of the run.
        name: For people.
        root: A resolved folder that links may not lead out of; None lets them lead anywhere.

    Raises:
        RunFolderError: The folder holds none that can be read.
    """
    run = read_run(folder, root)
    try:
        catalog, complaints = clean_catalog(run.catalog())
    except (RunFolderError, RecursionError) as error:
        catalog, complaints = clean_catalog({})
        complaints.append(f"catalog.json: {reason_of(error.__cause__ or error)}")
    measures = measures_of(catalog)
    records, odd, others = [], [], []
    for record in run.records():
        if record.kind not in TABULAR:
            others.append(record)
        elif reason := reason_against(record, measures):
            odd.append(Odd(record, reason))
        else:
            records.append(record)
    problems = [str(problem) for problem in run.problems]
    traces: list[Trace] = []
    try:
        traces, torn = run.traces()
        problems.extend(map(str, torn))
    except Exception as error:
        problems.append(f"its traces can't be read: {error!r}")
    networks, torn = read_networks(folder, root)
    problems.extend(map(str, torn))
    every = (*records, *others, *(item.record for item in odd))
    if wrong := sum(not all(map(is_time, counts_of(record))) for record in every):
        problems.append(f"records with a time that no training takes, which is not added: {wrong}")
    return RunSource(
        name=name, label=folder.resolve().name, run=run, records=tuple(records), odd=tuple(odd),
        others=tuple(others), traces=tuple(traces), networks=tuple(networks), catalog=catalog,
        problems=(*problems, *complaints),
    )  # fmt: skip


def read_formula(folder: Path, name: str, root: Path | None = None) -> FitSource:
    """Read one fit.

    Args:
        folder: Of the fit.
        name: For people.
        root: A resolved folder that links may not lead out of; None lets them lead anywhere.

    Raises:
        RunFolderError: The folder holds none that can be read.
    """
    try:
        data = parse_json(read_plain(folder / FORMULA, root))
    except (OSError, ValueError) as error:
        raise RunFolderError(f"{name}/{FORMULA} can't be read: {reason_of(error)}") from None
    if not isinstance(data, dict):
        raise RunFolderError(f"{name}/{FORMULA} is not a fit of wug.")
    wrong = [f for f, kind in FORMULA_FIELDS.items() if not isinstance(data.get(f), kind)]
    if wrong:
        raise RunFolderError(f"{name}/{FORMULA} is damaged: see {', '.join(wrong)}.")
    return FitSource(name=name, data=data)
